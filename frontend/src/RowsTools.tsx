/** Controls that narrow the rows: filters as chips, a search; and the menu of columns. */

import { useEffect, useRef, useState } from "preact/hooks";
import { ColumnsMenu } from "./ColumnsMenu.tsx";
import { FilterMenu } from "./FilterMenu.tsx";
import { Icon } from "./Icon.tsx";
import type { Table } from "./protocol.ts";
import { useTell } from "./view.ts";
import { counted } from "./words.ts";

/** Milliseconds after the last key of a search. */
export const SEARCH_PAUSE = 150;

export function RowsTools({ table }: { table: Table }) {
  const tell = useTell();
  return (
    <div class="tools">
      {table.filters.map(({ id, text }) => (
        <span class="chip" key={id}>
          <span class="cut" title={text}>{text}</span>
          <button type="button" class="remove" aria-label={`remove the filter ${text}`} title="Remove this filter" onClick={() => tell({ do: "unfilter", chip: id })}><Icon name="cross" small /></button>
        </span>
      ))}
      <FilterMenu table={table} />
      <Search table={table} />
      <ColumnsMenu table={table} />
    </div>
  );
}

function Search({ table }: { table: Table }) {
  const tell = useTell();
  const [words, setWords] = useState(table.search);
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  const sent = useRef(table.search);
  const typed = useRef(table.search); // before it is drawn: a table that arrives meanwhile must not undo a key
  const send = (text: string) => {
    clearTimeout(timer.current);
    typed.current = sent.current = text;
    tell({ do: "search", text });
  };
  const type = (text: string) => {
    typed.current = text;
    setWords(text);
    clearTimeout(timer.current);
    timer.current = setTimeout(() => send(text), SEARCH_PAUSE);
  };
  // A click on a finding ends a search: the field follows, but not while it has unsent text.
  useEffect(() => {
    if (typed.current === sent.current) setWords((typed.current = sent.current = table.search));
  }, [table.search, table.revision]);
  useEffect(() => () => clearTimeout(timer.current), []);
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === "Enter") send(words);
    else if (event.key === "Escape" && words) (setWords(""), send(""));
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  return (
    <label class="search grow">
      <Icon name="find" />
      <input type="search" aria-label="search these rows" placeholder={`Search ${counted(table.count, "row")}`} value={words} onInput={(event) => type(event.currentTarget.value)} onKeyDown={onKeyDown} />
    </label>
  );
}
