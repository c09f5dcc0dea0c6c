/** Ways to add a grader: a template, a file, a cell. */

import { useRef, useState } from "preact/hooks";
import { useLink } from "./context.ts";
import { Icon } from "./Icon.tsx";
import { Item, Menu, Popover } from "./Popover.tsx";
import type { Starter } from "./protocol.ts";
import { useTell } from "./view.ts";

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
  const tell = useTell();
  const add = ({ text, name }: Starter) => {
    tell({ do: "add", text, name });
    close();
  };
  if (way === "template") return <Templates pick={add} />;
  if (way === "cell") return <p class="explained small"><AboutCells /></p>;
  return (
    <Menu label="Add a grader">
      <Item act={() => setWay("template")}><Icon name="pen" />A template…</Item>
      <FileItem done={close} />
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

function FileItem({ done }: { done: () => void }) {
  const { input, open } = useGraderFile(done);
  return <><Item act={open}><Icon name="file" />A file…</Item>{input}</>;
}

/** Maximum size of a file in bytes: the kernel would refuse a larger one, so its text is not sent. */
const LARGEST = 4_000_000;

/** A hidden file field and a function that opens it: files are sent together as texts, since one may name another. */
export function useGraderFile(done: () => void) {
  const field = useRef<HTMLInputElement>(null);
  const tell = useTell();
  const read = async (event: Event) => {
    const input = event.currentTarget as HTMLInputElement;
    const read = async (file: File) => ({ name: file.name, text: file.size > LARGEST ? "" : await file.text(), size: file.size });
    const files = await Promise.all([...(input.files ?? [])].map(read));
    input.value = ""; // the same file can be opened again
    if (files.length) tell({ do: "add_files", files });
    done();
  };
  const input = <input ref={field} type="file" hidden multiple aria-label="file of graders" onChange={read} />;
  return { input, open: () => field.current?.click() };
}
