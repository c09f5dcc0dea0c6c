/** Saved completions: graded again after every edit, which shows which of them a grader now gets wrong. */

import { useLink } from "../../context.ts";
import { Square } from "../../Bar.tsx";
import { Icon, Meaning } from "../../Icon.tsx";
import type { SavedData } from "../../protocol.ts";
import { truthShape } from "./words.tsx";

export function SavedCompletions({ kept }: { kept: SavedData[] }) {
  const wrong = kept.filter(({ errs }) => errs).length;
  return (
    <section class="kept" aria-label="Saved completions">
      <div class="head">
        <h2 class="grow">Saved completions</h2>
        <span class="small mute" role="status">{wrong ? `a grader errs on ${wrong} of ${kept.length}` : `${kept.length} saved`}</span>
      </div>
      <ul>{kept.map((answer) => <Kept key={answer.number} answer={answer} />)}</ul>
    </section>
  );
}

function Kept({ answer }: { answer: SavedData }) {
  const link = useLink();
  const { number, text, label, note, errs, grades } = answer;
  const truth = label === null ? "unlabelled" : label ? "good" : "bad";
  return (
    <li>
      <Meaning shape={truthShape(label)} small />
      <button type="button" class="kept-text" title="Try it again" aria-label={`Try again (${truth}): ${text || "an empty completion"}`} onClick={() => link.tell({ do: "try_saved", number })}>
        <span class="cut">{text || <span class="faint">(empty)</span>}</span>
        <span class={`small cut ${errs ? "c-bad" : "mute"}`}>{note}</span>
      </button>
      <span class="squares">
        {grades.map(({ grader, said }) => said?.part && <span key={grader} title={`${grader}: ${said.score}`}><Square part={said.part} /></span>)}
      </span>
      <button type="button" class="btn icon plain" aria-label={`Remove: ${text || "an empty completion"}`} title="Remove" onClick={() => link.tell({ do: "try_drop", number })}><Icon name="cross" small /></button>
    </li>
  );
}
