/** A share over the versions of a grader, with intervals, against its limit. */

import type { HistoryData } from "../../protocol.ts";

type SparkData = HistoryData["sparks"][number];

const WIDTH = 200;
const HEIGHT = 64;
const LEFT = 12; // of the first point
const RIGHT = 62; // after the last point, for the limit's name
const FOOT = 16; // below the axis: the versions' names
const TOP = 6;
/** Maximum number of names, which would otherwise overlap. */
const NAMES = 4;

export function Spark({ spark }: { spark: SparkData }) {
  const { points, limit } = spark;
  const most = Math.max(limit * 1.5, 0.02, ...points.map(({ value, hi }) => hi ?? value));
  const x = (at: number) => LEFT + (at * (WIDTH - LEFT - RIGHT)) / Math.max(1, points.length - 1);
  const y = (value: number) => HEIGHT - FOOT - (HEIGHT - FOOT - TOP) * Math.min(1, value / most);
  return (
    <figure class={spark.good ? "spark good" : "spark bad"}>
      <figcaption class="small mute">{spark.title}</figcaption>
      <svg viewBox={`0 0 ${WIDTH} ${HEIGHT}`} width={WIDTH} height={HEIGHT} role="img" aria-label={describe(spark)}>
        <line class="limit" x1="2" x2={WIDTH - 2} y1={y(limit)} y2={y(limit)} />
        {points.map(({ lo, hi }, at) => lo !== null && hi !== null && <line key={at} class="band" x1={x(at)} x2={x(at)} y1={y(lo)} y2={y(hi)} />)}
        <polyline class="way" points={points.map(({ value }, at) => `${x(at)},${y(value)}`).join(" ")} />
        {points.map(({ value }, at) => <circle key={at} cx={x(at)} cy={y(value)} r="3.2" />)}
        {points.map(({ text }, at) => named(at, points.length) && <text key={at} x={x(at)} y={HEIGHT - 2} text-anchor="middle">{text}</text>)}
        <text x={WIDTH - 2} y={y(limit) - 4} text-anchor="end">limit {percent(limit)}</text>
      </svg>
    </figure>
  );
}

/** Whether a point's name is written: the last one always is. */
function named(at: number, count: number): boolean {
  const step = Math.ceil(count / NAMES);
  return (count - 1 - at) % step === 0;
}

function percent(share: number): string {
  return `${Number((100 * share).toFixed(1))} %`;
}

function describe({ title, limit, points }: SparkData): string {
  const said = points.map(({ text, value, lo, hi }) => `${text} ${percent(value)}${lo === null || hi === null ? "" : ` (95 % interval ${percent(lo)} to ${percent(hi)})`}`);
  return `${title}, limit ${percent(limit)}: ${said.join(", ")}`;
}
