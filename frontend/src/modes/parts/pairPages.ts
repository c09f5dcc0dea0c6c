/** Pages of a list that is loaded in windows from the kernel, cached for one revision. */

import { signal } from "@preact/signals";
import type { Link } from "../../link.ts";
import type { Pair } from "../../protocol.ts";

/** Pairs of one request. */
export const WINDOW = 30;

export interface Pages {
  revision: number;
  windows: ReadonlyMap<number, Pair[]>; // by the number of the window
  failed: boolean; // a window could not be read
}

export class PairPages {
  /** The shown windows: of an older revision until the first window of the new one has arrived. */
  readonly shown = signal<Pages>({ revision: -1, windows: new Map(), failed: false });
  private asked = new Set<string>();
  private wanted = -1;

  constructor(private readonly link: Link) {}

  /** Load missing windows of a revision. */
  want(revision: number, windows: number[]): void {
    if (revision !== this.wanted) {
      this.wanted = revision;
      this.asked.clear();
    }
    for (const at of windows) void this.read(revision, at);
  }

  retry(): void {
    this.asked.clear();
    this.shown.value = { ...this.shown.peek(), failed: false };
  }

  private async read(revision: number, at: number): Promise<void> {
    const name = `${revision}:${at}`;
    if (this.asked.has(name)) return;
    this.asked.add(name);
    try {
      const pairs = await this.link.ask<Pair[]>({ ask: "pairs", start: at * WINDOW, stop: (at + 1) * WINDOW, revision });
      this.take(revision, at, pairs);
    } catch {
      if (revision === this.wanted) this.shown.value = { ...this.shown.peek(), failed: true };
    }
  }

  /** Replies for an outdated revision are dropped. */
  private take(revision: number, at: number, pairs: Pair[]): void {
    if (revision !== this.wanted) return;
    const { shown } = this;
    const known = shown.peek().revision === revision ? shown.peek().windows : [];
    shown.value = { revision, windows: new Map([...known, [at, pairs]]), failed: false };
  }
}

/** The positions of a list's windows, by their measured heights. */
export interface Layout {
  first: number;
  last: number; // of the windows to draw
  above: number;
  below: number; // pixels of the windows that are not drawn
}

/** The visible windows, and one on each side. */
export function layout(count: number, heights: ReadonlyMap<number, number>, guess: number, top: number, height: number): Layout {
  const windows = Math.ceil(count / WINDOW);
  const of = (at: number) => heights.get(at) ?? guess * Math.min(WINDOW, count - at * WINDOW);
  let first = 0;
  let above = 0;
  while (first < windows - 1 && above + of(first) <= top) above += of(first++);
  let last = first;
  let bottom = above + of(first);
  while (last < windows - 1 && bottom < top + height) bottom += of(++last);
  if (first > 0) above -= of(--first);
  if (last < windows - 1) last += 1;
  let below = 0;
  for (let at = last + 1; at < windows; at += 1) below += of(at);
  return { first, last, above, below };
}
