/** Shown without graders: a first text to edit, and other ways to start. */

import { useState } from "preact/hooks";
import { AboutCells, Templates } from "./AddMenu.tsx";
import { CodeBox } from "./CodeBox.tsx";
import { useLink } from "./context.ts";
import { Icon, type IconName } from "./Icon.tsx";
import type { Starter } from "./protocol.ts";
import { useTell, useView } from "./view.ts";
import { count } from "./words.ts";

const NOTHING: Starter = { id: "", title: "", text: "", name: "", note: "" };

export function Start() {
  const { starters, head } = useLink().state;
  const [picked, setPicked] = useState({ starter: null as Starter | null, revision: 0 });
  const starter = picked.starter ?? starters.value[0] ?? NOTHING;
  const [typed, setTyped] = useState<string | null>(null);
  const tell = useTell();
  const pick = (next: Starter) => {
    setPicked({ starter: next, revision: picked.revision + 1 });
    setTyped(null);
  };
  const start = () => tell({ do: "add", text: typed ?? starter.text, name: starter.name });
  return (
    <section class="mid start" aria-label="Start">
      <div class="head"><h2>Write your first rule</h2></div>
      <div class="scroll" tabIndex={-1}>
        <p class="lead">
          Describe a good completion in a few lines of code. It is graded on {count(head.value.drawn)} of your rows <b>while you type</b>, and you immediately
          see which good completions it rejects and which bad ones it accepts.
        </p>
        <CodeBox name="" text={starter.text} revision={picked.revision} language="python" editable error={null} kept={null} label="Text of the first grader" typed={setTyped} keep={start} />
        <div class="line begin">
          <button type="button" class="btn main" disabled={!(typed ?? starter.text).trim()} onClick={start}>Start with this text</button>
          <span class="small faint">or edit it first</span>
        </div>
        <h3>Or start from</h3>
        <Ways pick={pick} />
      </div>
    </section>
  );
}

function Ways({ pick }: { pick: (starter: Starter) => void }) {
  const [open, setOpen] = useState<"" | "template" | "cell">("");
  const { files } = useView();
  const toggle = (way: "template" | "cell") => setOpen(open === way ? "" : way);
  return (
    <div class="ways">
      <Way icon="pen" title="A template" note="exact match, pattern, JSON keys, a judge with your criteria" open={open === "template"} act={() => toggle("template")} />
      {open === "template" && <div class="within"><Templates pick={(starter) => (pick(starter), setOpen(""))} /></div>}
      <Way icon="file" title="A file" note="graders of any platform, or your rows; files can also be dropped anywhere here" act={() => files.choose()} />
      <Way icon="code" title="A cell" note="a grade function of this notebook" open={open === "cell"} act={() => toggle("cell")} />
      {open === "cell" && <p class="within small mute"><AboutCells /></p>}
    </div>
  );
}

function Way({ icon, title, note, open, act }: { icon: IconName; title: string; note: string; open?: boolean; act: () => void }) {
  return (
    <button type="button" class="way" aria-expanded={open} onClick={act}>
      <Icon name={icon} /><b>{title}</b><Icon name={open ? "down" : "right"} />
      <span class="mute small">{note}</span>
    </button>
  );
}
