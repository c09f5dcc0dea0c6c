/** The card to decide: its texts, the keys, the note. All cards use one element, so that it retains the focus. */

import type { ComponentChildren } from "preact";
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import { useLink } from "../../context.ts";
import { Icon, Meaning } from "../../Icon.tsx";
import type { Card, LabelData, PieceOfText } from "../../protocol.ts";
import { actOn, NO_KEYS, type LabelAction } from "./labelKeys.ts";
import type { LabelQueue } from "./labelQueue.ts";
import { oneLine, plain } from "./Passage.tsx";
import { TagLine } from "./Tags.tsx";
import { Turns, withCompletion, type ReadPart } from "./Turns.tsx";

interface Props {
  label: LabelData | null;
  card: Card | undefined;
  queue: LabelQueue;
  children?: ComponentChildren; // instead of the texts
}

const SCROLLS: Record<string, number> = { ArrowDown: 60, ArrowUp: -60, PageDown: 300, PageUp: -300, " ": 300 };

export function LabelCard({ label, card, queue, children }: Props) {
  const texts = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (texts.current) texts.current.scrollTop = 0;
  }, [card?.row]);
  const scroll = (event: KeyboardEvent) => {
    const step = SCROLLS[event.key];
    if (step === undefined || event.target !== event.currentTarget || !texts.current) return;
    event.preventDefault();
    texts.current.scrollTop += step;
  };
  return (
    <div class="label-card" role="group" aria-label={card ? `Card ${card.id}` : "No card"} tabIndex={-1} onKeyDown={scroll}>
      {card ? <CardTexts card={card} texts={texts} /> : children}
      {label && card && <TagLine label={label} card={card} queue={queue} />}
      <Keys label={label} queue={queue} ready={Boolean(card)} />
      <CardFoot label={label} card={card} queue={queue} />
      <Said label={label} card={card} queue={queue} />
    </div>
  );
}

function CardTexts({ card, texts }: { card: Card; texts: { current: HTMLDivElement | null } }) {
  const link = useLink();
  const read: ReadPart = (part, start) => link.ask<PieceOfText>({ ask: "card_piece", row: card.row, part, start });
  return (
    <>
      <div class="line small whose">
        <b class="mono mute">{card.id}</b>
        <span class="grow" />
        <span class="faint">scores are hidden until you have decided</span>
      </div>
      <div class="texts" ref={texts} tabIndex={0} role="group" aria-label="Texts of the card">
        <div key={card.row}>
          <Turns turns={card.documents} read={read} />
          <Turns turns={withCompletion(card.turns)} lead read={read} />
        </div>
      </div>
      {card.expected && <div class="expected" key={card.row}><Turns turns={[card.expected]} lead read={read} /></div>}
    </>
  );
}

function Keys({ label, queue, ready }: { label: LabelData | null; queue: LabelQueue; ready: boolean }) {
  const keys = label?.keys ?? NO_KEYS;
  // Not `disabled`: a focused button would then lose the keys.
  const button = (action: LabelAction, text: string, content: ComponentChildren) => (
    <button type="button" class={`key ${action}`} aria-keyshortcuts={keys[action]} aria-disabled={!ready && action !== "undo"} onClick={() => actOn(queue, action)}>
      {content}{text} <kbd aria-hidden="true">{keys[action]}</kbd>
    </button>
  );
  return (
    <div class="keys">
      {button("good", "Good", <Meaning shape="good" />)}
      {button("bad", "Bad", <Meaning shape="bad" />)}
      {button("skip", "Skip", null)}
      {button("defer", "Defer", null)}
      {button("undo", "Undo", null)}
    </div>
  );
}

function CardFoot({ label, card, queue }: { label: LabelData | null; card: Card | undefined; queue: LabelQueue }) {
  const link = useLink();
  const keys = label?.keys ?? NO_KEYS;
  const rename = (name: string) => name !== label?.labeller && link.tell({ do: "labeller", name });
  return (
    <div class="line small faint card-foot">
      {queue.draft.value === null ? (
        <button type="button" class="line plain-key cut" aria-keyshortcuts={keys.note} onClick={() => queue.startNote()}>
          <kbd aria-hidden="true">{keys.note}</kbd><span class="cut">{card?.note ? `note: ${card.note}` : "add a note"}</span>
        </button>
      ) : (
        <Note queue={queue} text={queue.draft.value} />
      )}
      {queue.draft.value === null && <span class="line all-keys"><kbd>?</kbd> all keys</span>}
      <span class="grow" />
      <label class="line"><span>labelling as</span>
        <input type="text" class="labeller" value={label?.labeller ?? ""} placeholder="your name" spellcheck={false} onChange={(event) => rename(event.currentTarget.value.trim())} />
      </label>
    </div>
  );
}

function Note({ queue, text }: { queue: LabelQueue; text: string }) {
  const field = useRef<HTMLInputElement>(null);
  useLayoutEffect(() => field.current?.focus({ preventScroll: true }), []); // before the next key
  const leave = (keep: boolean) => {
    const card = field.current?.closest<HTMLElement>(".label-card");
    if (keep) queue.keepNote(queue.draft.peek() ?? "");
    else queue.draft.value = null;
    card?.focus({ preventScroll: true });
  };
  const onKeyDown = (event: KeyboardEvent) => {
    event.stopPropagation();
    if (event.isComposing || (event.key !== "Enter" && event.key !== "Escape")) return;
    event.preventDefault();
    leave(event.key === "Enter");
  };
  return (
    <span class="line note">
      <input type="text" ref={field} aria-label="Note to this row" maxLength={10_000} value={text} onInput={(event) => { queue.draft.value = event.currentTarget.value; }} onKeyDown={onKeyDown} />
      <span class="hint">Enter saves it</span>
    </span>
  );
}

/** The card's id, why a key had no effect, and the kernel's message. */
function Said({ label, card, queue }: { label: LabelData | null; card: Card | undefined; queue: LabelQueue }) {
  const { text, count } = queue.refusal.value;
  return (
    <div class="said" role="status">
      {text && <p key={count} class="refused"><Icon name="wait" small /> {text}</p>}
      {label?.message && <p>{label.message}</p>}
      <span class="unseen">{card ? `card ${card.id}` : ""}</span>
    </div>
  );
}

/** The visible part of the next card under the current one. */
export function CardAhead({ card }: { card: Card }) {
  const answer = withCompletion(card.turns).at(-1);
  return <p class="ahead cut" aria-hidden="true">{oneLine(answer ? plain(answer.text) : "") || "(empty)"}</p>;
}
