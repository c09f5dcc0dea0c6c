/** Menu to save or copy: the view under a name, its code, the figure, the rows. */

import { useEffect, useState } from "preact/hooks";
import { copyText, saveFigure, saveRows } from "./download.ts";
import { Icon } from "./Icon.tsx";
import { Item, Menu, Popover } from "./Popover.tsx";
import { useView } from "./view.ts";

export function MoreMenu() {
  return (
    <Popover side="right" class="btn icon plain" name="more: save this view, its code, figure, rows" label="More" button={<Icon name="more" />}>
      {(close) => <Entries close={close} />}
    </Popover>
  );
}

function Entries({ close }: { close: () => void }) {
  const view = useView();
  const { link, tell } = view;
  const { chosen } = link.state;
  const { names, remove } = useSavedViews();
  const [naming, setNaming] = useState(false);
  const after = (act: () => unknown) => () => {
    act();
    close();
  };
  const hasFigure = chosen.value.scores !== null;
  if (naming) return <NameField what="view" close={close} save={(name) => tell({ do: "save_view", name })} />;
  return (
    <Menu label="Save and copy">
      <Item act={() => setNaming(true)}>Save this view as…</Item>
      {names.map((name) => (
        <div class="saved" key={name}>
          <Item act={after(() => tell({ do: "open_view", name }))}>Open “{name}”</Item>
          <button type="button" class="btn icon plain" aria-label={`delete the saved view ${name}`} title="Delete this saved view" onClick={() => remove(name)}><Icon name="cross" small /></button>
        </div>
      ))}
      <hr />
      <Item act={after(async () => copyText(await link.ask<string>({ ask: "view_code" })))}>Copy this view as code</Item>
      <Item act={after(() => saveFigure(view, "svg"))} disabled={!hasFigure}>Download the figure as SVG</Item>
      <Item act={after(() => saveFigure(view, "png"))} disabled={!hasFigure}>Download the figure as PNG</Item>
      <Item act={after(() => saveRows(link))}>Download these rows as CSV</Item>
    </Menu>
  );
}

/** Views saved for these rows, read when the menu opens, because another notebook may have saved one. */
function useSavedViews(): { names: string[]; remove: (name: string) => void } {
  const { link, tell } = useView();
  const [names, setNames] = useState<string[]>([]);
  useEffect(() => {
    link.ask<string[]>({ ask: "views" }).then(setNames, () => setNames([]));
  }, []);
  const remove = (name: string) => {
    tell({ do: "delete_view", name });
    setNames(names.filter((each) => each !== name));
  };
  return { names, remove };
}

/** A field for the name under which something is saved. */
export function NameField({ what, close, save: keep }: { what: string; close: () => void; save: (name: string) => void }) {
  const [name, setName] = useState("");
  const save = (event: Event) => {
    event.preventDefault();
    if (!name.trim()) return;
    keep(name.trim());
    close();
  };
  return (
    <form class="naming" onSubmit={save}>
      <input type="text" aria-label={`name of the ${what}`} placeholder="name" value={name} ref={(field) => field?.focus()} onInput={(event) => setName(event.currentTarget.value)} />
      <button type="submit" class="btn" disabled={!name.trim()}>Save</button>
    </form>
  );
}
