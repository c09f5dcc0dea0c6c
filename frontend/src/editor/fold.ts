/** Imports, blank lines and the signature above a rule are folded into one line: the rule is what one sees first. */

import { codeFolding, foldEffect, foldedRanges, unfoldEffect } from "@codemirror/language";
import { EditorState, type Extension, type StateEffect, type Transaction } from "@codemirror/state";
import { EditorView } from "@codemirror/view";

const ABOVE = /^(?:from\s+\S+\s+import\s.*|import\s.*|#.*|\s*)$/;
const SIGNATURE = /^(?:async\s+)?def\s+(\w+)\s*\(/;
const LEAST = 3; // lines: fewer are not folded
const LONGEST = 8; // lines of a signature

/** The range above the body of the first function, and its function's name; null if there is little or something else. */
export function headerOf(text: string): { to: number; name: string } | null {
  const lines = text.split("\n");
  const first = lines.findIndex((line) => !ABOVE.test(line));
  const name = SIGNATURE.exec(lines[first] ?? "")?.[1];
  if (!name) return null;
  const last = lines.findIndex((line, at) => at >= first && at < first + LONGEST && /:\s*(?:#.*)?$/.test(line));
  if (last < LEAST - 1 || last === lines.length - 1) return null;
  return { to: lines.slice(0, last + 1).join("\n").length, name };
}

/** Fold the header of the shown text, unless the cursor is in it. */
export function foldHeader(view: EditorView): void {
  const header = headerOf(view.state.doc.toString());
  const inside = header && view.hasFocus && view.state.selection.main.head <= header.to && view.state.selection.main.head > 0;
  if (header && !inside) view.dispatch({ effects: foldEffect.of({ from: 0, to: header.to }) });
}

/** Unfold everything, for example before a problem in a folded line is shown. */
export function unfold(view: EditorView, from: number): void {
  const effects: ReturnType<typeof unfoldEffect.of>[] = [];
  foldedRanges(view.state).between(from, from, (start, end) => void effects.push(unfoldEffect.of({ from: start, to: end })));
  if (effects.length) view.dispatch({ effects });
}

/** A whole text that was pasted or replaced is folded as well, if the cursor is below its header. */
function foldReplaced(change: Transaction): { effects: StateEffect<{ from: number; to: number }> } | null {
  const before = change.startState.doc.length;
  let whole = false;
  change.changes.iterChangedRanges((from, to) => void (whole ||= before > 0 && from === 0 && to === before));
  const header = whole ? headerOf(change.newDoc.toString()) : null;
  return header && change.newSelection.main.head > header.to ? { effects: foldEffect.of({ from: 0, to: header.to }) } : null;
}

const placeholder: Extension = codeFolding({
  preparePlaceholder: (state: EditorState) => headerOf(state.doc.toString())?.name ?? "",
  placeholderDOM: (_, onclick, name: string) => {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "cm-foldPlaceholder";
    button.textContent = `imports, def ${name}(…)`;
    button.title = "Show the imports and the signature";
    button.addEventListener("click", onclick);
    return button;
  },
});

export const folding: Extension = [placeholder, EditorState.transactionExtender.of(foldReplaced)];
