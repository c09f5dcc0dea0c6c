/** The last error, its location and a folded traceback; warnings and notes of the last run below. */

import { useLink } from "./context.ts";
import { Icon, Meaning } from "./Icon.tsx";
import type { Problem } from "./protocol.ts";
import { useTell } from "./view.ts";

export function Problems() {
  const { problem, warning, notes } = useLink().state.head.value;
  return (
    <>
      {problem && <Alert problem={problem} />}
      {(warning || notes.length > 0) && (
        <div class="notices small" role="status">
          {warning && <p><Meaning shape="failed" small /> {warning}</p>}
          {notes.map((note) => <p key={note}><Meaning shape="note" small /> {note}</p>)}
        </div>
      )}
    </>
  );
}

function Alert({ problem }: { problem: Problem }) {
  const tell = useTell();
  return (
    <div class="problem" role="alert">
      <Meaning shape="failed" />
      <div class="grow">
        <p><b>{problem.what}</b> <span class="mute">{problem.where}</span></p>
        {problem.trace && (
          <details>
            <summary class="small mute">Traceback</summary>
            <pre class="mono">{problem.trace}</pre>
          </details>
        )}
      </div>
      <button type="button" class="btn icon plain" aria-label="dismiss" title="Dismiss" onClick={() => tell({ do: "forget", what: "problem" })}>
        <Icon name="cross" small />
      </button>
    </div>
  );
}
