/** What is wrong with a text, said at its line: the line is set off, the words stand below it. */

import { StateEffect, StateField, type Extension, type Range } from "@codemirror/state";
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
    const box = document.createElement("div");
    box.className = "editor-problem";
    const words = document.createElement("span");
    words.textContent = this.text;
    box.append(triangle(), words);
    return box;
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

function around(problem: Problem, text: EditorView["state"]["doc"]): Range<Decoration>[] {
  if (!problem) return [];
  const line = text.line(Math.max(1, Math.min(problem.line, text.lines)));
  const message = Decoration.widget({ widget: new Message(problem.message), block: true, side: 1 });
  return [Decoration.line({ class: "editor-wrong" }).range(line.from), ...(problem.message ? [message.range(line.to)] : [])];
}

export const problems: Extension = field;
