/** Probe the selected grader: the shortest text of each hole, to try and to save as a regression row. */

import { useLink } from "../../context.ts";
import { Icon, Meaning } from "../../Icon.tsx";
import type { ProbeData } from "../../protocol.ts";

export function Probe({ probe }: { probe: ProbeData }) {
  const link = useLink();
  const { grader, busy, why_not: why, lead, holes } = probe;
  return (
    <section class="probe" aria-label="Probe">
      <div class="head">
        <h2 class="grow">Probe <span class="mono">{grader}</span></h2>
        <button type="button" class="btn" disabled={busy || Boolean(why)} title={why || "Grades texts that are surely wrong, or surely correct, made of your rows"} onClick={() => link.tell({ do: "try_probe" })}>
          <Icon name={busy ? "wait" : "find"} small />{busy ? "Trying …" : lead ? "Try again" : "Probe"}
        </button>
      </div>
      {why && <p class="small mute">Not probed here: it {why}.</p>}
      {lead && <p class="small mute" role="status">{lead}</p>}
      <ul>
        {holes.map(({ number, shape, sentence, text, score, good, question, allowed }) => (
          <li key={number}>
            <Meaning shape={shape} small />
            <div>
              <p class="small">{sentence}</p>
              <p class="line">
                <span class="mono cut text" title={text}>{text || "(empty)"}</span>
                <span class="small mute">score {score || "none"}{good !== null && !allowed && `, must be ${good ? "accepted" : "rejected"}`}</span>
              </p>
              <p class="line">
                <button type="button" class="link small" onClick={() => link.tell({ do: "try_hole", number, keep: false })}>Try this text</button>
                <button type="button" class="link small" onClick={() => link.tell({ do: "try_hole", number, keep: true })}>Save as a regression row</button>
                {question && (
                  <button type="button" class="link small" aria-pressed={allowed} title="Exports and certificates keep it; no score changes" onClick={() => link.tell({ do: "try_allow", number, allowed: !allowed })}>
                    {allowed ? "Intended: undo" : "Intended"}
                  </button>
                )}
              </p>
            </div>
          </li>
        ))}
      </ul>
    </section>
  );
}
