/** Turns of a conversation, tool calls and documents, as text. */

import { AsRead } from "../../Rendered.tsx";
import type { PieceOfText, Turn } from "../../protocol.ts";
import { LongPassage } from "./Passage.tsx";

/** The turns of a row, with an empty completion if it has none: the last turn is what is judged. */
export function withCompletion(turns: Turn[]): Turn[] {
  return turns.at(-1)?.role === "completion" ? turns : [...turns, { role: "completion", text: [], part: "no completion", more: 0, calls: [] }];
}

export type ReadPart = (part: string, start: number) => Promise<PieceOfText>;

/** `lead` marks the text that is judged: it is shown in the strongest colour. */
export function TurnView({ turn, lead = false, read }: { turn: Turn; lead?: boolean; read: ReadPart }) {
  const empty = !turn.text.length && !turn.calls.length && !turn.more;
  return (
    <div class="turn">
      <p class="role">{turn.title || turn.role}</p>
      {(turn.text.length > 0 || turn.more > 0) && (
        <div class={`words ${lead ? "" : "mute"}`}>
          <AsRead pieces={turn.text} more={turn.more}><LongPassage pieces={turn.text} more={turn.more} read={(start) => read(turn.part, start)} /></AsRead>
        </div>
      )}
      {turn.calls.map((call) => (
        <p class="words call" key={call.part}>
          <b class="mono">{call.name}</b>{" "}
          <span class="mono mute">
            <LongPassage pieces={call.arguments} more={call.more} read={(start) => read(call.part, start)} />
          </span>
        </p>
      ))}
      {empty && <p class="faint">(empty)</p>}
    </div>
  );
}

export function Turns({ turns, lead = false, read }: { turns: Turn[]; lead?: boolean; read: ReadPart }) {
  return <>{turns.map((turn, at) => <TurnView key={`${turn.part}${at}`} turn={turn} lead={lead && at === turns.length - 1} read={read} />)}</>;
}
