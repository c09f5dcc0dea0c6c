/** One conversation to change: its source, its turns, the original completion and the edited one. */

import { useEffect, useState } from "preact/hooks";
import { useLink } from "../../context.ts";
import type { PieceOfText, TryData } from "../../protocol.ts";
import { HereText } from "./Passage.tsx";
import { Turns, type ReadPart } from "./Turns.tsx";
import { nextSeq, useTyped, type Typed } from "./typed.ts";
import { Empty, Toggle } from "./words.tsx";

export function TryForm({ data }: { data: TryData | null }) {
  const link = useLink();
  const revision = data?.revision ?? -1;
  const answer = useTyped(data?.yours ?? "", revision, (text) => link.tell({ do: "try", seq: nextSeq(link), text }));
  const expected = useTyped(data?.expected ?? "", revision, (text) => link.tell({ do: "try", seq: nextSeq(link), expected: text }));
  // Typed text belongs to the previous row, so it is sent before the row changes.
  const flush = () => {
    answer.flush();
    expected.flush();
  };
  return (
    <>
      <div class="head"><h2 class="grow">Edit the completion, compare grades</h2><Find leave={flush} /></div>
      <Sources data={data} leave={flush} />
      {data ? <Conversation data={data} answer={answer} expected={expected} flush={flush} /> : <Empty title="No row yet" step="Take any row, find one by its id or text, or paste a conversation." />}
    </>
  );
}

/** Which conversation: another row, one that contains some words, a pasted one. */
function Sources({ data, leave }: { data: TryData | null; leave: () => void }) {
  const link = useLink();
  const [pasting, setPasting] = useState(false);
  const revision = data?.revision ?? -1;
  // An invalid conversation stays in its box, below the error.
  useEffect(() => setPasting(false), [revision]);
  const paste = (text: string) => {
    leave();
    link.tell({ do: "try_paste", text });
  };
  const random = () => {
    leave();
    link.tell({ do: "try_random" });
  };
  return (
    <>
      <div class="try-tools">
        {data && <span class="chip" title={data.place}>{data.pasted ? "pasted" : data.id}</span>}
        <button type="button" class="btn plain" onClick={random}>Another row</button>
        <button type="button" class="btn plain" aria-expanded={pasting} onClick={() => setPasting(!pasting)}>Paste a conversation</button>
        {data?.place && <span class="small faint grow cut place">{data.place}</span>}
      </div>
      {pasting && <Paste paste={paste} leave={() => setPasting(false)} />}
    </>
  );
}

/** Enter finds the first match, and again the next one. */
function Find({ leave }: { leave: () => void }) {
  const link = useLink();
  const [text, setText] = useState("");
  const [found, setFound] = useState("");
  const find = (event: Event) => {
    event.preventDefault();
    const query = text.trim();
    if (!query) return;
    leave();
    link.tell(query === found ? { do: "try_row", query, next: true } : { do: "try_row", query });
    setFound(query);
  };
  return (
    <form class="search" role="search" onSubmit={find}>
      <input type="search" aria-label="Find a row by its id or text" placeholder="Find id or text" value={text} onInput={(event) => setText(event.currentTarget.value)} />
      {text.trim() && <button type="submit" class="link small">{text.trim() === found ? "next" : "find"}</button>}
    </form>
  );
}

const SHAPE = '[{"role": "user", "content": "…"}, {"role": "assistant", "content": "…"}]';

function Paste({ paste, leave }: { paste: (text: string) => void; leave: () => void }) {
  const [text, setText] = useState("");
  return (
    <div class="paste" onKeyDown={(event) => event.key === "Escape" && leave()}>
      <textarea class="mono" rows={4} aria-label="Conversation as JSON" placeholder={SHAPE} value={text} onInput={(event) => setText(event.currentTarget.value)} />
      <div class="line">
        <button type="button" class="btn" disabled={!text.trim()} onClick={() => paste(text)}>Use it</button>
        <button type="button" class="btn plain" onClick={leave}>Cancel</button>
      </div>
    </div>
  );
}

interface ConversationProps {
  data: TryData;
  answer: Typed;
  expected: Typed;
  flush: () => void;
}

function Conversation({ data, answer, expected, flush }: ConversationProps) {
  const link = useLink();
  const read: ReadPart = (part, start) => link.ask<PieceOfText>({ ask: "piece", row: data.row, part, start });
  const truth = data.label === null ? "" : data.label ? "known good" : "known bad";
  return (
    <div class="scroll try-texts" tabIndex={0} role="group" aria-label="Conversation">
      <div class="turns" key={data.id || data.revision}><Turns turns={data.turns} read={read} /></div>
      {!data.pasted && (
        <>
          <p class="role">completion of the row {truth && <span class="tiny">· {truth}</span>}</p>
          <p class="box words row-answer">{data.answer ? <HereText text={data.answer} /> : <span class="faint">(empty)</span>}</p>
        </>
      )}
      <label class="field"><span class="role">your completion</span>
        <textarea class="box yours" rows={4} value={answer.text} onInput={(event) => answer.type(event.currentTarget.value)} />
      </label>
      <label class="field"><span class="role">reference</span>
        <textarea class="box expected" rows={1} value={expected.text} onInput={(event) => expected.type(event.currentTarget.value)} />
      </label>
      <YourLabel data={data} flush={flush} />
    </div>
  );
}

function YourLabel({ data, flush }: { data: TryData; flush: () => void }) {
  const link = useLink();
  const call = (label: boolean) => link.tell({ do: "try", seq: nextSeq(link), label: data.yours_label === label ? null : label });
  const keep = () => {
    flush();
    link.tell({ do: "try_keep" });
  };
  return (
    <div class="line your-label">
      <span class="small mute">Your completion is</span>
      <Toggle class="btn good" on={data.yours_label === true} shape="good" text="good" press={() => call(true)} />
      <Toggle class="btn bad" on={data.yours_label === false} shape="bad" text="bad" press={() => call(false)} />
      <span class="grow" />
      <button type="button" class="btn" title="It is graded again after every edit, and listed under the grades" onClick={keep}>Save completion</button>
    </div>
  );
}
