/** Lengths and ticks of the figure of many scores. */

import type { Bin, Counts, Part, Scores } from "./protocol.ts";
import { sum } from "./Bar.tsx";

export interface Plot {
  width: number;
  height: number;
  left: number;
  right: number; // end of the axis of scores
  zero: number; // height of the line between good and bad
  half: number; // length of the longest bar
  lo: number;
  hi: number;
  top: number; // rows of the longest bar
  log: boolean;
}

export const UP: Part[] = ["good_accepted", "good_refused"];
export const DOWN: Part[] = ["bad_accepted", "bad_refused"];
export const UNKNOWN: Part[] = ["accepted", "refused"];

const MARGIN = { left: 34, right: 14, top: 28, bottom: 20 } as const;

/** Width of a column for unscored rows. */
export const BESIDE = 46;

export function plotOf(scores: Scores, width: number, height: number): Plot {
  const { bins, has_labels: labelled, failed, skipped } = scores;
  const beside = [failed, skipped].filter(Boolean).length;
  const room = height - MARGIN.top - MARGIN.bottom;
  return {
    width,
    height,
    left: MARGIN.left,
    right: width - MARGIN.right - beside * BESIDE,
    zero: labelled ? MARGIN.top + room / 2 : MARGIN.top + room,
    half: (labelled ? room / 2 : room) - 2,
    lo: bins[0]?.lo ?? 0,
    hi: bins.at(-1)?.hi ?? 1,
    top: Math.max(1, ...bins.map((bin) => longest(bin.counts, labelled)), ...besides(scores)),
    log: scores.log,
  };
}

function longest(counts: Counts, labelled: boolean): number {
  const up = sum(counts, [...UP, ...UNKNOWN]);
  return labelled ? Math.max(up, sum(counts, DOWN)) : up + sum(counts, DOWN);
}

function besides({ has_labels: labelled, failed, failed_bad: bad, skipped }: Scores): number[] {
  return labelled ? [bad, failed - bad, skipped] : [failed, skipped];
}

export function xOf({ left, right, lo, hi }: Plot, score: number): number {
  return left + ((score - lo) / (hi - lo || 1)) * (right - left);
}

/** Length of a bar for a number of rows. */
export function lengthOf({ half, top, log }: Plot, rows: number): number {
  return log ? (half * Math.log10(1 + rows)) / Math.log10(1 + top) : (half * rows) / top;
}

/** Numbers of rows at which a line is drawn. */
export function ticks({ top, log, half }: Plot): number[] {
  if (log) return [1, 10, 100, 1_000, 10_000, 100_000, 1_000_000].filter((tick) => tick <= top);
  const about = top / Math.max(1, Math.floor(half / 34));
  const power = 10 ** Math.floor(Math.log10(Math.max(1, about)));
  const step = [1, 2, 5, 10].map((each) => each * power).find((each) => each >= about) ?? power * 10;
  return Array.from({ length: Math.floor(top / step) }, (_, at) => (at + 1) * step);
}

/** Ticks of the score axis: the ends and quarters. */
export function scoreTicks({ lo, hi }: Plot): number[] {
  return [0, 0.25, 0.5, 0.75, 1].map((share) => lo + share * (hi - lo));
}

/** Rows of one side of a bin by verdict: by the pass threshold while it moves, else as counted. */
export function split(bin: Bin, [accepted, refused]: Part[], moved: number | null): [Part, number][] {
  const total = bin.counts[accepted as Part] + bin.counts[refused as Part];
  if (moved !== null) return [[((bin.lo + bin.hi) / 2 >= moved ? accepted : refused) as Part, total]];
  return [
    [accepted as Part, bin.counts[accepted as Part]],
    [refused as Part, bin.counts[refused as Part]],
  ];
}
