/** Tags of a row while it is labelled: chosen by number or typed; and how often each was given. */

import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { useLink } from "../../context.ts";
import { Icon } from "../../Icon.tsx";
import type { Card, LabelData } from "../../protocol.ts";
import { NO_KEYS } from "./labelKeys.ts";
import type { LabelQueue } from "./labelQueue.ts";

type Tag = LabelData["tags"][number];

interface LineProps {
  label: LabelData;
  card: Card;
  queue: LabelQueue;
}

/** Tags that a number chooses: 1 to 9. */
const NUMBERED = 9;
/** Characters of a tag. */
const LONGEST = 60;

export function TagLine({ label, card, queue }: LineProps) {
  const key = (label.keys ?? NO_KEYS).tag;
  const remove = (tag: string) => (event: MouseEvent) => {
    (event.currentTarget as Element).closest<HTMLElement>(".label-card")?.focus({ preventScroll: true });
    queue.setTags(card.tags.filter((each) => each !== tag));
  };
  return (
    <div class="tags line" role="group" aria-label="Tags of this row">
      {card.tags.map((tag) => (
        <span class="chip" key={tag}>
          <span class="cut" title={tag}>{tag}</span>
          <button type="button" class="remove" aria-label={`remove the tag ${tag}`} title="Remove this tag" onClick={remove(tag)}><Icon name="cross" small /></button>
        </span>
      ))}
      {queue.tagging.value ? <TagField label={label} card={card} queue={queue} key={card.row} /> : (
        <button type="button" class="chip new" aria-keyshortcuts={key} onClick={() => queue.startTag()}>
          <Icon name="plus" small />Tag <kbd aria-hidden="true">{key}</kbd>
        </button>
      )}
    </div>
  );
}

/** Known tags that contain the typed words, without those that the row has. */
export function fitting(tags: Tag[], typed: string, taken: string[]): string[] {
  const words = typed.trim().toLowerCase();
  return tags.map(({ name }) => name).filter((name) => !taken.includes(name) && name.toLowerCase().includes(words)).slice(0, NUMBERED);
}

function TagField({ label, card, queue }: LineProps) {
  const field = useRef<HTMLInputElement>(null);
  const [text, setText] = useState("");
  const [place, setPlace] = useState(-1); // of the marked tag; -1 for the typed text
  const offered = fitting(label.tags, text, card.tags);
  useLayoutEffect(() => field.current?.focus({ preventScroll: true }), []); // before the next key
  const leave = () => {
    const around = field.current?.closest<HTMLElement>(".label-card");
    queue.tagging.value = false;
    around?.focus({ preventScroll: true });
  };
  const add = (tag: string | undefined) => {
    const name = tag?.trim();
    const known = label.tags.find((each) => each.name.toLowerCase() === name?.toLowerCase())?.name ?? name;
    if (known && !card.tags.includes(known)) queue.setTags([...card.tags, known]);
    leave();
  };
  const onKeyDown = (event: KeyboardEvent) => {
    event.stopPropagation();
    if (event.isComposing || event.ctrlKey || event.metaKey || event.altKey) return;
    const act = keyOf(event.key, { text, offered, place, add, leave, setPlace });
    if (!act) return;
    event.preventDefault();
    act();
  };
  const id = `tag-${card.row}`;
  return (
    <span class="tag-field">
      <input
        type="text" ref={field} aria-label="Tag for this row" placeholder="new tag, or a number" maxLength={LONGEST} value={text} spellcheck={false} autocomplete="off"
        role="combobox" aria-expanded={offered.length > 0} aria-controls={id} aria-activedescendant={place >= 0 ? `${id}-${place}` : undefined}
        onInput={(event) => (setText(event.currentTarget.value), setPlace(-1))} onKeyDown={onKeyDown}
      />
      <span class="offered" role="listbox" id={id} aria-label="Known tags">
        {offered.map((tag, at) => (
          <button type="button" class="chip" role="option" tabIndex={-1} aria-selected={at === place} id={`${id}-${at}`} key={tag} onClick={() => add(tag)}>
            {!text && <kbd aria-hidden="true">{at + 1}</kbd>}<span class="cut">{tag}</span>
          </button>
        ))}
      </span>
    </span>
  );
}

interface FieldState {
  text: string;
  offered: string[];
  place: number;
  add: (tag: string | undefined) => void;
  leave: () => void;
  setPlace: (place: number) => void;
}

/** What a key does in the field; null for a key that types. */
function keyOf(key: string, { text, offered, place, add, leave, setPlace }: FieldState): (() => void) | null {
  const number = Number(key);
  if (!text && number >= 1 && number <= offered.length) return () => add(offered[number - 1]);
  if (key === "Enter") return () => add(place >= 0 ? offered[place] : text);
  if (key === "Escape") return leave;
  const step = { ArrowDown: 1, ArrowUp: -1, ArrowRight: text ? 0 : 1, ArrowLeft: text ? 0 : -1 }[key];
  return step ? () => setPlace(Math.max(-1, Math.min(offered.length - 1, place + step))) : null;
}

/** How often each tag was given, by label; a click shows its rows. */
export function TagChart({ tags }: { tags: Tag[] }) {
  const link = useLink();
  const most = Math.max(...tags.map(({ count }) => count), 1);
  const open = (tag: Tag) => {
    link.tell({ do: "look", where: tag.where });
    link.tell({ do: "mode", mode: "grade" });
  };
  return (
    <section class="tag-chart" aria-label="Tags">
      <div class="head past-head">
        <h3>Tags</h3>
        <span class="grow" />
        <span class="tiny faint">click one: its rows</span>
      </div>
      {tags.map((tag) => (
        <button type="button" class="tag-bar" key={tag.name} title={describe(tag)} aria-label={`${tag.name}: ${describe(tag)}: show them`} onClick={() => open(tag)}>
          <span class="cut">{tag.name}</span>
          <span class="track" aria-hidden="true">
            {(["bad", "good", "skipped"] as const).map((part) => tag[part] > 0 && <i key={part} class={part} style={{ width: `${(100 * tag[part]) / most}%` }} />)}
          </span>
          <b class="num">{tag.count.toLocaleString("en")}</b>
        </button>
      ))}
    </section>
  );
}

function describe({ bad, good, skipped, differ }: Tag): string {
  const parts = [[bad, "bad"], [good, "good"], [skipped, "skipped"]].filter(([count]) => count).map((part) => part.join(" "));
  return `${parts.join(", ")}${differ ? `; the grader differs on ${differ}` : ""}`;
}
