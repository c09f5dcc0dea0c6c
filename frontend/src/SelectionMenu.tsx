/** Menu of selections: save which rows are shown, open a saved selection, copy its code, show all rows. */

import { useEffect, useState } from "preact/hooks";
import { copyText } from "./download.ts";
import { Icon } from "./Icon.tsx";
import { NameField } from "./MoreMenu.tsx";
import { Item, Menu, Popover } from "./Popover.tsx";
import type { SavedSelection, Table } from "./protocol.ts";
import { useTell, useView } from "./view.ts";
import { count } from "./words.ts";

export function SelectionMenu({ table }: { table: Table }) {
  return (
    <Popover side="right" around="selections" class="btn plain" label="Selections" button={<>Selections<Icon name="down" small /></>}>
      {(close) => <Entries table={table} close={close} />}
    </Popover>
  );
}

function Entries({ table, close }: { table: Table; close: () => void }) {
  const { link, tell } = useView();
  const { saved, remove } = useSaved();
  const [naming, setNaming] = useState(false);
  const narrowed = table.filters.length > 0 || table.search !== "";
  const after = (act: () => unknown) => () => {
    act();
    close();
  };
  if (naming) return <NameField what="selection" close={close} save={(name) => tell({ do: "save_selection", name })} />;
  const all = () => {
    tell({ do: "search", text: "" });
    tell({ do: "look", where: [] });
  };
  return (
    <Menu label="Selections">
      <Item disabled={!narrowed} act={() => setNaming(true)}>Save these rows as…</Item>
      <Item disabled={!narrowed} act={after(async () => copyText(await link.ask<string>({ ask: "selection_code" })))}>Copy as code</Item>
      <Item disabled={!narrowed} act={after(all)}><span class="grow">Show all rows</span><kbd>x</kbd></Item>
      {saved.length > 0 && <hr />}
      {saved.map(({ name, count: rows }) => (
        <div class="saved" key={name}>
          <Item disabled={rows < 0} act={after(() => tell({ do: "open_selection", name }))}><span class="cut grow" title={name}>{name}</span><span class="faint">{rows < 0 ? "other graders" : count(rows)}</span></Item>
          <button type="button" class="btn icon plain" aria-label={`delete the selection ${name}`} title="Delete this selection" onClick={() => remove(name)}><Icon name="cross" small /></button>
        </div>
      ))}
    </Menu>
  );
}

/** Selections saved for these rows, read when the menu opens, because a cell may have saved one. */
function useSaved(): { saved: SavedSelection[]; remove: (name: string) => void } {
  const { link } = useView();
  const tell = useTell();
  const [saved, setSaved] = useState<SavedSelection[]>([]);
  useEffect(() => {
    link.ask<SavedSelection[]>({ ask: "selections" }).then(setSaved, () => setSaved([]));
  }, []);
  const remove = (name: string) => {
    tell({ do: "delete_selection", name });
    setSaved(saved.filter((each) => each.name !== name));
  };
  return { saved, remove };
}
