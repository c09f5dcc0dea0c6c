/** One grader: whether it is part of the run, its name and validation, its bar, its verdict in two words, its mean. */

import { Breakable } from "./Breakable.tsx";
import { Bar } from "./Bar.tsx";
import { Icon, Meaning } from "./Icon.tsx";
import type { Counts, Estimate, RailLine } from "./protocol.ts";
import { useTell, useView } from "./view.ts";

interface LineProps {
  line: RailLine;
  chosen: boolean;
  draft?: boolean;
}

export function GraderLine({ line, chosen, draft = false }: LineProps) {
  const tell = useTell();
  const view = useView();
  const { name } = line;
  const choose = () => !chosen && tell({ do: "choose", name });
  const old = line.stale || (chosen && view.old.value);
  return (
    <li class={`g ${chosen ? "chosen" : ""} ${draft ? "draft" : ""}`} onClick={choose}>
      <input
        type="checkbox" class="tick" aria-label={`${name}: part of the run`} title={draft ? "A draft is not run" : "Part of the run"}
        checked={line.ticked} disabled={draft} onClick={(event) => event.stopPropagation()}
        onChange={(event) => tell({ do: "tick", name, on: event.currentTarget.checked })}
      />
      <span class="l1">
        <button type="button" class="choose cut" aria-current={chosen ? "true" : undefined} title={`${name}: ${line.kind}`}><Breakable text={name} /></button>
        {line.letter && <span class="ab">{line.letter}</span>}
        <ValidationMark line={line} />
      </span>
      <Outcome line={line} old={old} />
    </li>
  );
}

const VALIDATIONS: Record<RailLine["validation"], string> = {
  validated: "all five checks pass",
  failed: "a check fails, of this text or the one in the editor",
  not_validated: "not validated yet",
  rule: "a built-in rule: needs no validation",
};

function ValidationMark({ line: { validation, say, counts } }: { line: RailLine }) {
  const name = validation === "failed" ? "cross" : say && !counts ? "wait" : validation === "not_validated" ? "wait" : "tick";
  const colour = { cross: "c-failed", wait: "faint", tick: validation === "rule" ? "faint" : "c-good" }[name];
  return <span class="validation" role="img" aria-label={VALIDATIONS[validation]} title={VALIDATIONS[validation]}><Icon name={name} class={colour} small /></span>;
}

function Outcome({ line, old }: { line: RailLine; old: boolean }) {
  const { counts, was, verdict, mean, say } = line;
  const picked = useView().picked.value?.graders[line.name];
  if (!counts && !verdict) return <span class="say">{say || "not run yet"}</span>;
  return (
    <span class={`outcome ${old ? "old" : ""}`}>
      {counts && <Bar counts={counts} />}
      {was && <Bar counts={was} class="was" />}
      {counts && picked && <PickedBar picked={picked} />}
      <span class="l3">
        <span class={line.undiagnosed ? "verdict old" : "verdict"} title={verdict?.tip}>
          {verdict && !say && <Meaning shape={verdict.shape} small />}
          <span class="cut">{say || verdict?.words}</span>
        </span>
        {mean && !say && <Mean mean={mean} />}
      </span>
    </span>
  );
}

/** The selected rows alone, as a thin bar under the first. */
function PickedBar({ picked }: { picked: Counts }) {
  return <span class="picked-bar" title="the selected rows"><Bar counts={picked} class="thin" /></span>;
}

function Mean({ mean: { value, lo, hi } }: { mean: Estimate }) {
  return (
    <span class="mean" title="mean score and its 95 % interval">
      <b>{value.toFixed(2)}</b>{lo !== null && hi !== null && ` ${lo.toFixed(2)}–${hi.toFixed(2)}`}
    </span>
  );
}
