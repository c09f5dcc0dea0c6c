/** The rows as a grid: only visible ones are drawn; arrows move the selected row, Enter opens it. */

import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { CellView } from "./Cells.tsx";
import { useCursor } from "./cursor.ts";
import { layoutOf } from "./layout.ts";
import type { ColumnInfo, Row, Table } from "./protocol.ts";
import { DENSE_ROW, orderOf, ROW, scrollTo, sightOf, type RowStore, type Sight } from "./rows.ts";
import { useWidth } from "./size.ts";
import { TableHead } from "./TableHead.tsx";
import { useLink } from "./context.ts";
import { useTell, useView } from "./view.ts";
import { count } from "./words.ts";

interface TableProps {
  table: Table;
  store: RowStore;
  read: () => void;
}

/** Height of the column headers in pixels. */
const HEAD = 26;
const FIRST_VIEW = 420;

export function RowsTable({ table, store, read }: TableProps) {
  const grid = useRef<HTMLDivElement>(null);
  const dense = useView().dense.value;
  const row = dense ? DENSE_ROW : ROW;
  const { top, view, follow } = useScroll(grid, orderOf(table));
  const [widths, setWidths] = useState<Record<string, number>>({});
  const cursor = useCursor(table, store);
  const reading = useLink().state.reader.value !== null;
  const tell = useTell();
  const shown = table.columns.filter((column) => column.shown);
  const { element: measured, width: available } = useWidth<HTMLDivElement>(0);
  const layout = layoutOf(shown, widths, table.first, available);
  const sight = useSight(table, store, top, view, row);
  useEffect(() => {
    const to = cursor.place < 0 ? null : scrollTo(cursor.place, table.count, grid.current?.scrollTop ?? 0, view, row);
    if (to !== null) follow(to);
  }, [cursor.place, cursor.moved, row, reading ? view : 0]); // the reader makes the table lower
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.target !== event.currentTarget || event.ctrlKey || event.metaKey || event.altKey) return;
    const page = Math.max(1, Math.floor(view / row) - 1);
    if (event.key === "Enter" && cursor.place >= 0) {
      if (!reading) cursor.select(cursor.place);
      read();
    } else if (event.key === "Escape" && reading) tell({ do: "select", row: null });
    else if (!cursor.press(event.key, page)) return;
    event.preventDefault();
    event.stopPropagation();
  };
  const places = Array.from({ length: sight.last - sight.first }, (_, at) => sight.first + at);
  const active = cursor.place >= sight.first && cursor.place < sight.last ? `${cursor.id}-${cursor.place}` : undefined;
  return (
    <div
      class={`scroll grid ${dense ? "dense" : ""}`} ref={grid} tabIndex={0} role="grid" aria-label={`Rows: ${table.title}`} aria-rowcount={table.count + 1} aria-colcount={shown.length}
      aria-activedescendant={active} aria-busy={table.busy} onKeyDown={onKeyDown} style={{ "--columns": layout.template, "--least": `${layout.least}px` }}
    >
      <div ref={measured} class="measure" aria-hidden="true" />
      <TableHead table={table} shown={shown} layout={layout} widths={widths} resize={setWidths} />
      <div class="rows" role="rowgroup" style={{ height: `${sight.height}px` }}>
        <div class="moved" role="presentation" style={{ transform: `translateY(${sight.offset}px)` }}>
          {places.map((place) => (
            <Line key={place} id={`${cursor.id}-${place}`} place={place} here={store.at(place)} columns={shown} numeric={layout.numeric} selected={place === cursor.place} select={cursor.select} />
          ))}
        </div>
      </div>
      {table.count === 0 && <p class="nothing mute">{table.search || table.filters.length ? "No row matches. Remove a filter, or change the search." : "No rows yet."}</p>}
    </div>
  );
}

/** The visible rows; missing ones are requested. */
function useSight(table: Table, store: RowStore, top: number, view: number, row: number): Sight {
  const sight = sightOf(table.count, top, view, row);
  void store.version.value;
  useEffect(() => store.need(sight.first, sight.last), [sight.first, sight.last, table.revision, table.count]);
  return sight;
}

/** The scroll position of the grid and its visible height; another order of rows starts at the top. */
function useScroll(grid: { current: HTMLDivElement | null }, order: string) {
  const [top, setTop] = useState(0);
  const [view, setView] = useState(FIRST_VIEW);
  useLayoutEffect(() => {
    const element = grid.current;
    if (!element) return;
    const scrolled = () => setTop(element.scrollTop);
    const sized = () => element.clientHeight && setView(element.clientHeight - HEAD);
    element.addEventListener("scroll", scrolled, { passive: true });
    const observer = typeof ResizeObserver === "undefined" ? null : new ResizeObserver(sized);
    observer?.observe(element);
    sized();
    return () => {
      element.removeEventListener("scroll", scrolled);
      observer?.disconnect();
    };
  }, []);
  const follow = (to: number) => {
    if (grid.current) grid.current.scrollTop = to;
    setTop(to);
  };
  useLayoutEffect(() => follow(0), [order]);
  return { top, view, follow };
}

interface LineProps {
  id: string;
  place: number;
  here: { row: Row; old: boolean } | null;
  columns: ColumnInfo[];
  numeric: Set<string>;
  selected: boolean;
  select: (place: number) => void;
}

function Line({ id, place, here, columns, numeric, selected, select }: LineProps) {
  return (
    <div id={id} role="row" class={`tab tr ${here?.old ? "old" : ""}`} aria-rowindex={place + 2} aria-selected={selected} onClick={() => select(place)}>
      {columns.map((column, at) => (
        <span key={column.key} role="gridcell" aria-colindex={at + 1} class={`cell ${column.kind} ${numeric.has(column.key) ? "num" : ""}`}>
          {here ? <CellView cell={here.row.cells[at]} kind={column.kind} numeric={numeric.has(column.key)} /> : at === 0 && <span class="faint coming" title={`row ${count(place + 1)}`}>…</span>}
        </span>
      ))}
    </div>
  );
}
