/** A number with its 95 % interval, drawn on an axis, with its limit. */

import type { StripData } from "../../protocol.ts";
import { Term } from "./words.tsx";

export const INTERVAL = "Contains the true value in 95 of 100 such samples; rows of one prompt are one cluster.";

export function Interval({ strip }: { strip: StripData }) {
  const { value, lo, hi, limit } = strip;
  const says = `${strip.value_text}${hi === null ? "" : `, 95 % interval ${strip.interval_text}`}${limit === null ? "" : `, ${strip.limit_text}`}`;
  return (
    <div class={`interval ${limit === null ? "" : "limited"}`}>
      <div class="axis" role="img" aria-label={says}>
        <i class="base" />
        {lo !== null && hi !== null && <i class="band" style={{ left: at(strip, lo), right: `calc(100% - ${at(strip, hi)})` }} />}
        <i class="point" style={{ left: at(strip, value) }} />
        {limit !== null && <i class="limit" style={{ left: at(strip, limit) }} />}
        {limit !== null && <em style={{ left: at(strip, limit) }}>{strip.limit_text}</em>}
      </div>
      <p class="small">
        <b>{strip.value_text}</b>
        {hi !== null && <span class="mute">, <IntervalTerm /> {strip.interval_text}</span>}
      </p>
    </div>
  );
}

export function IntervalTerm() {
  return <Term tip={INTERVAL}>95 % interval</Term>;
}

function at({ min, max }: StripData, value: number): string {
  const share = max > min ? (value - min) / (max - min) : 0;
  return `${(100 * Math.min(1, Math.max(0, share))).toFixed(2)}%`;
}
