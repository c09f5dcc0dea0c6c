/** A mark in the gutter at each line that differs from the last saved text. */

import { RangeSetBuilder, StateEffect, StateField, type EditorState, type Extension, type RangeSet } from "@codemirror/state";
import { GutterMarker, gutter } from "@codemirror/view";
import { newLines } from "./lines.ts";

/** The text to compare with; null if unknown. */
export const setKept = StateEffect.define<string | null>();

class Mark extends GutterMarker {
  override elementClass = "editor-new";
}

const mark = new Mark();

interface Against {
  kept: string | null;
  marks: RangeSet<GutterMarker>;
}

const field = StateField.define<Against>({
  create: (state) => marked(state, null),
  update(shown, transaction) {
    const told = transaction.effects.find((effect) => effect.is(setKept));
    if (!told && !transaction.docChanged) return shown;
    return marked(transaction.state, told ? (told.value as string | null) : shown.kept);
  },
});

function marked(state: EditorState, kept: string | null): Against {
  const builder = new RangeSetBuilder<GutterMarker>();
  const numbers = kept === null ? [] : [...newLines(kept, state.doc.toString())];
  for (const number of numbers) {
    const { from } = state.doc.line(Math.min(number, state.doc.lines));
    builder.add(from, from, mark);
  }
  return { kept, marks: builder.finish() };
}

export const changes: Extension = [field, gutter({ class: "editor-changes", markers: (view) => view.state.field(field).marks })];
