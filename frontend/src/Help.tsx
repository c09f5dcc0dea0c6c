/** Keys and terms, in a dialog over the view. */

import { useLayoutEffect, useRef } from "preact/hooks";
import { Icon } from "./Icon.tsx";
import { useView } from "./view.ts";

const KEYS: readonly [keys: string[], between: string, does: string][] = [
  [["↑ ↓"], "", "next, previous row or grader"],
  [["Enter"], "", "read the row; Esc closes it"],
  [["1"], "", "good"],
  [["0"], "", "bad"],
  [["s", "d", "u"], ", ", "in Label: skip, defer, undo"],
  [["n", "t"], ", ", "in Label: note, tag (then its number or name)"],
  [["/"], "", "search"],
  [["v"], "", "selections: save, open, copy"],
  [["x"], "", "show all rows"],
  [["p"], "", "map of the rows: drag a box, or choose a cluster"],
  [["Shift"], "", "with a click on a bar: narrow the selection"],
  [["m"], "", "Markdown, JSON, calls, e-mail rendered, or raw"],
  [["[ ]"], "", "pass threshold down, up"],
  [["g", "1–6"], " then ", "mode: Grade, Try, Label …"],
  [["Ctrl z"], "", "undo typing, then restore versions"],
  [["Ctrl s"], "", "save this version"],
  [["Esc", "Tab"], " then ", "leave the editor"],
  [["Esc"], "", "leave a text field"],
  [["r"], "", "run the selected graders"],
];

const WORDS: readonly [word: string, means: string][] = [
  ["accepted, rejected", "The score reaches the pass threshold, or does not."],
  ["known good, known bad", "Rows labelled by you or by the label column."],
  ["too lenient", "Accepts more known-bad rows than the limit allows."],
  ["too strict", "Rejects more known-good rows than the limit allows."],
  ["accepts bad rows", "Code accepts some known-bad rows, fewer than the limit, or too few for a conclusion."],
  ["inconclusive", "The interval contains the limit: more rows are needed."],
  ["95 % interval", "Contains the true share in 95 of 100 such samples."],
  ["95 % bound", "One-sided: the true share is below it in 95 of 100."],
  ["failed", "The grader raised an error or returned no number; never counted as 0."],
  ["skipped", "The grader does not apply to the row."],
  ["selection", "The rows that meet the filters and the search: app.selected. Thin lines at the bars are its share."],
  ["deferred", "Put off: the row comes again at the end of the queue."],
  ["tag", "A short text on a labelled row, such as a kind of failure: a column, a filter, a chart."],
  ["kappa", "Agreement beyond chance: 0 is chance level, 1 is perfect agreement."],
  ["writer matters", "Completions of one writer score higher or lower than others with the same label."],
  ["version, stored", "A version belongs to this session and has its grades; a stored one is in the store, for every notebook."],
  ["zero variance", "All completions of a prompt get one score: training gets no signal from it."],
];

const FOCUSABLE = "button, [tabindex='0']";

export function Help() {
  const view = useView();
  const dialog = useRef<HTMLDivElement>(null);
  const close = () => (view.help.value = false);
  useLayoutEffect(() => { // before the next key
    const root = dialog.current?.getRootNode() as Document | ShadowRoot | undefined;
    const before = root?.activeElement as HTMLElement | null | undefined;
    dialog.current?.querySelector("button")?.focus();
    return () => before?.focus();
  }, []);
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === "Escape" || event.key === "?") close();
    else if (event.key === "Tab") stay(event, dialog.current);
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  return (
    <div class="help" role="dialog" aria-modal="true" aria-label="Keys and terms" ref={dialog} onKeyDown={onKeyDown}>
      <div class="head">
        <h2 class="grow">Keys</h2>
        <button type="button" class="btn icon plain" aria-label="close" onClick={close}><Icon name="cross" small /></button>
      </div>
      <div class="scroll" tabIndex={0} role="group" aria-label="keys and terms">
        <Sheet />
        <div class="head"><h2>Terms</h2></div>
        <dl>{WORDS.map(([word, means]) => [<dt key={word}>{word}</dt>, <dd key={means}>{means}</dd>])}</dl>
      </div>
    </div>
  );
}

function Sheet() {
  return (
    <div class="keysheet">
      {KEYS.map(([keys, between, does]) => [
        <span key={does}>{keys.map((key, at) => [at ? between : "", <kbd key={key}>{key}</kbd>])}</span>,
        <span key={`${does}.`}>{does}</span>,
      ])}
    </div>
  );
}

/** Tab cycles within the dialog. */
function stay(event: KeyboardEvent, dialog: HTMLElement | null): void {
  const stops = [...(dialog?.querySelectorAll<HTMLElement>(FOCUSABLE) ?? [])];
  const at = stops.indexOf(event.target as HTMLElement);
  stops[(at + (event.shiftKey ? stops.length - 1 : 1)) % stops.length]?.focus();
}
