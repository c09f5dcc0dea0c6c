/** Ways to add a grader: a template, a file, a cell. */

import { useState } from "preact/hooks";
import { useLink } from "./context.ts";
import { Icon } from "./Icon.tsx";
import { Item, Menu, Popover } from "./Popover.tsx";
import type { Starter } from "./protocol.ts";
import { useView } from "./view.ts";

type Way = "" | "template" | "cell";

export function AddMenu() {
  return (
    <Popover side="right" name="Add a grader" label="Add a grader" button={<><Icon name="plus" />Add</>}>
      {(close) => <Ways close={close} />}
    </Popover>
  );
}

function Ways({ close }: { close: () => void }) {
  const [way, setWay] = useState<Way>("");
  const { tell, files } = useView();
  const add = ({ text, name }: Starter) => {
    tell({ do: "add", text, name });
    close();
  };
  if (way === "template") return <Templates pick={add} />;
  if (way === "cell") return <p class="explained small"><AboutCells /></p>;
  return (
    <Menu label="Add a grader">
      <Item act={() => setWay("template")}><Icon name="pen" />A template…</Item>
      <Item act={() => { close(); files.choose(); }}><Icon name="file" />A file…</Item>
      <Item act={() => setWay("cell")}><Icon name="code" />A cell…</Item>
    </Menu>
  );
}

export function AboutCells() {
  return <>Define it in any cell: put <span class="mono">@wb.grader</span> above the function and run the cell. It appears here immediately, and is updated whenever you run the cell.</>;
}

/** Templates for a new grader. */
export function Templates({ pick }: { pick: (starter: Starter) => void }) {
  const starters = useLink().state.starters.value;
  return (
    <Menu label="Templates">
      {starters.map((starter) => (
        <Item key={starter.id} act={() => pick(starter)}>
          <span class="two"><b>{starter.title}</b>{starter.note && <span class="tiny mute">{starter.note}</span>}</span>
        </Item>
      ))}
    </Menu>
  );
}
