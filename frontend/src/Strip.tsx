/** An interval on an axis, with its limit, which can be dragged. */

import type { StripData } from "./protocol.ts";
import { keyStep, toStep, useMoving, type Moving } from "./slider.ts";

interface StripProps {
  strip: StripData;
  stack?: boolean; // the number below the axis instead of at the side
  setLimit?: ((value: number) => void) | null;
}

const STEP = 0.01;

const BOUND = "The true share is below it in 95 of 100 such samples; one-sided, so below the upper end of a 95 % interval.";
export const INTERVAL = "Contains the true share in 95 of 100 such samples; rows of one prompt are one cluster.";

export function Strip({ strip, stack = false, setLimit = null }: StripProps) {
  const { value, lo, hi, limit, value_text: text, interval_text: interval, interval_name: name } = strip;
  const at = (number: number) => `${(100 * share(strip, number)).toFixed(2)}%`;
  const said = `${text}${interval && `, ${name} ${interval}`}${limit === null ? "" : `, ${strip.limit_text}`}`;
  return (
    <div class={`strip ${limit === null ? "low" : ""} ${stack ? "stack" : ""}`}>
      <div class="ax">
        <span class="drawn" role="img" aria-label={said}>
          <i class="base" />
          {lo !== null && hi !== null && <i class="band" style={{ left: at(lo), width: `${(100 * (share(strip, hi) - share(strip, lo))).toFixed(2)}%` }} />}
          <i class="pt" style={{ left: at(value) }} />
        </span>
        {limit !== null && <Limit strip={strip} limit={limit} setLimit={setLimit} />}
      </div>
      <span class="val">
        <b>{text}</b>
        {interval && <span class="mute">, <span class="term" title={name === "95 % bound" ? BOUND : INTERVAL}>{name}</span> {interval}</span>}
      </span>
    </div>
  );
}

function share({ min, max }: StripData, value: number): number {
  return Math.max(0, Math.min(1, (value - min) / (max - min || 1)));
}

function Limit({ strip, limit, setLimit }: { strip: StripData; limit: number; setLimit: ((value: number) => void) | null }) {
  const moving = useMoving(limit, strip, (value) => setLimit?.(value));
  const left = `${(100 * share(strip, moving.value)).toFixed(2)}%`;
  const text = moving.value === limit ? strip.limit_text : `limit ${Math.round(100 * moving.value)} %`;
  const drawn = [<i class="lim" key="line" style={{ left }} />, <em key="text" style={{ left: `clamp(24px, ${left}, 100% - 24px)` }}>{text}</em>];
  if (!setLimit) return <>{drawn}</>;
  return (
    <span
      class="limit" role="slider" tabIndex={0} aria-label="limit" title="Drag to set the limit" aria-valuemin={strip.min} aria-valuemax={strip.max}
      aria-valuenow={moving.value} aria-valuetext={text} {...dragging(strip, moving)}
    >
      {drawn}
    </span>
  );
}

function dragging(strip: StripData, moving: Moving) {
  const within: [number, number] = [strip.min, strip.max];
  return {
    onPointerDown: (event: PointerEvent) => (event.currentTarget as Element).setPointerCapture(event.pointerId),
    onPointerMove: (event: PointerEvent) => {
      const target = event.currentTarget as Element;
      if (!target.hasPointerCapture(event.pointerId)) return;
      const { left, width } = (target.parentElement as Element).getBoundingClientRect();
      moving.move(toStep(strip.min + ((event.clientX - left) / (width || 1)) * (strip.max - strip.min), STEP, within));
    },
    onPointerUp: moving.rest,
    onKeyDown: (event: KeyboardEvent) => {
      const by = keyStep(event.key);
      if (!by) return;
      event.preventDefault();
      event.stopPropagation();
      moving.nudge(toStep(moving.value + by * STEP, STEP, within));
    },
  };
}
