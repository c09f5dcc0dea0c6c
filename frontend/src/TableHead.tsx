/** The column headers: click to sort, drag the edge to resize. */

import type { ComponentChildren } from "preact";
import { useRef } from "preact/hooks";
import { Icon } from "./Icon.tsx";
import { moved, widthOf, type Layout } from "./layout.ts";
import type { ColumnInfo, Table } from "./protocol.ts";
import { useTell } from "./view.ts";

type Widths = Record<string, number>;

interface HeadProps {
  table: Table;
  shown: ColumnInfo[];
  layout: Layout;
  widths: Widths;
  resize: (widths: Widths) => void;
}

const KEY_STEP = 16;

export function TableHead({ table, shown, layout, widths, resize }: HeadProps) {
  const tell = useTell();
  const done = (after: Widths) =>
    tell({ do: "columns", columns: table.columns.map((column) => ({ key: column.key, shown: column.shown, width: after[column.key] ?? column.width })) });
  const nudge = (at: number, by: number) => {
    const after = moved(shown, widths, at, by);
    resize(after);
    done(after);
  };
  return (
    <div role="rowgroup" class="heads">
      <div class="tab th" role="row" aria-rowindex={1}>
        {shown.map((column, at) => (
          <ColumnHead key={column.key} column={column} at={at} table={table} num={layout.numeric.has(column.key)} nudge={(by) => nudge(at, by)}>
            <Edge from={() => widths} drag={(start, by) => resize(moved(shown, start, at, by))} drop={() => done(widths)} last={at === shown.length - 1 && widthOf(column, widths) > 0} />
          </ColumnHead>
        ))}
      </div>
    </div>
  );
}

interface ColumnHeadProps {
  column: ColumnInfo;
  at: number;
  table: Table;
  num: boolean;
  nudge: (by: number) => void;
  children: ComponentChildren;
}

function ColumnHead({ column: { key, title }, at, table: { sort }, num, nudge, children }: ColumnHeadProps) {
  const tell = useTell();
  const mine = sort.key === key;
  // Ascending, descending, and the original order.
  const next = mine && sort.descending ? { key: "", descending: false } : { key, descending: mine };
  const onKeyDown = (event: KeyboardEvent) => {
    const by = event.shiftKey ? { ArrowLeft: -KEY_STEP, ArrowRight: KEY_STEP }[event.key] : undefined;
    if (!by) return;
    event.preventDefault();
    event.stopPropagation();
    nudge(by);
  };
  return (
    <div role="columnheader" aria-colindex={at + 1} aria-sort={mine ? (sort.descending ? "descending" : "ascending") : "none"} class={num ? "num" : ""}>
      <button type="button" class="sort" title={`${title}: click to sort, Shift and arrows for its width`} onKeyDown={onKeyDown} onClick={() => tell({ do: "sort", ...next })}>
        <span class="cut">{title}</span>{mine && <Icon name={sort.descending ? "down" : "up"} small />}
      </button>
      {children}
    </div>
  );
}

interface EdgeProps {
  from: () => Widths;
  drag: (start: Widths, by: number) => void;
  drop: () => void;
  last: boolean;
}

/** The right edge of a column; the last one of a fixed width cannot be resized. */
function Edge({ from, drag, drop, last }: EdgeProps) {
  const start = useRef<{ x: number; widths: Widths } | null>(null);
  if (last) return null;
  return (
    <span
      class="edge" aria-hidden="true"
      onPointerDown={(event) => {
        event.currentTarget.setPointerCapture(event.pointerId);
        start.current = { x: event.clientX, widths: from() };
      }}
      onPointerMove={(event) => start.current && drag(start.current.widths, event.clientX - start.current.x)}
      onPointerUp={() => {
        start.current = null;
        drop();
      }}
    />
  );
}
