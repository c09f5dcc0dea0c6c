/** Many scores: known-good rows above the axis, known-bad ones below, unscored ones at the side on the same scale. */

import { useState } from "preact/hooks";
import { BESIDE, DOWN, lengthOf, plotOf, scoreTicks, split, ticks, UNKNOWN, UP, xOf, type Plot } from "./axes.ts";
import { moveFocus } from "./Popover.tsx";
import type { Bin, Condition, Part } from "./protocol.ts";
import type { FigureProps, Mark } from "./Scores.tsx";
import { useWidth } from "./size.ts";
import { keyStep, toStep } from "./slider.ts";
import { count, short } from "./words.ts";

const HEIGHT = 208;
const FIRST_WIDTH = 398;

export function Butterfly(props: FigureProps) {
  const { element, width } = useWidth<HTMLDivElement>(FIRST_WIDTH);
  return <div class="butterfly" ref={element}><Drawing {...props} plot={plotOf(props.scores, width, HEIGHT)} /></div>;
}

interface DrawingProps extends FigureProps {
  plot: Plot;
}

export function Drawing(props: DrawingProps) {
  const { scores, mark, grader, look, plot } = props;
  // A page may contain several views, whose patterns need different ids.
  const [id] = useState(() => `p${Math.random().toString(36).slice(2, 9)}`);
  const moved = mark.value !== scores.pass_threshold ? mark.value : null;
  const onKeyDown = (event: KeyboardEvent) => {
    const there = event.currentTarget as HTMLElement;
    const moves = moveFocus(event, there, "[role=button]", ["ArrowLeft", "ArrowRight"]);
    if (!moves && event.key !== "Enter" && event.key !== " ") return;
    event.preventDefault();
    event.stopPropagation();
    if (!moves) (event.target as Element).dispatchEvent(new MouseEvent("click", { bubbles: true, shiftKey: event.shiftKey }));
  };
  return (
    <svg viewBox={`0 0 ${plot.width} ${plot.height}`} width={plot.width} height={plot.height} role="group" aria-label={scores.has_labels ? "Scores: known good above, known bad below" : "Scores"}>
      <Patterns id={id} />
      <Axis plot={plot} labelled={scores.has_labels} />
      <g role="group" aria-label="Bars" onKeyDown={onKeyDown}>
        {scores.bins.map((bin, at) => <BinBars key={bin.lo} {...{ bin, plot, id, moved, grader, look }} labelled={scores.has_labels} first={at === firstOf(scores.bins)} />)}
      </g>
      {props.picked.length === scores.bins.length && <PickedBins bins={scores.bins} plot={plot} picked={props.picked} />}
      <Beside {...props} id={id} />
      <line x1={plot.left} x2={plot.right} y1={plot.zero} y2={plot.zero} class="zero" />
      {scores.has_labels && <Sides plot={plot} />}
      {mark.value !== null && <PassLine plot={plot} mark={mark} scale={scores.scale} />}
    </svg>
  );
}

/** The first bin with rows takes the focus; arrow keys move from there. */
function firstOf(bins: Bin[]): number {
  return bins.findIndex(({ counts }) => Object.values(counts).some(Boolean));
}

/** The fill of a part: solid accepted, hatched rejected. */
function fillOf(part: Part, id: string): string {
  const solid = { good_accepted: "var(--good)", bad_accepted: "var(--bad)", accepted: "var(--ink-3)" }[part as string];
  return solid ?? (part === "skipped" ? "var(--bg)" : `url(#${id}${part})`);
}

function Patterns({ id }: { id: string }) {
  const hatch = (part: Part, soft: string, ink: string, turn: number, wide: number, opacity = 1) => (
    <pattern id={id + part} width="5" height="5" patternUnits="userSpaceOnUse" patternTransform={`rotate(${turn})`}>
      <rect width="5" height="5" style={{ fill: `var(${soft})` }} />
      <rect width={wide} height="5" style={{ fill: `var(${ink})`, opacity }} />
    </pattern>
  );
  return (
    <defs>
      {hatch("good_refused", "--good-soft", "--good", 45, 1.6)}
      {hatch("bad_refused", "--bad-soft", "--bad", -45, 1.1, 0.6)}
      {hatch("refused", "--bg-3", "--ink-3", 45, 1.3)}
      <pattern id={`${id}failed`} width="4" height="4" patternUnits="userSpaceOnUse">
        <rect width="4" height="4" style={{ fill: "var(--failed-soft)" }} />
        <rect width="2" height="2" style={{ fill: "var(--failed)" }} />
        <rect x="2" y="2" width="2" height="2" style={{ fill: "var(--failed)" }} />
      </pattern>
    </defs>
  );
}

function Axis({ plot, labelled }: { plot: Plot; labelled: boolean }) {
  const sides = labelled ? [-1, 1] : [-1];
  return (
    <g aria-hidden="true">
      {ticks(plot).flatMap((tick) => sides.map((side) => {
        const y = plot.zero + side * lengthOf(plot, tick);
        return [<line key={`${tick}${side}`} class="tick-line" x1={plot.left} x2={plot.right} y1={y} y2={y} />, <text key={`${tick}${side}.`} x={plot.left - 6} y={y + 4} text-anchor="end">{count(tick)}</text>];
      }))}
      {scoreTicks(plot).map((score) => <text key={score} x={xOf(plot, score)} y={plot.height - 4} text-anchor="middle">{short(score)}</text>)}
    </g>
  );
}

function Sides({ plot }: { plot: Plot }) {
  return (
    <g aria-hidden="true" class="sides">
      <text x={plot.left + 20} y={plot.zero - plot.half + 8} class="good">known good ↑</text>
      <text x={plot.left + 20} y={plot.zero + plot.half - 1} class="bad">known bad ↓</text>
    </g>
  );
}

/** The selected rows of each bar, as a line in its middle. */
function PickedBins({ bins, plot, picked }: { bins: Bin[]; plot: Plot; picked: DrawingProps["picked"] }) {
  return (
    <g class="picked" aria-hidden="true">
      {bins.flatMap((bin, at) => {
        const middle = (xOf(plot, bin.lo) + xOf(plot, bin.hi)) / 2;
        const [up, down] = picked[at] ?? [0, 0];
        return [[up, -1], [down, 1]].filter(([rows]) => rows).map(([rows, side]) => (
          <line key={`${bin.lo} ${side}`} x1={middle} x2={middle} y1={plot.zero} y2={plot.zero + (side as number) * Math.max(2, lengthOf(plot, rows as number))} />
        ));
      })}
    </g>
  );
}

interface BinProps {
  bin: Bin;
  plot: Plot;
  id: string;
  moved: number | null;
  grader: string;
  look: FigureProps["look"];
  labelled: boolean;
  first: boolean;
}

function BinBars(props: BinProps) {
  const { bin, moved, labelled, look, grader } = props;
  const score: Condition = { grader, score: [bin.lo, bin.hi] };
  const unknown = split(bin, UNKNOWN, moved);
  if (!labelled) return <Stack {...props} side={-1} parts={unknown} go={() => look(score)} tab={props.first} words="rows" />;
  const total = (parts: [Part, number][]) => parts.reduce((rows, [, number]) => rows + number, 0);
  const up = split(bin, UP, moved);
  return (
    <>
      <Stack {...props} side={-1} parts={[...up, ...unknown]} go={() => look(...(total(unknown) ? [] : [{ label: true }]), score)} tab={props.first && total(up) + total(unknown) > 0} words={total(unknown) ? "rows not known bad" : "known good"} />
      <Stack {...props} side={1} parts={split(bin, DOWN, moved)} go={() => look({ label: false }, score)} tab={props.first && !total(up) && !total(unknown)} words="known bad" />
    </>
  );
}

interface StackProps extends BinProps {
  side: -1 | 1; // above or below the axis
  parts: [Part, number][];
  go: () => void;
  tab: boolean;
  words: string;
}

/** One bar away from the axis, and all the height around it to click on. */
function Stack({ bin, plot, id, side, parts, go, tab, words }: StackProps) {
  const total = parts.reduce((rows, [, number]) => rows + number, 0);
  if (!total) return null;
  const x = xOf(plot, bin.lo) + 0.75;
  const width = Math.max(1, xOf(plot, bin.hi) - xOf(plot, bin.lo) - 1.5);
  const said = `${count(total)} ${words} with a score of ${short(bin.lo)} to ${short(bin.hi)}`;
  let below = 0;
  return (
    <g class="bin" role="button" tabindex={tab ? 0 : -1} aria-label={`${said}: show them`} onClick={go}>
      <title>{said}</title>
      <rect class="reach" x={x} width={width} y={side < 0 ? plot.zero - plot.half : plot.zero} height={plot.half} />
      {parts.filter(([, rows]) => rows).map(([part, rows]) => {
        const from = lengthOf(plot, below);
        below += rows;
        const length = Math.max(1, lengthOf(plot, below) - from);
        return <rect key={part} class={`mark ${part}`} x={x} width={width} y={side < 0 ? plot.zero - from - length : plot.zero + from} height={length} style={{ fill: fillOf(part, id) }} />;
      })}
    </g>
  );
}

/** Rows without a score: failed, then skipped. */
function Beside({ scores, grader, look, plot, id }: DrawingProps & { id: string }) {
  const { failed, failed_bad: bad, has_labels: labelled, skipped } = scores;
  const columns = [
    { status: "failed" as const, up: labelled ? failed - bad : failed, down: labelled ? bad : 0 },
    { status: "skipped" as const, up: skipped, down: 0 },
  ].filter(({ up, down }) => up + down);
  return (
    <g>
      {columns.map(({ status, up, down }, at) => {
        const middle = plot.right + 14 + (at + 0.5) * BESIDE;
        const low = lengthOf(plot, down);
        const high = lengthOf(plot, up);
        const go = () => look({ grader, status });
        const onKeyDown = (event: KeyboardEvent) => {
          if (event.key !== "Enter" && event.key !== " ") return;
          event.preventDefault();
          go();
        };
        const number = down ? plot.zero + low + 14 : plot.zero - high - 5;
        return (
          <g key={status}>
            <g class="bin" role="button" tabindex={0} aria-label={`${count(up + down)} ${status}: show them`} onClick={go} onKeyDown={onKeyDown}>
              <title>{`${count(up + down)} ${status}: show them`}</title>
              <rect class={`mark ${status}`} x={middle - 7} width={14} y={plot.zero - high} height={high + low} style={{ fill: fillOf(status, id) }} />
            </g>
            <line x1={middle - 13} x2={middle + 13} y1={plot.zero} y2={plot.zero} class="zero" />
            <text x={middle} y={Math.min(plot.height - 18, Math.max(10, number))} text-anchor="middle" class="strong" aria-hidden="true">{count(up + down)}</text>
            <text x={middle} y={plot.height - 4} text-anchor="middle" aria-hidden="true">{status}</text>
          </g>
        );
      })}
    </g>
  );
}

const GRIP = { width: 90, height: 18 } as const;

function PassLine({ plot, mark, scale }: { plot: Plot; mark: Mark; scale: [number, number] }) {
  const value = mark.value as number;
  const x = xOf(plot, value);
  const left = Math.max(1, Math.min(plot.width - GRIP.width - 1, x - GRIP.width / 2));
  const drag = (event: PointerEvent) => {
    const line = event.currentTarget as SVGGElement;
    if (!line.hasPointerCapture(event.pointerId)) return;
    const box = (line.ownerSVGElement as SVGSVGElement).getBoundingClientRect();
    const at = ((event.clientX - box.left) * plot.width) / (box.width || 1);
    const score = plot.lo + ((at - plot.left) / (plot.right - plot.left)) * (plot.hi - plot.lo);
    mark.move(toStep(score, (plot.hi - plot.lo) / 100, scale));
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const by = keyStep(event.key);
    if (!by) return;
    event.preventDefault();
    event.stopPropagation();
    mark.nudge(by);
  };
  return (
    <g
      class="pass-line" role="slider" tabindex={0} aria-label="pass threshold" aria-valuemin={scale[0]} aria-valuemax={scale[1]} aria-valuenow={value} onKeyDown={onKeyDown}
      onPointerDown={(event) => event.currentTarget.setPointerCapture(event.pointerId)} onPointerMove={drag} onPointerUp={mark.rest}
    >
      <title>Rows at or above this score are accepted: drag, or press [ and ]</title>
      <rect class="reach" x={x - 5} width={10} y={GRIP.height} height={plot.height - GRIP.height - 20} />
      <line x1={x} x2={x} y1={GRIP.height + 1} y2={plot.height - 20} />
      <rect class="grip-box" x={left} y={1} width={GRIP.width} height={GRIP.height} rx={GRIP.height / 2} />
      <text x={left + GRIP.width / 2} y={14} text-anchor="middle">threshold {short(value)}</text>
    </g>
  );
}
