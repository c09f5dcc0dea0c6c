/** The grader list: one line each, drafts separately, the legend of the bars at the bottom. */

import { useState } from "preact/hooks";
import { AddMenu } from "./AddMenu.tsx";
import { Segment } from "./Bar.tsx";
import { useLink } from "./context.ts";
import { GraderLine } from "./GraderLine.tsx";
import { Icon } from "./Icon.tsx";
import { moveFocus } from "./Popover.tsx";
import type { Part, Rail as RailData } from "./protocol.ts";
import { useTell } from "./view.ts";

export function Rail() {
  const { state } = useLink();
  const rail = state.rail.value;
  const beside = state.mode.value !== "grade" && !state.part.value;
  const [unfolded, setUnfolded] = useState(false); // in a narrow view, where the list is above the open mode
  const { lines, drafts } = rail;
  const all = lines.length + drafts.length;
  const onKeyDown = (event: KeyboardEvent) => {
    const target = event.target as HTMLElement;
    if (target.matches(".choose") && moveFocus(event, event.currentTarget as HTMLElement, ".choose")) {
      event.preventDefault();
      ((target.getRootNode() as Document | ShadowRoot).activeElement as HTMLElement | null)?.click();
    }
  };
  return (
    <section class={`rail ${beside && !unfolded ? "folded" : ""}`} aria-label="Graders">
      <div class="head">
        <h2>Graders</h2>
        <span class="tiny faint grow cut">{all > 0 && `${rail.in_run} of ${all} run`}</span>
        {beside && all > 0 && <button type="button" class="btn plain fold" aria-expanded={unfolded} onClick={() => setUnfolded(!unfolded)}>{unfolded ? "Hide" : "Show"}<Icon name={unfolded ? "up" : "down"} small /></button>}
        <AddMenu />
      </div>
      <div class="scroll" onKeyDown={onKeyDown}>
        {all === 0 && <p class="nothing mute">None yet. Graders that you define with <span class="mono">@wb.grader</span> in any cell appear here immediately.</p>}
        <ul>{lines.map((line) => <GraderLine key={line.name} line={line} chosen={line.name === rail.chosen} />)}</ul>
        {drafts.length > 0 && (
          <>
            <p class="sub">Drafts: never run, never exported</p>
            <ul>{drafts.map((line) => <GraderLine key={line.name} line={line} chosen={line.name === rail.chosen} draft />)}</ul>
          </>
        )}
        <PutBack name={rail.removed} />
      </div>
      {all > 0 && <Legend rail={rail} />}
    </section>
  );
}

function PutBack({ name }: { name: string }) {
  const tell = useTell();
  if (!name) return null;
  return (
    <p class="put-back">
      <button type="button" class="btn plain" onClick={() => tell({ do: "restore" })}>
        <Icon name="undo" small /> <span class="cut">Restore {name}</span>
      </button>
    </p>
  );
}

function Legend({ rail }: { rail: RailData }) {
  const key = (part: Part, words = "") => <span><Segment part={part} key={part} />{words}</span>;
  return (
    <div class="legend" aria-label="Legend of the bars" role="group">
      <span /><span>accepted</span><span>rejected</span>
      {rail.has_labels ? (
        <>
          <span>known good</span>{key("good_accepted")}{key("good_refused")}
          <span>known bad</span>{key("bad_accepted")}{key("bad_refused")}
        </>
      ) : (
        <><span>rows</span>{key("accepted")}{key("refused")}</>
      )}
      <span>no score</span>{key("failed", "failed")}{key("skipped", "skipped")}
    </div>
  );
}
