/** Drawing a map of rows, and finding the rows in a box of it. */

import type { MapData, MapState } from "./protocol.ts";

export type Placed = Required<MapData>;

/** What the colour of a point shows. */
export const COLOURED = ["verdict", "error", "score"] as const;
export type Coloured = (typeof COLOURED)[number];

export interface Size {
  width: number;
  height: number;
}

export interface Box {
  from: [x: number, y: number]; // pixels
  to: [x: number, y: number];
}

/** Pixels around the points. */
const MARGIN = 10;
/** Pixels above them: the name of a cluster at the upper edge does not cover its points. */
const TOP = 26;
const POINT = 3;
/** Rows outside the selection. */
const FAINT = 0.18;

/** Variables of the style sheet by the character of a point. */
const VERDICTS: Record<string, string> = { 0: "--good", 1: "--good", 2: "--bad", 3: "--bad", 4: "--ink-3", 5: "--ink-3", 6: "--failed", 7: "--skipped" };
const ERRORS: Record<string, string> = { 1: "--bad", 2: "--bad", 6: "--failed" };
/** Rejected rows and rows without an error are drawn as a ring, so that colour is not the only sign. */
const RINGS: Record<Coloured, string> = { verdict: "1357", error: "", score: "" };

/** The colour of a point: a variable of the style sheet, and how much of it. */
export function colourOf(by: Coloured, part: string, score: string): [variable: string, share: number] {
  if (by === "score") return score === "-" ? ["--failed", 0.5] : ["--accent", 0.15 + 0.085 * (Number(score) + 1)];
  if (by === "error") return ERRORS[part] ? [ERRORS[part], 1] : ["--ink-3", 0.45];
  return [VERDICTS[part] ?? "--ink-3", part === "-" ? 0.5 : 1];
}

/** Pixels of a point. */
export function pixelOf(map: Placed, at: number, { width, height }: Size): [number, number] {
  const x = (map.x[at] as number) / map.side;
  const y = (map.y[at] as number) / map.side;
  return [MARGIN + x * (width - 2 * MARGIN), TOP + y * (height - TOP - MARGIN)];
}

/** The rows whose points are inside a box. */
export function inBox(map: Placed, { from, to }: Box, size: Size): number[] {
  const [left, right] = [Math.min(from[0], to[0]), Math.max(from[0], to[0])];
  const [top, bottom] = [Math.min(from[1], to[1]), Math.max(from[1], to[1])];
  return map.rows.filter((_, at) => {
    const [x, y] = pixelOf(map, at, size);
    return left <= x && x <= right && top <= y && y <= bottom;
  });
}

/** Pixels within which a click finds a point. */
const REACH = 8;

/** The row of the point next to a place; null if there is none within reach. */
export function nearest(map: Placed, [x, y]: [number, number], size: Size): number | null {
  let best = REACH ** 2;
  let found: number | null = null;
  map.rows.forEach((row, at) => {
    const [left, top] = pixelOf(map, at, size);
    const distance = (left - x) ** 2 + (top - y) ** 2;
    if (distance <= best) [best, found] = [distance, row];
  });
  return found;
}

/** Draw all points: rows outside the selection first and faint. 10,000 take about 5 ms. */
export function draw(canvas: HTMLCanvasElement, size: Size, map: Placed, state: MapState | null, by: Coloured): void {
  const scale = globalThis.devicePixelRatio || 1;
  canvas.width = Math.round(size.width * scale);
  canvas.height = Math.round(size.height * scale);
  const context = canvas.getContext("2d");
  if (!context) return;
  context.setTransform(scale, 0, 0, scale, 0, 0);
  context.clearRect(0, 0, size.width, size.height);
  const style = getComputedStyle(canvas);
  for (const [key, points] of layers(map, state, by)) {
    const [picked, variable, share, ring] = key.split(" ") as [string, string, string, string];
    const colour = style.getPropertyValue(variable).trim() || "#888";
    context.globalAlpha = Number(share) * (picked === "1" ? 1 : FAINT);
    context.fillStyle = context.strokeStyle = colour;
    context.lineWidth = 1;
    for (const at of points) {
      const [x, y] = pixelOf(map, at, size);
      if (ring) context.strokeRect(x - POINT / 2, y - POINT / 2, POINT, POINT);
      else context.fillRect(x - POINT / 2, y - POINT / 2, POINT, POINT);
    }
  }
  context.globalAlpha = 1;
  nameClusters(context, size, map, style);
}

/** Clusters that are named on the map: more would cover each other. */
const NAMED = 6;

/** The beginnings of the largest clusters' names, at the middle of their points. */
function nameClusters(context: CanvasRenderingContext2D, size: Size, map: Placed, style: CSSStyleDeclaration): void {
  context.font = `600 11px ${style.getPropertyValue("--words") || "sans-serif"}`;
  context.textAlign = "center";
  context.lineWidth = 3;
  context.lineJoin = "round";
  context.strokeStyle = style.getPropertyValue("--bg").trim() || "#fff";
  context.fillStyle = style.getPropertyValue("--ink").trim() || "#000";
  for (const [name, x, y] of namesOf(map, size)) {
    const half = context.measureText(name).width / 2;
    const left = Math.max(half + 2, Math.min(size.width - half - 2, x));
    context.strokeText(name, left, y);
    context.fillText(name, left, y);
  }
}

/** Names and their pixels; a name that would cover an earlier one moves down. */
export function namesOf(map: Placed, size: Size): [name: string, x: number, y: number][] {
  const placed: [string, number, number][] = [];
  map.names.slice(0, NAMED).forEach((name, cluster) => {
    const points = map.rows.flatMap((_, at) => (map.clusters[at] === cluster ? [pixelOf(map, at, size)] : []));
    const middle = (side: 0 | 1) => points.map((point) => point[side]).sort((a, b) => a - b)[Math.floor(points.length / 2)] ?? 0;
    const x = middle(0);
    let y = Math.max(14, Math.min(size.height - 6, middle(1) - 8));
    while (placed.some(([, left, top]) => Math.abs(left - x) < 90 && Math.abs(top - y) < 13) && y < size.height - 18) y += 13;
    placed.push([name.split(" ").slice(0, 2).join(" "), x, y]);
  });
  return placed;
}

/** Points by how they are drawn: fewer changes of the colour, and the selected ones on top. */
export function layers(map: Placed, state: MapState | null, by: Coloured): [string, number[]][] {
  const groups = new Map<string, number[]>();
  map.rows.forEach((_, at) => {
    const part = state?.parts[at] ?? "-";
    const [variable, share] = colourOf(by, part, state?.scores[at] ?? "-");
    const picked = state?.picked ? state.picked[at] : "1";
    const key = `${picked} ${variable} ${share} ${RINGS[by].includes(part) ? "ring" : ""}`;
    const points = groups.get(key);
    if (points) points.push(at);
    else groups.set(key, [at]);
  });
  return [...groups].sort(([a], [b]) => (a < b ? -1 : 1));
}
