/**
 * Cards to decide, handled by the page immediately.
 *
 * The kernel's state is the base: its cards, its counts, and the last action it has confirmed (`heard`). Later actions of
 * this page are applied to it again whenever it changes, so that no decision is shown twice or lost, and the card that is
 * being read remains.
 */

import { effect, signal } from "@preact/signals";
import type { Link } from "../../link.ts";
import type { Card, LabelData } from "../../protocol.ts";

export type Decision = "good" | "bad" | "skip" | "defer";

/** An action that the kernel may not have confirmed. */
export interface Sent {
  turn: number;
  action: Decision | "undo" | "note" | "tag";
  card: Card | null; // null for an undo of a decision that was made before this page opened
  undone?: Decision; // of an undo: what was decided
}

export class LabelQueue {
  /** Cards to decide, the one in sight first. */
  readonly cards = signal<Card[]>([]);
  /** Actions not yet confirmed by the kernel, oldest first. */
  readonly sent = signal<Sent[]>([]);
  /** The note being typed, null for none. */
  readonly draft = signal<string | null>(null);
  /** Whether a tag is being chosen. */
  readonly tagging = signal(false);
  /** Why the last key had no effect. */
  readonly refusal = signal({ text: "", count: 0 });

  private turn = 0;
  private decided: { card: Card; action: Decision }[] = []; // what `undo` can restore without the kernel, newest last
  private name = ""; // which queue this is
  private past = 0;

  constructor(private readonly link: Link) {
    effect(() => this.hear(link.state.label.value));
  }

  /** Send the decision and show the next card. False if there is no card to decide. */
  decide(action: Decision): boolean {
    const [card, ...rest] = this.current() ? this.cards.peek() : [];
    if (!card) return this.refuse("no card yet: key ignored");
    const note = this.draft.peek() ?? card.note;
    this.draft.value = null;
    this.tagging.value = false;
    this.refusal.value = { text: "", count: 0 };
    this.send({ action, card: { ...card, note } }, note);
    this.decided.push({ card: { ...card, note }, action });
    this.cards.value = rest;
    return true;
  }

  /** Return to the previous card. One that was decided before this page opened comes from the kernel. */
  undo(): boolean {
    if (this.waitsForUndo()) return this.refuse("reading the previous row: key ignored");
    const last = this.decided.pop();
    if (!last && !this.past) return this.refuse("nothing to undo");
    this.draft.value = null;
    this.tagging.value = false;
    this.send({ action: "undo", card: last?.card ?? null, undone: last?.action }, "");
    if (last) this.cards.value = [last.card, ...this.cards.peek()];
    return true;
  }

  /** Store a note for the current card; it is sent with the decision. */
  keepNote(note: string): void {
    const [card, ...rest] = this.cards.peek();
    this.draft.value = null;
    if (!card || card.note === note) return;
    const noted = { ...card, note };
    this.send({ action: "note", card: noted }, note);
    this.cards.value = [noted, ...rest];
  }

  /** Start typing a note. */
  startNote(): boolean {
    const card = this.current();
    if (!card) return this.refuse("no card yet: key ignored");
    this.tagging.value = false;
    this.draft.value ??= card.note;
    return true;
  }

  /** Start choosing a tag. */
  startTag(): boolean {
    if (!this.current()) return this.refuse("no card yet: key ignored");
    this.draft.value = null;
    this.tagging.value = true;
    return true;
  }

  /** Set the current card's tags; they are sent with the decision, too. */
  setTags(tags: string[]): void {
    const [card, ...rest] = this.cards.peek();
    if (!card) return;
    const tagged = { ...card, tags };
    this.send({ action: "tag", card: tagged }, card.note);
    this.cards.value = [tagged, ...rest];
  }

  /** The current card; none if the queue has run out or an earlier row is being restored. */
  current(): Card | undefined {
    return this.waitsForUndo() ? undefined : this.cards.value[0];
  }

  waitsForUndo(): boolean {
    return this.sent.value.some(({ action, card }) => action === "undo" && !card);
  }

  private refuse(text: string): false {
    this.refusal.value = { text, count: this.refusal.peek().count + 1 };
    return false;
  }

  private send(what: Omit<Sent, "turn">, note: string): void {
    this.turn += 1;
    this.sent.value = [...this.sent.peek(), { ...what, turn: this.turn }];
    const { page } = this.link;
    const { action, card } = what;
    this.link.tell({ do: "label", action, seq: card?.seq ?? -1, note, tags: card?.tags ?? [], page, turn: this.turn });
  }

  /** Take over the kernel's cards, and apply unconfirmed actions to them. */
  private hear(label: LabelData | null): void {
    if (!label) return;
    const awaited = this.sent.peek().some(({ action, card }) => action === "undo" && !card);
    const { page, turn } = label.heard;
    const sent = page === this.link.page ? this.sent.peek().filter((each) => each.turn > turn) : this.sent.peek();
    const name = JSON.stringify([label.order, label.grader, label.labeller]);
    const cards = replay(label.cards, sent);
    const stays = name === this.name && !awaited;
    const before = this.cards.peek()[0];
    const shown = stays ? keepFirst(cards, before) : cards;
    this.cards.value = shown;
    if (shown[0]?.row !== before?.row) {
      this.draft.value = null;
      this.tagging.value = false;
    }
    if (name !== this.name) this.decided = [];
    this.forgetOpen(label.cards, sent);
    this.name = name;
    this.past = label.past.length;
    this.sent.value = sent;
  }

  /** A card that the kernel still has was not decided there, so there is nothing to undo; a deferred one comes again. */
  private forgetOpen(cards: Card[], sent: Sent[]): void {
    const open = new Set(cards.map(({ row }) => row));
    const under = new Set(sent.map(({ card }) => card?.row));
    this.decided = this.decided.filter(({ card, action }) => action === "defer" || under.has(card.row) || !open.has(card.row));
  }
}

/** Cards after some unconfirmed actions. */
export function replay(cards: Card[], sent: Sent[]): Card[] {
  return sent.reduce((open, { action, card }) => {
    if (!card) return open;
    const others = open.filter(({ row }) => row !== card.row);
    if (action === "undo") return [card, ...others];
    if (action === "note" || action === "tag") return open.map((each) => (each.row === card.row ? { ...each, note: card.note, tags: card.tags } : each));
    return others;
  }, cards);
}

function keepFirst(cards: Card[], first: Card | undefined): Card[] {
  const found = first && cards.find(({ row }) => row === first.row);
  return found ? [found, ...cards.filter((card) => card !== found)] : cards;
}

export type Tally = Pick<LabelData, "done" | "good" | "bad" | "skipped" | "deferred">;

const COUNTED = { good: "good", bad: "bad", skip: "skipped", defer: "deferred" } as const;

/** The kernel's counts and those still to be stored. */
export function tally(label: LabelData, sent: Sent[]): Tally {
  const { done, good, bad, skipped, deferred } = label;
  const counts = { done, good, bad, skipped, deferred };
  for (const { action, undone } of sent) {
    const decision = action === "undo" ? undone : action;
    if (!decision || decision === "note" || decision === "tag") continue;
    const step = action === "undo" ? -1 : 1;
    counts[COUNTED[decision]] += step;
    if (decision !== "defer") counts.done += step;
  }
  return counts;
}

const queues = new WeakMap<Link, LabelQueue>();

/** The queue of a page: it outlives the mode, so that decisions which are not stored yet are not lost. */
export function queueOf(link: Link): LabelQueue {
  const queue = queues.get(link) ?? new LabelQueue(link);
  queues.set(link, queue);
  return queue;
}
