/** The editor's features: those of a small code editor, none that needs a network. */

import { closeBrackets, closeBracketsKeymap } from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap, indentLess, indentMore } from "@codemirror/commands";
import { bracketMatching, indentOnInput } from "@codemirror/language";
import { highlightSelectionMatches, search, searchKeymap } from "@codemirror/search";
import { Annotation, EditorState, type Extension } from "@codemirror/state";
import { drawSelection, EditorView, highlightActiveLine, keymap, lineNumbers } from "@codemirror/view";
import type { SourceText } from "../protocol.ts";
import { changes } from "./changed.ts";
import { language } from "./colours.ts";
import { folding } from "./fold.ts";
import { problems } from "./problem.ts";
import { wrap } from "./wrap.ts";

/** Marks a change that came from the kernel: it is not sent back. */
export const fromKernel = Annotation.define<boolean>();

export interface Setup {
  language: SourceText["language"];
  editable: boolean;
  label: string;
  typed: (text: string) => void;
  keep: () => void;
}

/** Tab indents once the user has clicked or typed here; for a user who arrived with Tab, it moves the focus on. */
const indentAfterWork = (): Extension => {
  let worked = false;
  return [
    EditorView.domEventHandlers({
      mousedown: () => void (worked = true),
      keydown: (event) => void (worked ||= !["Tab", "Shift", "Escape"].includes(event.key)),
      blur: () => void (worked = false),
    }),
    keymap.of([{ key: "Tab", run: (view) => worked && indentMore(view), shift: (view) => worked && indentLess(view) }]),
  ];
};

export function setup({ language: name, editable, label, typed, keep }: Setup): Extension {
  const keepKey = { key: "Mod-s", preventDefault: true, run: () => (keep(), true) };
  return [
    lineNumbers(), changes, history(), drawSelection(), indentOnInput(), bracketMatching(), closeBrackets(),
    highlightActiveLine(), highlightSelectionMatches(), search({ top: true }), wrap, folding, problems, language(name),
    keymap.of([keepKey, ...closeBracketsKeymap, ...searchKeymap, ...historyKeymap, ...defaultKeymap]), indentAfterWork(),
    EditorState.readOnly.of(!editable),
    EditorView.contentAttributes.of({ "aria-label": label, "aria-readonly": String(!editable), spellcheck: "false", tabindex: "0" }),
    EditorView.updateListener.of((change) => {
      const mine = change.transactions.some((each) => each.docChanged && !each.annotation(fromKernel));
      if (mine) typed(change.state.doc.toString());
    }),
  ];
}
