/** What can be taken along: the view under a name, its code, the figure, the rows. */

import { useState } from "preact/hooks";
import { copyText, saveFigure, saveRows } from "./download.ts";
import { Icon } from "./Icon.tsx";
import { Item, Menu, Popover } from "./Popover.tsx";
import { useTell, useView } from "./view.ts";

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
  const { head, chosen, code } = link.state;
  const [naming, setNaming] = useState(false);
  const after = (act: () => unknown) => () => {
    act();
    close();
  };
  const hasFigure = chosen.value.scores !== null;
  if (naming) return <NameView close={close} />;
  return (
    <Menu label="Take along">
      <Item act={() => setNaming(true)}>Save this view as…</Item>
      {head.value.views.map((name) => (
        <Item key={name} act={after(() => tell({ do: "open_view", name }))}>Open “{name}”</Item>
      ))}
      <hr />
      <Item act={after(() => copyText(code.peek()))} disabled={!code.value}>Copy this view as code</Item>
      <Item act={after(() => saveFigure(view, "svg"))} disabled={!hasFigure}>Download the figure as SVG</Item>
      <Item act={after(() => saveFigure(view, "png"))} disabled={!hasFigure}>Download the figure as PNG</Item>
      <Item act={after(() => saveRows(link))}>Download these rows as CSV</Item>
    </Menu>
  );
}

function NameView({ close }: { close: () => void }) {
  const tell = useTell();
  const [name, setName] = useState("");
  const save = (event: Event) => {
    event.preventDefault();
    if (!name.trim()) return;
    tell({ do: "save_view", name: name.trim() });
    close();
  };
  return (
    <form class="naming" onSubmit={save}>
      <input type="text" aria-label="name of the view" placeholder="name" value={name} ref={(field) => field?.focus()} onInput={(event) => setName(event.currentTarget.value)} />
      <button type="submit" class="btn" disabled={!name.trim()}>Save</button>
    </form>
  );
}
