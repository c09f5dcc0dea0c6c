/** A finding: one sentence whose number links to its rows, its interval against the limit, advice. */

import { Meaning } from "./Icon.tsx";
import type { FindingData } from "./protocol.ts";
import { Strip } from "./Strip.tsx";
import { useTell } from "./view.ts";

interface Props {
  finding: FindingData;
  small?: boolean;
  old?: boolean; // it is about scores before the shown ones
}

export function Finding({ finding, small = false, old = false }: Props) {
  const { shape, lead, before, link, after, where, strip, advice, kind } = finding;
  const tell = useTell();
  const says = Boolean(before || link || after);
  const limit = limitOf(kind);
  const mark = /^[.,;:)]*/.exec(after)?.[0] ?? ""; // never alone on a line
  return (
    <div class={`finding ${small ? "lesser" : ""} ${old ? "old" : ""}`} aria-busy={old}>
      <Meaning shape={shape} />
      <div>
        <p>
          <b>{lead}{says && ":"}</b> {joined(before)}
          <span class="glued">
            {where ? <button type="button" class="link" onClick={() => tell({ do: "look", where })}>{link}</button> : link}
            {mark}
          </span>
          {joined(after.slice(mark.length))}
        </p>
        {strip && <Strip strip={strip} setLimit={limit && ((value) => tell({ do: "limit", kind: limit, value }))} />}
        {advice && <p class="do">{joined(advice)}</p>}
      </div>
    </div>
  );
}

/** A text whose per cent signs stay with their numbers. */
function joined(text: string): string {
  return text.replace(/(\d) %/g, "$1\u00a0%");
}

/** Which of the app's two limits a finding is compared with. */
function limitOf(kind: string): "lenient" | "strict" | null {
  if (kind.includes("lenient")) return "lenient";
  return kind.includes("strict") ? "strict" : null;
}
