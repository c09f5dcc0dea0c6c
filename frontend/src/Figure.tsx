/** The scores of a grader as one drawing for a file: a title, the figure, unscored rows. */

import { plotOf } from "./axes.ts";
import { Drawing } from "./Butterfly.tsx";
import { NAMES, sum } from "./Bar.tsx";
import type { Chosen, Counts, Part, Scores } from "./protocol.ts";
import { count, short } from "./words.ts";

const WIDTH = 640;
const HEIGHT = 340;
const TOP = 56;

const nothing = () => undefined;

export function Figure({ chosen }: { chosen: Chosen }) {
  const { scores, finding, name } = chosen;
  if (!scores) return null;
  const said = finding ? `${finding.lead}: ${finding.before}${finding.link}${finding.after}` : scores.note;
  const mark = { value: scores.pass_threshold, move: nothing, rest: nothing, nudge: nothing };
  const height = scores.kind === "bins" ? HEIGHT : TOP + scores.values.length * LINE + 24;
  return (
    <svg class="figure" viewBox={`0 0 ${WIDTH} ${height}`} width={WIDTH} height={height}>
      <rect width={WIDTH} height={height} class="paper" />
      <text x={16} y={24} class="name">{name}</text>
      <text x={16} y={42}>{said}</text>
      <g transform={`translate(8 ${TOP})`}>
        {scores.kind === "bins" ? <Drawing scores={scores} grader={name} mark={mark} look={nothing} picked={[]} plot={plotOf(scores, WIDTH - 16, HEIGHT - TOP - 8)} /> : <Values scores={scores} />}
      </g>
    </svg>
  );
}

const LINE = 44;
const LEFT = 96;
const RIGHT = 64;
const ORDER: Part[] = ["good_accepted", "good_refused", "bad_accepted", "bad_refused", "accepted", "refused"];
const COLOURS: Record<string, [fill: string, stroke: string]> = {
  good_accepted: ["var(--good)", "var(--good)"], good_refused: ["var(--good-soft)", "var(--good)"],
  bad_accepted: ["var(--bad)", "var(--bad)"], bad_refused: ["var(--bad-soft)", "var(--bad)"],
  accepted: ["var(--ink-3)", "var(--ink-3)"], refused: ["var(--bg-3)", "var(--ink-3)"],
};

/** One bar per value; rejected parts are light with an edge, because not every program shows hatches. */
function Values({ scores }: { scores: Scores }) {
  const most = Math.max(1, ...scores.values.map(({ counts }) => sum(counts, ORDER)));
  const room = WIDTH - LEFT - RIGHT;
  return (
    <>
      {scores.values.map(({ value, counts }, at) => (
        <g key={value} transform={`translate(0 ${at * LINE})`}>
          <text x={LEFT - 12} y={20} text-anchor="end" class="name">{short(value)}</text>
          <Parts counts={counts} scale={room / most} />
        </g>
      ))}
    </>
  );
}

function Parts({ counts, scale }: { counts: Counts; scale: number }) {
  const total = sum(counts, ORDER);
  let from = LEFT;
  return (
    <>
      {ORDER.filter((part) => counts[part]).map((part) => {
        const x = from;
        from += counts[part] * scale;
        const [fill, stroke] = COLOURS[part] ?? ["", ""];
        return <rect key={part} x={x + 0.5} y={4} width={Math.max(1, counts[part] * scale - 2)} height={24} style={{ fill, stroke }}><title>{`${count(counts[part])} ${NAMES[part]}`}</title></rect>;
      })}
      <text x={from + 6} y={20} class="name">{count(total)}</text>
      <text x={LEFT} y={40}>{ORDER.filter((part) => counts[part]).map((part) => `${count(counts[part])} ${NAMES[part]}`).join("  ·  ")}</text>
    </>
  );
}
