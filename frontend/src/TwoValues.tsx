/** Scores with few distinct values: one bar each, from high to low, the pass threshold between them. */

import { Fragment } from "preact";
import { useRef } from "preact/hooks";
import { NAMES, PickedShare, Segment, sum } from "./Bar.tsx";
import type { Condition, Counts, Part } from "./protocol.ts";
import type { FigureProps, Mark } from "./Scores.tsx";
import { keyStep } from "./slider.ts";
import { count, short } from "./words.ts";

type Value = { value: number; counts: Counts };

const KINDS: readonly { label: boolean | null; words: string; colour: string; parts: [Part, Part] }[] = [
  { label: true, words: "known good", colour: "c-good", parts: ["good_accepted", "good_refused"] },
  { label: false, words: "known bad", colour: "c-bad", parts: ["bad_accepted", "bad_refused"] },
  { label: null, words: "unlabelled", colour: "mute", parts: ["accepted", "refused"] },
];

const SCORED = KINDS.flatMap(({ parts }) => parts);

export function TwoValues({ scores, grader, mark, look, picked }: FigureProps) {
  const { values, has_labels: labelled } = scores;
  const most = Math.max(1, ...values.map(({ counts }) => sum(counts, SCORED)));
  const split = mark.value === null ? -1 : values.filter(({ value }) => value >= (mark.value as number)).length;
  const lines = useRef<HTMLDivElement>(null);
  return (
    <div class="two-val" ref={lines}>
      {split === 0 && <PassMark values={values} scale={scores.scale} mark={mark} lines={lines} />}
      {values.map((each, at) => (
        <Fragment key={each.value}>
          <Line each={each} most={most} accepted={mark.value === null ? null : at < split} grader={grader} labelled={labelled} look={look} picked={picked.length === values.length ? picked[at] : undefined} />
          {split === at + 1 && <PassMark values={values} scale={scores.scale} mark={mark} lines={lines} />}
        </Fragment>
      ))}
    </div>
  );
}

interface LineProps {
  each: Value;
  most: number;
  accepted: boolean | null; // by the pass threshold; null if the grader's own verdict applies
  grader: string;
  labelled: boolean;
  look: FigureProps["look"];
  picked: [number, number] | undefined;
}

function Line({ each: { value, counts }, most, accepted, grader, labelled, look, picked }: LineProps) {
  const total = sum(counts, SCORED);
  const score: Condition = { grader, score: [value, value] };
  const kinds = KINDS.filter(({ parts }) => sum(counts, parts));
  const all = accepted ?? own(counts);
  return (
    <>
      <span class="lab cut"><button type="button" class="of" onClick={() => look(score)}><b>{short(value)}</b> {all === null ? "" : all ? "accepted" : "rejected"}</button></span>
      <div>
        <span class="bar tall" style={{ width: `${(100 * total) / most}%` }}>
          {kinds.flatMap(({ label, words, parts }) => shown(counts, parts, accepted).map(([part, number]) => (
            <button key={part} type="button" style={{ flex: `${number} 1 0` }} title={`${count(number)} ${NAMES[part]}`} aria-label={`${count(number)} ${words}: show them`} onClick={() => look(...(labelled ? [{ label }] : []), score)}>
              <Segment part={part} />
            </button>
          )))}
        </span>
        {picked && <PickedShare part={picked[0] + picked[1]} whole={most} />}
        {labelled && (
          <span class="cap">
            {kinds.map(({ label, words, colour, parts }) => (
              <span key={words}><button type="button" class="of" onClick={() => look({ label }, score)}><b class={colour}>{count(sum(counts, parts))}</b> {words}</button></span>
            ))}
          </span>
        )}
      </div>
      <b class="num">{count(total)}</b>
    </>
  );
}

/** The parts to draw: by the pass threshold while it moves, else as the kernel counted them. */
function shown(counts: Counts, parts: [Part, Part], accepted: boolean | null): [Part, number][] {
  if (accepted === null) return parts.filter((part) => counts[part]).map((part) => [part, counts[part]]);
  return [[parts[accepted ? 0 : 1], sum(counts, parts)]];
}

/** Whether all rows of one score were accepted, or all rejected; null if mixed. */
function own(counts: Counts): boolean | null {
  const accepted = sum(counts, ["good_accepted", "bad_accepted", "accepted"]);
  const refused = sum(counts, ["good_refused", "bad_refused", "refused"]);
  return accepted && refused ? null : accepted > 0;
}

/** Possible thresholds: one below each value except the highest position, which would accept nothing. */
function marks(values: readonly Value[]): number[] {
  return values.map(({ value }, at) => {
    const next = values[at + 1];
    return next ? Number(((value + next.value) / 2).toPrecision(4)) : value;
  });
}

/** Pixels from the top of a line to the middle of its bar. */
const HALF = 12;

interface PassMarkProps {
  values: Value[];
  scale: [number, number];
  mark: Mark;
  lines: { current: HTMLElement | null };
}

function PassMark({ values, scale, mark, lines }: PassMarkProps) {
  const places = marks(values);
  const value = mark.value as number;
  const drag = (event: PointerEvent) => {
    if (!(event.currentTarget as Element).hasPointerCapture(event.pointerId)) return;
    const labels = [...(lines.current?.querySelectorAll(".lab") ?? [])];
    const above = labels.filter((each) => each.getBoundingClientRect().top + HALF < event.clientY).length;
    const place = places[Math.max(1, above) - 1];
    if (place !== undefined && Math.max(1, above) !== values.filter((each) => each.value >= value).length) mark.move(place);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const by = keyStep(event.key);
    if (!by) return;
    event.preventDefault();
    event.stopPropagation();
    mark.nudge(by);
  };
  return (
    <span class="pass">
      <span
        class="grip" tabIndex={0} role="slider" aria-label="pass threshold" aria-valuemin={scale[0]} aria-valuemax={scale[1]} aria-valuenow={value}
        aria-orientation="vertical" title="Rows at or above this score are accepted: drag, or press [ and ]" onKeyDown={onKeyDown} onPointerMove={drag} onPointerUp={mark.rest}
        onPointerDown={(event) => event.currentTarget.setPointerCapture(event.pointerId)}
      >
        threshold {short(value)}
      </span>
    </span>
  );
}
