/** The distribution of scores: one bar per value if there are few, else good above and bad below the axis. */

import { useEffect } from "preact/hooks";
import { Butterfly } from "./Butterfly.tsx";
import { Meaning } from "./Icon.tsx";
import type { Condition, Picked, Scores as ScoresData } from "./protocol.ts";
import { toStep, useMoving } from "./slider.ts";
import { TwoValues } from "./TwoValues.tsx";
import { useTell, useView } from "./view.ts";
import { count } from "./words.ts";

/** A pass threshold as the two figures draw and move it. */
export interface Mark {
  value: number | null; // null if the grader returns a verdict itself
  move: (value: number) => void;
  rest: () => void;
  nudge: (by: number) => void;
}

export interface FigureProps {
  scores: ScoresData;
  grader: string;
  mark: Mark;
  look: (...where: Condition[]) => void;
  picked: Picked["scores"]; // empty if all rows are shown
}

/** Steps of the pass threshold over the whole scale. */
const STEPS = 20;

export function Scores({ scores, grader }: { scores: ScoresData; grader: string }) {
  const { look, picked } = useView();
  const mark = useMark(scores);
  const Figure = scores.kind === "values" ? TwoValues : Butterfly;
  return (
    <section class="scores" aria-label="Scores">
      <div class="line">
        <h3>Scores</h3>
        <span class="small faint grow cut">{scores.note}</span>
        {scores.kind === "values" ? <NoScore scores={scores} grader={grader} look={look} /> : scores.log && <LogAxis />}
      </div>
      <Figure scores={scores} grader={grader} mark={mark} look={look} picked={picked.value?.scores ?? []} />
    </section>
  );
}

function LogAxis() {
  return <span class="chip log" title="The axis is logarithmic: each line means ten times as many rows.">log axis</span>;
}

function useMark(scores: ScoresData): Mark {
  const tell = useTell();
  const view = useView();
  const given = scores.pass_threshold;
  const moving = useMoving(given ?? 0, scores, (value) => tell({ do: "pass_threshold", value }));
  const step = (scores.scale[1] - scores.scale[0]) / STEPS || 0.05;
  const nudge = (by: number) => moving.nudge(toStep(moving.value + by * step, step, scores.scale));
  useEffect(() => {
    view.nudge = given === null ? null : nudge;
    return () => void (view.nudge = null);
  });
  return { value: given === null ? null : moving.value, move: moving.move, rest: moving.rest, nudge };
}

function NoScore({ scores, grader, look }: Omit<FigureProps, "mark" | "picked">) {
  return (
    <div class="none">
      {(["failed", "skipped"] as const).map((status) => (
        <button key={status} type="button" disabled={!scores[status]} onClick={() => look({ grader, status })}>
          <span class={scores[status] ? "" : "quiet"}><Meaning shape={status} small /></span>{count(scores[status])} {status}
        </button>
      ))}
    </div>
  );
}
