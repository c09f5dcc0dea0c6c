/** One row in full: its turns and reference, and on the right its label and grades. */

import { Breakable } from "./Breakable.tsx";
import { useEffect, useRef, useState } from "preact/hooks";
import { Square } from "./Bar.tsx";
import { Separator } from "./Handle.tsx";
import { Icon, Meaning } from "./Icon.tsx";
import { LongText } from "./LongText.tsx";
import { withCompletion } from "./modes/parts/Turns.tsx";
import { Pieces } from "./Pieces.tsx";
import type { ReaderData, Said, Turn } from "./protocol.ts";
import { recall, remember } from "./remember.ts";
import { AsRead } from "./Rendered.tsx";
import type { RowStore } from "./rows.ts";
import { useTell, useView } from "./view.ts";
import { count } from "./words.ts";

interface ReaderProps {
  reader: ReaderData;
  store: RowStore;
  leave: () => void; // back to the table
}

const HEIGHT = "height of the reader";
const LEAST = 120;
const HEIGHT_AT_FIRST = 300; // as in the style sheet
const HIGHEST = 1_000;

export function Reader({ reader, store, leave }: ReaderProps) {
  const tell = useTell();
  const [large, setLarge] = useState(false);
  const [height, setHeight] = useState(() => Number(recall(HEIGHT)) || 0);
  const section = useRef<HTMLElement>(null);
  // Enlarged, it covers parts that may be a screen away in a narrow view.
  useEffect(() => section.current?.querySelector(".head")?.scrollIntoView?.({ block: "nearest" }), [large]);
  const close = () => {
    leave();
    tell({ do: "select", row: null });
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key !== "Escape") return;
    event.preventDefault();
    event.stopPropagation();
    if (large) setLarge(false);
    else close();
  };
  const resize = (to: number, around: number) => {
    const next = Math.round(Math.max(LEAST, Math.min(around - LEAST, to)));
    setHeight(next);
    remember(HEIGHT, String(next));
  };
  return (
    <section ref={section} class={`reader ${large ? "large" : ""}`} aria-label={`Row ${reader.id}`} style={height && !large ? { height: `${height}px` } : undefined} onKeyDown={onKeyDown}>
      {!large && <Sash height={height || HEIGHT_AT_FIRST} resize={resize} />}
      <ReaderHead reader={reader} store={store} large={large} enlarge={() => setLarge(!large)} close={close} />
      <div class="in" key={reader.row}>
        <div class="text" tabIndex={0} role="group" aria-label="text of the row"><Texts reader={reader} /></div>
        <div class="beside" tabIndex={0} role="group" aria-label="label and scores of the row">
          <Label reader={reader} />
          <RowTags row={reader.row} tags={reader.tags} />
          {reader.said.map((said) => <Grader key={said.grader} said={said} row={reader.row} />)}
        </div>
      </div>
    </section>
  );
}

/** The upper edge of the reader: drag it, or use the arrow keys, to make the reader higher. `resize` gets the new height and that around it. */
function Sash({ height, resize }: { height: number; resize: (height: number, around: number) => void }) {
  const reader = (edge: Element) => edge.parentElement as HTMLElement;
  const to = (edge: Element, height: number) => resize(height, reader(edge).parentElement?.clientHeight ?? height);
  return (
    <Separator
      class="sash" orientation="horizontal" label="height of the reader" now={height} most={Math.max(HIGHEST, height)}
      drag={(event, edge) => to(edge, reader(edge).getBoundingClientRect().bottom - event.clientY)}
      step={(by, edge) => to(edge, reader(edge).clientHeight - 24 * by)}
    />
  );
}

interface ReaderHeadProps extends Omit<ReaderProps, "leave"> {
  large: boolean;
  enlarge: () => void;
  close: () => void;
}

function ReaderHead({ reader: { id, at, of }, store, large, enlarge, close }: ReaderHeadProps) {
  const tell = useTell();
  const view = useView();
  const go = (by: number) => async () => {
    if (view.step && at >= 0) return view.step(by);
    const row = await store.row(Math.max(0, at + by));
    if (row) tell({ do: "select", row: row.row });
  };
  return (
    <div class="head">
      <b class="mono cut" title={id}>{id}</b>
      <span class="small faint place">{at < 0 ? "not in these rows" : `${count(at + 1)} of ${count(of)}`}</span>
      <span class="grow" />
      <span class="line tools">
      <button type="button" class="btn icon plain" aria-label="previous row" title="Previous row" disabled={at <= 0} onClick={go(-1)}><Icon name="up" /></button>
      <button type="button" class="btn icon plain" aria-label="next row" title="Next row" disabled={at + 1 >= of} onClick={go(1)}><Icon name="down" /></button>
      <button type="button" class="btn icon plain" aria-label={large ? "smaller reader" : "larger reader"} aria-pressed={large} title={large ? "Smaller (Esc)" : "Enlarge over the whole view"} onClick={enlarge}><Icon name={large ? "shrink" : "enlarge"} /></button>
      <button type="button" class="btn icon plain" aria-label="close the reader" title="Close (Esc)" onClick={close}><Icon name="cross" /></button>
      </span>
    </div>
  );
}

function Texts({ reader: { row, turns, documents, expected, expected_note: note, metadata } }: { reader: ReaderData }) {
  return (
    <>
      {withCompletion(turns).map((turn, at, all) => <TurnView key={turn.part} row={row} turn={turn} quiet={at < all.length - 1} />)}
      {documents.map((turn) => <TurnView key={turn.part} row={row} turn={turn} quiet />)}
      {expected && <TurnView row={row} turn={expected} note={note} />}
      {metadata && (
        <details class="metadata">
          <summary class="role">{metadata.title || metadata.role || "metadata"}</summary>
          <p class="words mono mute"><LongText row={row} part={metadata.part} text={metadata.text} more={metadata.more} /></p>
        </details>
      )}
    </>
  );
}

interface TurnProps {
  row: number;
  turn: Turn;
  quiet?: boolean;
  note?: string;
}

function TurnView({ row, turn, quiet = false, note = "" }: TurnProps) {
  const empty = !turn.text.length && !turn.calls.length && !turn.more;
  return (
    <>
      <p class="role">{turn.role}{turn.title && `: ${turn.title}`}</p>
      {(turn.text.length > 0 || turn.more > 0) && (
        <div class={`words ${quiet ? "mute" : ""}`}>
          <AsRead pieces={turn.text} more={turn.more}><LongText row={row} part={turn.part} text={turn.text} more={turn.more} /></AsRead>{note && <span class="small faint note">{note}</span>}
        </div>
      )}
      {empty && <p class="faint">(empty)</p>}
      {turn.calls.map((call) => (
        <div class="words call" key={call.part}>
          <b class="mono">{call.name}</b> <span class="mono mute"><LongText row={row} part={call.part} text={call.arguments} more={call.more} /></span>
        </div>
      ))}
    </>
  );
}

/** The row's label, and buttons to set it; pressing the same button again removes it. */
function Label({ reader: { row, label, labelled_by: by, given } }: { reader: ReaderData }) {
  const tell = useTell();
  const button = (value: boolean, key: string) => (
    <button type="button" class="btn mark-as" aria-pressed={label === value} title={`${value ? "Good" : "Bad"}: key ${key}`} onClick={() => tell({ do: "label_row", row, value: label === value ? null : value })}>
      <Meaning shape={value ? "good" : "bad"} small />{value ? "good" : "bad"}
    </button>
  );
  return (
    <>
      <div class="label-row" role="group" aria-label="label">
        <span class="tiny faint cut" title={by && `labelled by ${by}`}>{by ? `by ${by}` : "label"}</span>
        {button(true, "1")}{button(false, "0")}
      </div>
      {given !== null && (
        <p class="tiny given" role="status">
          Label in the data: {given ? "good" : "bad"}. <button type="button" class="link" onClick={() => tell({ do: "label_row", row, value: null })}>Undo your label</button>
        </p>
      )}
    </>
  );
}

/** Characters of a tag, as in the store. */
const LONGEST = 60;

/** The tags of the row, such as kinds of failure: removed by a click, added in the field, with the known ones offered. */
function RowTags({ row, tags }: { row: number; tags: string[] }) {
  const { tell, link } = useView();
  const [known, setKnown] = useState<string[]>([]);
  const [text, setText] = useState("");
  const look = () => void link.ask<{ text: string }[]>({ ask: "tags" }).then((all) => setKnown(all.map((tag) => tag.text)), () => undefined);
  const add = (event: Event) => {
    event.preventDefault();
    const tag = text.trim();
    if (tag && !tags.includes(tag)) tell({ do: "tag_row", row, tags: [...tags, tag] });
    setText("");
  };
  const list = `tags-of-${row}`;
  return (
    <form class="row-tags" aria-label="tags of the row" onSubmit={add}>
      {tags.map((tag) => (
        <span key={tag} class="chip">
          <span class="cut" title={tag}>{tag}</span>
          <button type="button" aria-label={`remove the tag ${tag}`} title="Remove this tag" onClick={() => tell({ do: "tag_row", row, tags: tags.filter((each) => each !== tag) })}><Icon name="cross" small /></button>
        </span>
      ))}
      <input type="text" aria-label="add a tag" placeholder="add a tag" list={list} maxLength={LONGEST} value={text} autocomplete="off" onFocus={look} onInput={(event) => setText(event.currentTarget.value)} />
      <datalist id={list}>{known.filter((tag) => !tags.includes(tag)).map((tag) => <option key={tag} value={tag} />)}</datalist>
    </form>
  );
}

function Grader({ said: { grader, score, part, why, raw, more }, row }: { said: Said; row: number }) {
  return (
    <div class="said">
      <span class="mono by"><Breakable text={grader} /></span>
      <span class="sc"><span class={part ? "" : "faint"}>{score || "–"}</span>{part && <Square part={part} />}</span>
      {(why.length > 0 || more) && (
        <div class="why">{more ? <LongText row={row} part={more.part} text={why} more={more.count} /> : <Pieces pieces={why} />}</div>
      )}
      {raw && (
        <details class="raw">
          <summary>the judge's whole reply</summary>
          <div class="words"><Pieces pieces={[[raw, ""]]} /></div>
        </details>
      )}
    </div>
  );
}
