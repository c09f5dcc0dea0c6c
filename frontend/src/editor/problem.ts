/** An error in a text, shown at its line: the line is highlighted, with the message below it. */

import { StateEffect, StateField, type Extension, type Range, type Text } from "@codemirror/state";
import { Decoration, EditorView, WidgetType, type DecorationSet } from "@codemirror/view";
import type { SourceText } from "../protocol.ts";

type Problem = SourceText["error"];

export const setProblem = StateEffect.define<Problem>();

const TRIANGLE = ["M8 1.2L15.4 14.4H.6z", "M8 6v4"] as const;

class Message extends WidgetType {
  constructor(readonly text: string) {
    super();
  }

  override eq(other: Message): boolean {
    return other.text === this.text;
  }

  toDOM(): HTMLElement {
    // Padding, not margin, because CodeMirror does not count margins and would misplace the line numbers.
    const place = document.createElement("div");
    place.className = "editor-problem";
    const box = document.createElement("div");
    box.className = "said";
    const words = document.createElement("span");
    words.textContent = this.text;
    box.append(triangle(), words);
    place.append(box);
    return place;
  }
}

function triangle(): SVGElement {
  const names = "http://www.w3.org/2000/svg";
  const drawing = document.createElementNS(names, "svg");
  drawing.setAttribute("viewBox", "0 0 16 16");
  drawing.setAttribute("class", "i c-failed");
  drawing.setAttribute("aria-hidden", "true");
  for (const [at, path] of TRIANGLE.entries()) {
    const line = document.createElementNS(names, "path");
    line.setAttribute("d", path);
    line.setAttribute("fill", at ? "none" : "currentColor");
    if (at) line.setAttribute("style", "stroke:var(--bg);stroke-width:1.8");
    drawing.append(line);
  }
  return drawing;
}

const field = StateField.define<DecorationSet>({
  create: () => Decoration.none,
  update(shown, transaction) {
    let next = shown.map(transaction.changes);
    for (const effect of transaction.effects) {
      if (effect.is(setProblem)) next = Decoration.set(around(effect.value, transaction.state.doc));
    }
    return next;
  },
  provide: (each) => EditorView.decorations.from(each),
});

/** The line that a problem names; the nearest one if the text has become shorter. */
function lineOf({ line }: NonNullable<Problem>, text: Text) {
  return text.line(Math.max(1, Math.min(line, text.lines)));
}

function around(problem: Problem, text: Text): Range<Decoration>[] {
  if (!problem) return [];
  const line = lineOf(problem, text);
  const message = Decoration.widget({ widget: new Message(problem.message), block: true, side: 1 });
  return [Decoration.line({ class: "editor-wrong" }).range(line.from), ...(problem.message ? [message.range(line.to)] : [])];
}

export const problems: Extension = field;

/** Pixels below a line for its message. */
const MESSAGE = 64;

/** Scroll to the line and its message, unless the user is editing elsewhere in the text. */
export function scrollToProblem(view: EditorView, problem: Problem): StateEffect<unknown>[] {
  if (!problem) return [];
  const { from } = lineOf(problem, view.state.doc);
  if (!view.hasFocus) return [EditorView.scrollIntoView(from, { y: "center" })];
  const at = view.coordsAtPos(from);
  const box = view.scrollDOM.getBoundingClientRect();
  const inSight = at !== null && at.bottom > box.top && at.top < box.bottom;
  return inSight ? [EditorView.scrollIntoView(from, { y: "nearest", yMargin: MESSAGE })] : [];
}
