/** The rows of the table that this page has: the first arrive with the table, others are requested in windows. */

import { signal } from "@preact/signals";
import type { Link } from "./link.ts";
import type { Row, Table } from "./protocol.ts";

/** Rows of one request. */
export const WINDOW = 60;

export class RowStore {
  /** Counts replies, so that the table is drawn again. */
  readonly version = signal(0);
  private table: Table | null = null;
  private rows = new Map<number, Row>();
  private before = new Map<number, Row>();
  private readonly asked = new Set<number>();

  constructor(private readonly link: Link) {}

  /** Use a table; rows of another state of it are shown as outdated until the new ones arrive. */
  show(table: Table): void {
    if (table === this.table) return;
    const other = table.revision !== this.table?.revision;
    const same = this.table && orderOf(table) === orderOf(this.table) && table.count === this.table.count && shownOf(table) === shownOf(this.table);
    if (other) {
      this.before = same ? new Map([...this.before, ...this.rows]) : new Map();
      this.rows = new Map();
      this.asked.clear();
    }
    this.table = table;
    table.first.forEach((row, at) => this.rows.set(at, row));
  }

  /** The row at a position, and whether it is outdated; null if it is missing. */
  at(place: number): { row: Row; old: boolean } | null {
    const row = this.rows.get(place);
    if (row) return { row, old: false };
    const old = this.before.get(place);
    return old ? { row: old, old: true } : null;
  }

  /** Request the missing windows around these positions, unless already requested. */
  need(start: number, stop: number): void {
    const end = Math.min(stop, this.table?.count ?? 0);
    for (let at = Math.floor(Math.max(0, start) / WINDOW); at * WINDOW < end; at += 1) {
      if (!this.asked.has(at) && !this.has(at, end)) void this.ask(at);
    }
  }

  /** The row at a position, requested if missing; null if the table has changed meanwhile. */
  async row(place: number): Promise<Row | null> {
    const { table } = this;
    if (!this.rows.has(place)) await this.ask(Math.floor(place / WINDOW));
    return this.table?.revision === table?.revision ? (this.rows.get(place) ?? null) : null;
  }

  private has(window: number, end: number): boolean {
    const stop = Math.min((window + 1) * WINDOW, end);
    for (let at = window * WINDOW; at < stop; at += 1) if (!this.rows.has(at)) return false;
    return true;
  }

  private async ask(window: number): Promise<void> {
    const { table } = this;
    if (!table) return;
    this.asked.add(window);
    const start = window * WINDOW;
    const stop = Math.min(start + WINDOW, table.count);
    const { revision } = table;
    try {
      const rows = await this.link.ask<Row[]>({ ask: "rows", start, stop, revision });
      if (this.table?.revision !== revision) return;
      rows.forEach((row, at) => this.rows.set(start + at, row));
    } catch {
      // Requested again when it is visible again.
    }
    if (this.table?.revision === revision) this.asked.delete(window);
    this.version.value += 1;
  }
}

/** The inputs of the order of rows: if they change, the table starts at its top. */
export function orderOf({ filters, search, sort }: Table): string {
  return JSON.stringify([filters.map(({ id }) => id), search, sort]);
}

function shownOf({ columns }: Table): string {
  return columns.filter(({ shown }) => shown).map(({ key }) => key).join("\n");
}

/** Height in pixels of a row with two lines, and with one. */
export const ROW = 42;
export const DENSE_ROW = 27;
/** Maximum height of an element in browsers. */
const HIGHEST = 8_000_000;
/** Rows drawn above and below the visible ones. */
const SPARE = 6;

export interface Sight {
  height: number; // of all rows
  first: number;
  last: number; // one after the last that is drawn
  offset: number; // pixels above the first
}

/** Which rows to draw. A table higher than the maximum is scrolled in larger steps. */
export function sightOf(count: number, scrolled: number, view: number, row = ROW): Sight {
  const full = count * row;
  const height = Math.min(full, HIGHEST);
  const room = Math.max(1, height - view);
  const top = full === height ? scrolled : (Math.min(scrolled, room) / room) * (full - view);
  const first = Math.max(0, Math.floor(top / row) - SPARE);
  const last = Math.min(count, Math.ceil((top + view) / row) + SPARE);
  return { height, first, last, offset: first * row - top + scrolled };
}

/** The scroll position that makes a position visible; null if it is. */
export function scrollTo(place: number, count: number, scrolled: number, view: number, row = ROW): number | null {
  const full = count * row;
  const height = Math.min(full, HIGHEST);
  const scale = full === height ? 1 : (height - view) / (full - view);
  const top = scrolled / scale;
  if (place * row < top) return place * row * scale;
  if ((place + 1) * row > top + view) return ((place + 1) * row - view) * scale;
  return null;
}
