/** The selected row of the table: moved immediately by keys and clicks, sent to the kernel, which replies with the reader. */

import { useEffect, useId, useRef, useState } from "preact/hooks";
import { useLink } from "./context.ts";
import type { Table } from "./protocol.ts";
import type { RowStore } from "./rows.ts";
import { useTell, useView } from "./view.ts";

/** Minimum milliseconds between two messages to the kernel while a key is pressed. */
export const OFTEN = 80;

export interface Cursor {
  id: string; // prefix of the rows' ids
  place: number; // -1 for none
  moved: number; // counts the moves of this page
  select: (place: number) => void;
  press: (key: string, page: number) => boolean;
}

export function useCursor(table: Table, store: RowStore): Cursor {
  const link = useLink();
  const reader = link.state.reader.value;
  const view = useView();
  const id = `${link.page}${useId()}`;
  const [mine, setMine] = useState({ place: -1, moved: 0, revision: -1, row: -2 });
  const told = useTold(store);
  // Until the reader shows the last move, the position is this page's; then it is the reader's.
  const waits = mine.revision === table.revision && mine.row !== reader?.row && told.pending();
  // Without a reader the position remains, so that keys continue from there.
  const rests = !reader && mine.revision === table.revision ? mine.place : -1;
  const place = waits ? mine.place : (reader?.at ?? rests);
  const select = (to: number) => {
    if (!table.count) return;
    const next = Math.max(0, Math.min(table.count - 1, to));
    setMine({ place: next, moved: mine.moved + 1, revision: table.revision, row: store.at(next)?.row.row ?? -2 });
    told.tell(next);
  };
  const press = (key: string, page: number) => {
    const to = { ArrowDown: place + 1, ArrowUp: place < 0 ? 0 : place - 1, PageDown: place + page, PageUp: place - page, Home: 0, End: table.count - 1 }[key];
    if (to !== undefined) select(to);
    return to !== undefined;
  };
  useEffect(() => {
    view.step = (by) => select(place + by);
    return () => void (view.step = null);
  });
  useEffect(() => told.heard(), [reader]);
  useEffect(() => {
    if (reader && reader.at >= 0) setMine((now) => ({ ...now, place: reader.at, revision: table.revision, row: reader.row }));
  }, [reader?.at, reader?.row, table.revision]);
  return { id, place, moved: mine.moved, select, press };
}

/** Sends the last of several quick moves to the kernel. */
function useTold(store: RowStore) {
  const tell = useTell();
  const state = useRef({ last: 0, waiting: false, place: -1, timer: undefined as ReturnType<typeof setTimeout> | undefined });
  useEffect(() => () => clearTimeout(state.current.timer), []);
  const now = async () => {
    const { place } = state.current;
    state.current.last = Date.now();
    const row = store.at(place)?.row ?? (await store.row(place));
    if (row && state.current.place === place) tell({ do: "select", row: row.row });
  };
  return {
    pending: () => state.current.waiting,
    heard: () => void (state.current.waiting = false),
    tell(place: number) {
      clearTimeout(state.current.timer);
      Object.assign(state.current, { place, waiting: true });
      const rest = state.current.last + OFTEN - Date.now();
      if (rest <= 0) void now();
      else state.current.timer = setTimeout(() => void now(), rest);
    },
  };
}
