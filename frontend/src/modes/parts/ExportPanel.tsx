/** The export settings: the selected platform, its settings, losses, Write. */

import { useRef, useState } from "preact/hooks";
import { Breakable } from "../../Breakable.tsx";
import { useLink } from "../../context.ts";
import { Icon, Meaning } from "../../Icon.tsx";
import type { ExportData, Shape } from "../../protocol.ts";
import { saveText } from "../../download.ts";
import { copyText } from "./copy.ts";
import { type Choice, counted, named, Notice, Select, Term } from "./words.tsx";

type Settings = Partial<ExportData["settings"]> & { file?: string };

export function ExportPanel({ data, file }: { data: ExportData; file: ExportData["files"][number] | undefined }) {
  const link = useLink();
  const set = (settings: Settings) => link.tell({ do: "export_settings", settings });
  const field = useRef<HTMLInputElement>(null);
  const write = () => {
    const name = field.current?.value.trim();
    if (name && name !== data.file) set({ file: name });
    link.tell({ do: "write" });
  };
  return (
    <div class="export-panel">
      <div class="scroll" tabIndex={0} role="group" aria-label={data.title}>
        <h2>{data.title}</h2>
        <p class="mute">{data.sentence}</p>
        <List title="Lost" shape="bad" items={data.losses} />
        <Unproved data={data} set={set} />
        <label class="setting"><span class="small mute">file</span>
          <input type="text" class="mono" ref={field} value={data.file} spellcheck={false} onChange={(event) => set({ file: event.currentTarget.value.trim() })} />
        </label>
        <SettingFields data={data} set={set} />
        <List title="Omitted without effect on scores" shape="note" items={data.notes} />
      </div>
      <Outcome data={data} />
      <div class="export-buttons">
        <button type="button" class="btn main" disabled={data.problem.length > 0 || !data.files.length} onClick={write}>Write the file{data.files.length > 1 ? "s" : ""}</button>
        <Copy text={file?.text} />
        {file && <Download name={file.name} />}
      </div>
    </div>
  );
}

const TIPS = {
  on_loss: "What to do if the platform does not support a setting of a grader.",
  on_error: "What an unscored row becomes on the platform.",
  reference: "The field of the platform's rows with the reference.",
};

const WORDS: Record<string, string> = { report: "drop and list", raise: "an error" };

function inWords({ value, text }: Choice): Choice {
  return { value, text: WORDS[value] ?? text };
}

function SettingFields({ data, set }: { data: ExportData; set: (settings: Settings) => void }) {
  const { settings, choices } = data;
  const select = (key: "on_loss" | "on_error", name: string) => choices[key].length > 1 && (
    <div class="setting"><span class="small mute"><Term tip={TIPS[key]}>{name}</Term></span>
      <Select class="boxed" name={name} value={settings[key]} choices={named(choices[key]).map(inWords)} choose={(choice) => set({ [key]: choice })} />
    </div>
  );
  return (
    <>
      {select("on_loss", "unsupported")}
      {select("on_error", "no score")}
      {choices.has_reference && (
        <div class="setting"><span class="small mute"><Term tip={TIPS.reference}>reference</Term></span>
          <input type="text" class="mono" aria-label="reference field" value={settings.reference} spellcheck={false} onChange={(event) => set({ reference: event.currentTarget.value.trim() })} />
        </div>
      )}
    </>
  );
}

function Unproved({ data, set }: { data: ExportData; set: (settings: Settings) => void }) {
  const link = useLink();
  const { not_validated } = data.choices;
  if (!not_validated.length) return null;
  return (
    <div class="not_validated">
      <p class="small"><b>{counted(not_validated.length, "grader")} not validated:</b> <span class="mono"><Breakable text={not_validated.join(", ")} sentence /></span></p>
      <button type="button" class="btn" onClick={() => link.tell({ do: "validate_all" })}>Validate {not_validated.length === 1 ? "it" : "them"}</button>
      <label class="line small"><input type="checkbox" checked={data.settings.allow_unvalidated} onChange={(event) => set({ allow_unvalidated: event.currentTarget.checked })} />export without validation</label>
    </div>
  );
}

/** Why nothing can be written, what was written, or what would be replaced: next to the button, so that it is visible without scrolling. */
function Outcome({ data }: { data: ExportData }) {
  const { problem, written, in_the_way: replaced } = data;
  const [what, ...steps] = problem;
  if (!what && !written && !replaced.length) return null;
  const shape = what ? "bad" : written ? "good" : "unsettled";
  return (
    <div class="outcome" tabIndex={0} role="group" aria-label="Result of writing">
      <Notice shape={shape}><p class="words">{what ? <b>{what}</b> : written || replaced.join("\n")}</p>
        {steps.map((step, at) => <p class="words mute" key={at}>{step}</p>)}
      </Notice>
    </div>
  );
}

function List({ title, shape, items }: { title: string; shape: Shape; items: string[] }) {
  if (!items.length) return null;
  return (
    <div class="remarks">
      <h3><Meaning shape={shape} small /> {title}</h3>
      <ul>{items.map((item, at) => <li key={at} class="small mute"><Breakable text={item} sentence /></li>)}</ul>
    </div>
  );
}

/** The file as it would be written, saved by the browser: the kernel may run on another machine. */
function Download({ name }: { name: string }) {
  const link = useLink();
  const [said, setSaid] = useState("");
  const save = () => link.ask<string>({ ask: "export_file", name }).then(
    (text) => saveText(text, name.split("/").at(-1) ?? name, "text/plain"),
    () => setSaid("Not saved"), // the previewed files have changed
  );
  return (
    <>
      <button type="button" class="btn icon" aria-label={`Download ${name}`} title={`Download ${name}`} onClick={save} onBlur={() => setSaid("")}><Icon name="save" /></button>
      <span class="small mute" role="status">{said}</span>
    </>
  );
}

function Copy({ text }: { text: string | undefined }) {
  const [said, setSaid] = useState("");
  const copy = async (button: HTMLElement) => setSaid((await copyText(text ?? "", button)) ? "Copied" : "Not copied");
  return (
    <>
      <button type="button" class="btn" disabled={text === undefined} onClick={(event) => copy(event.currentTarget)} onBlur={() => setSaid("")}><Icon name="copy" />Copy</button>
      <span class="small mute" role="status">{said}</span>
    </>
  );
}
