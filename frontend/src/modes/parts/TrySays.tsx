/** Every grader's grade of the row and of the edited completion. */

import { Breakable } from "../../Breakable.tsx";
import { useLink } from "../../context.ts";
import { Square } from "../../Bar.tsx";
import { Icon, Meaning } from "../../Icon.tsx";
import type { Part, TryData } from "../../protocol.ts";
import { SavedCompletions } from "./SavedCompletions.tsx";

type Line = TryData["lines"][number];
type Said = Line["before"];

export function TrySays({ data }: { data: TryData }) {
  return (
    <div class="scroll" tabIndex={0} role="group" aria-label="Grades">
      <table class="says-table">
        <thead><tr><th scope="col">grader</th><th scope="col" class="num">{data.pasted ? "as pasted" : "the row"}</th><td /><th scope="col">your completion</th></tr></thead>
        <tbody>{data.lines.map((line) => <SaysLine key={line.grader} line={line} />)}</tbody>
      </table>
      {data.verdict && (
        <div class="says" role="status">
          <Meaning shape={data.verdict.shape} />
          <div><p class="says-lead"><b>{data.verdict.lead}</b></p><p class="mute"><Breakable text={data.verdict.text} sentence /></p></div>
        </div>
      )}
      {data.kept.length > 0 && <SavedCompletions kept={data.kept} />}
    </div>
  );
}

function SaysLine({ line }: { line: Line }) {
  return (
    <tr>
      <th scope="row">
        <b class={`mono ${line.waits ? "faint" : ""}`}><Breakable text={line.grader} /></b>
        {(line.waits || line.why) && <p class="small faint why">{line.waits || line.why}</p>}
        {line.printed && <pre class="printed" tabIndex={0} aria-label={`Printed by ${line.grader}`}>{line.printed}</pre>}
      </th>
      <td class="num"><ScoreOf said={line.before} class="faint" /></td>
      <td class="arrow"><Icon name="right" class="faint" small /></td>
      <td>
        <span class="after">
          {(line.after || !line.waits) && <ScoreOf said={line.after} class="strong" />}
          {line.moved && <span class={`small ${moveColour(line.after?.part ?? null)}`}>{line.moved}</span>}
          {line.waits && <Ask line={line} />}
        </span>
      </td>
    </tr>
  );
}

function Ask({ line }: { line: Line }) {
  const link = useLink();
  return <button type="button" class="btn" title={line.waits} aria-label={`Run ${line.grader}`} onClick={() => link.tell({ do: "try_ask", grader: line.grader })}>Run</button>;
}

function ScoreOf({ said, class: name }: { said: Said; class: string }) {
  if (!said) return <span class="faint">–</span>;
  return <span class={`score-of ${name}`}><span>{said.score}</span>{said.part && <Square part={said.part} />}</span>;
}

/** A change is good if the grader now agrees with the label. */
function moveColour(part: Part | null): string {
  if (part === "good_accepted" || part === "bad_refused") return "c-good";
  if (part === "bad_accepted" || part === "good_refused") return "c-bad";
  return part === "failed" ? "c-failed" : "mute";
}
