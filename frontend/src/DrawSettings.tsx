/** Which rows are graded: how many, drawn how; and the budget for judges. */

import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { useLink } from "./context.ts";
import type { Draw } from "./protocol.ts";
import { useView } from "./view.ts";
import { count } from "./words.ts";

export function DrawSettings({ close }: { close: () => void }) {
  const head = useLink().state.head.value;
  const view = useView();
  const { tell } = view;
  const opened = view.link.state.files.value;
  const [draw, setDraw] = useState<Draw>(head.draw);
  const change = (part: Partial<Draw>) => setDraw({ ...draw, ...part });
  const whole = (name: keyof Draw, least: number) => (event: Event) =>
    change({ [name]: Math.max(least, Math.floor(Number((event.currentTarget as HTMLInputElement).value) || 0)) });
  const submit = (event: Event) => {
    event.preventDefault();
    tell({ do: "draw", draw });
    close();
  };
  return (
    <form class="settings" onSubmit={submit}>
      <Field name="Rows" note={`of ${count(head.total)}; 0 for all`}>
        <input type="number" min={0} max={head.total} value={draw.n} onInput={whole("n", 0)} />
      </Field>
      <Field name="Seed" note="the same seed draws the same rows">
        <input type="number" min={0} value={draw.seed} onInput={whole("seed", 0)} />
      </Field>
      <Field name="Evenly by" note="preserves each value's share">
        <select value={draw.by} onChange={(event) => change({ by: event.currentTarget.value })}>
          <option value="">no column</option>
          {head.strata.map((column) => <option key={column} value={column}>{column}</option>)}
        </select>
      </Field>
      <Field name="Repeats" note="times each row is graded">
        <input type="number" min={1} value={draw.repeats} onInput={whole("repeats", 1)} />
      </Field>
      {head.judges > 0 && (
        <Field name="Budget" note="US dollars; empty for no limit">
          <input type="text" inputMode="decimal" value={draw.budget} onInput={(event) => change({ budget: event.currentTarget.value })} />
        </Field>
      )}
      {head.can_map && <button type="button" class="link small" onClick={() => { tell({ do: "show_columns", on: true }); close(); }}>Choose columns …</button>}
      <button type="button" class="link small" onClick={() => { close(); view.files.choose(); }}>Open a file of rows or graders …</button>
      {opened?.undo && <button type="button" class="link small" onClick={() => { tell({ do: "undo_opening" }); close(); }}>Undo the opened file: {opened.undo}</button>}
      {head.plan && <p class="small mute plan">{head.plan}</p>}
      <div class="line"><button type="submit" class="btn main">Draw</button><button type="button" class="btn" onClick={close}>Cancel</button></div>
    </form>
  );
}

function Field({ name, note, children }: { name: string; note: string; children: ComponentChildren }) {
  return (
    <label class="field">
      <span>{name}</span>
      {children}
      <span class="tiny faint">{note}</span>
    </label>
  );
}
