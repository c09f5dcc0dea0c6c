/**
 * Cards to decide, answered in the page at once.
 *
 * The kernel's word is the base: its cards, its counts, and the last action it has dealt with (`heard`). What this page
 * has sent since is played over it again whenever the kernel speaks, so that no decision is shown twice or lost, and
 * the card that is being read stays where it is.
 */

import { effect, signal } from "@preact/signals";
import type { Link } from "../../link.ts";
import type { Card, LabelData } from "../../protocol.ts";

export type Decision = "good" | "bad" | "skip";

/** An action that the kernel may not have dealt with. */
export interface Sent {
  turn: number;
  action: Decision | "undo" | "note";
  card: Card | null; // null for an undo of a decision that was made before this page opened
  undone?: Decision; // of an undo: what was decided
}

export class LabelQueue {
  /** Cards to decide, the one in sight first. */
  readonly cards = signal<Card[]>([]);
  /** Actions not yet heard by the kernel, oldest first. */
  readonly sent = signal<Sent[]>([]);
  /** What is being typed as a note, null while nobody does. */
  readonly draft = signal<string | null>(null);
  /** What became of the last key where it could not act. */
  readonly refusal = signal({ text: "", count: 0 });

  private turn = 0;
  private decided: { card: Card; action: Decision }[] = []; // what `undo` can bring back by itself, newest last
  private name = ""; // which queue this is
  private past = 0;

  constructor(private readonly link: Link) {
    effect(() => this.hear(link.state.label.value));
  }

  /** The decision goes out and the next card is there. False where there is no card to decide. */
  decide(action: Decision): boolean {
    const [card, ...rest] = this.current() ? this.cards.peek() : [];
    if (!card) return this.refuse("no card yet: this key was not used");
    const note = this.draft.peek() ?? card.note;
    this.draft.value = null;
    this.refusal.value = { text: "", count: 0 };
    this.send({ action, card: { ...card, note } }, note);
    this.decided.push({ card: { ...card, note }, action });
    this.cards.value = rest;
    return true;
  }

  /** Back to the card before. One that was decided before this page opened comes from the kernel. */
  undo(): boolean {
    if (this.waitsForUndo()) return this.refuse("reading the row before: this key was not used");
    const last = this.decided.pop();
    if (!last && !this.past) return this.refuse("nothing to undo");
    this.draft.value = null;
    this.send({ action: "undo", card: last?.card ?? null, undone: last?.action }, "");
    if (last) this.cards.value = [last.card, ...this.cards.peek()];
    return true;
  }

  /** Keep a note of the card in sight; its decision takes it along. */
  keepNote(note: string): void {
    const [card, ...rest] = this.cards.peek();
    this.draft.value = null;
    if (!card || card.note === note) return;
    const noted = { ...card, note };
    this.send({ action: "note", card: noted }, note);
    this.cards.value = [noted, ...rest];
  }

  /** Begin to write a note. */
  startNote(): boolean {
    const card = this.current();
    if (!card) return this.refuse("no card yet: this key was not used");
    this.draft.value ??= card.note;
    return true;
  }

  /** The card in sight; none while the queue has run out or an earlier row is being brought back. */
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
    this.link.tell({ do: "label", action: what.action, seq: what.card?.seq ?? -1, note, page, turn: this.turn });
  }

  /** Take the kernel's cards over, and play what it has not heard over them. */
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
    if (shown[0]?.row !== before?.row) this.draft.value = null;
    if (name !== this.name) this.decided = [];
    this.forgetOpen(label.cards, sent);
    this.name = name;
    this.past = label.past.length;
    this.sent.value = sent;
  }

  /** A card that the kernel still has was not decided there, so that there is nothing of it to undo. */
  private forgetOpen(cards: Card[], sent: Sent[]): void {
    const open = new Set(cards.map(({ row }) => row));
    const under = new Set(sent.map(({ card }) => card?.row));
    this.decided = this.decided.filter(({ card }) => under.has(card.row) || !open.has(card.row));
  }
}

/** Cards after some actions that the kernel has not heard. */
export function replay(cards: Card[], sent: Sent[]): Card[] {
  return sent.reduce((open, { action, card }) => {
    if (!card) return open;
    const others = open.filter(({ row }) => row !== card.row);
    if (action === "undo") return [card, ...others];
    return action === "note" ? open.map((each) => (each.row === card.row ? { ...each, note: card.note } : each)) : others;
  }, cards);
}

function keepFirst(cards: Card[], first: Card | undefined): Card[] {
  const found = first && cards.find(({ row }) => row === first.row);
  return found ? [found, ...cards.filter((card) => card !== found)] : cards;
}

export type Tally = Pick<LabelData, "done" | "good" | "bad" | "skipped">;

const COUNTED = { good: "good", bad: "bad", skip: "skipped" } as const;

/** The kernel's counts and what is still to be stored. */
export function tally(label: LabelData, sent: Sent[]): Tally {
  const { done, good, bad, skipped } = label;
  const counts = { done, good, bad, skipped };
  for (const { action, undone } of sent) {
    const decision = action === "undo" ? undone : action;
    if (!decision || decision === "note") continue;
    const step = action === "undo" ? -1 : 1;
    counts[COUNTED[decision]] += step;
    counts.done += step;
  }
  return counts;
}

const queues = new WeakMap<Link, LabelQueue>();

/** The queue of a page: it outlives the mode, so that what is not yet stored is not forgotten with it. */
export function queueOf(link: Link): LabelQueue {
  const queue = queues.get(link) ?? new LabelQueue(link);
  queues.set(link, queue);
  return queue;
}
