/** Long lines wrap, indented by two more characters than their start. */

import { RangeSetBuilder, type Extension } from "@codemirror/state";
import { Decoration, EditorView, ViewPlugin, type DecorationSet, type ViewUpdate } from "@codemirror/view";

/** Deeper lines wrap like lines of this depth, so that some width remains. */
const DEEPEST = 24;

const known = new Map<number, Decoration>();

function hanging(depth: number): Decoration {
  const found = known.get(depth);
  if (found) return found;
  const style = `padding-left:${depth + 2}ch;text-indent:-${depth + 2}ch`;
  const made = Decoration.line({ attributes: { style } });
  known.set(depth, made);
  return made;
}

function decorate(view: EditorView): DecorationSet {
  const builder = new RangeSetBuilder<Decoration>();
  for (const { from, to } of view.visibleRanges) {
    for (let at = from; at <= to; ) {
      const line = view.state.doc.lineAt(at);
      const depth = line.text.search(/[^ ]/);
      builder.add(line.from, line.from, hanging(Math.min(DEEPEST, Math.max(0, depth))));
      at = line.to + 1;
    }
  }
  return builder.finish();
}

const plugin = ViewPlugin.fromClass(
  class {
    decorations: DecorationSet;

    constructor(view: EditorView) {
      this.decorations = decorate(view);
    }

    update(change: ViewUpdate): void {
      if (change.docChanged || change.viewportChanged) this.decorations = decorate(change.view);
    }
  },
  { decorations: (each) => each.decorations },
);

export const wrap: Extension = [EditorView.lineWrapping, plugin];
