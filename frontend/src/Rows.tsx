/** The rows for the last click: their title, filters and search, the table, the reader of one row. */

import type { ComponentChildren } from "preact";
import { useLayoutEffect, useMemo, useRef } from "preact/hooks";
import { useLink } from "./context.ts";
import { focusOf } from "./focus.ts";
import { Reader } from "./Reader.tsx";
import { RowMap } from "./RowMap.tsx";
import { RowStore } from "./rows.ts";
import { RowsTable } from "./RowsTable.tsx";
import { RowsTools } from "./RowsTools.tsx";
import { SelectionMenu } from "./SelectionMenu.tsx";
import { useView } from "./view.ts";

export function Rows({ handle }: { handle?: ComponentChildren }) {
  const link = useLink();
  const view = useView();
  const table = link.state.table.value;
  const reader = link.state.reader.value;
  const store = useMemo(() => new RowStore(link), [link]);
  const part = useRef<HTMLElement>(null);
  const find = (what: string) => part.current?.querySelector<HTMLElement>(what);
  // Enter may come before the kernel has sent the row: the reader then takes the focus when it comes.
  const wanted = useRef(false);
  const read = () => {
    find(".reader .text")?.focus();
    wanted.current = !reader;
  };
  useLayoutEffect(() => {
    const grid = find(".grid");
    if (reader && wanted.current && grid && focusOf(grid) === grid) find(".reader .text")?.focus();
    if (reader) wanted.current = false;
  }, [reader]);
  store.show(table);
  return (
    <section class={`part-rows ${reader ? "reading" : ""}`} aria-label="Rows" ref={part}>
      {handle}
      <div class="head">
        <h2 class="cut" title={table.title}>{table.title}</h2>
        <span class="small faint grow cut">{table.note}</span>
        <button type="button" class="btn plain" aria-pressed={view.map.value} title="Similar rows near each other (p)" onClick={() => view.showMap(!view.map.peek())}>Map</button>
        <SelectionMenu table={table} />
        {table.busy && <span class="small faint" role="status" title="Search and sorting by text wait for this.">reading the texts …</span>}
      </div>
      <RowsTools table={table} />
      {view.map.value && <RowMap table={table} />}
      <RowsTable table={table} store={store} read={read} />
      {reader && <Reader reader={reader} store={store} leave={() => find(".grid")?.focus()} />}
    </section>
  );
}
