/** A code editor in the view: its content is a property, typed text is reported by a callback. */

import { EditorState } from "@codemirror/state";
import { EditorView } from "@codemirror/view";
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import type { SourceText } from "./protocol.ts";
import { setKept } from "./editor/changed.ts";
import { scrollToProblem, setProblem } from "./editor/problem.ts";
import { foldHeader, unfold } from "./editor/fold.ts";
import { fromKernel, setup, type Setup } from "./editor/setup.ts";

export interface Box extends Setup {
  name: string; // whose text it is: each has a separate undo history
  text: string;
  revision: number; // a change of it means that `text` replaces the content
  error: SourceText["error"];
  kept: string | null; // the text that lines are marked against
  dirty?: () => boolean; // whether the content has not been sent: then it is not replaced
}

interface Known {
  name: string;
  state: EditorState;
  revision: number;
  kind: string; // language and whether it is editable
}

export function CodeBox(box: Box) {
  const host = useRef<HTMLDivElement>(null);
  const editor = useRef<EditorView | null>(null);
  const kind = `${box.language} ${box.editable}`;
  const shown = useRef({ name: box.name, revision: box.revision, kind });
  const known = useRef(new Map<string, Known>());
  const latest = useRef(box);
  latest.current = box;
  useLayoutEffect(() => {
    const element = host.current as HTMLDivElement;
    const view = new EditorView({ state: fresh(latest), parent: element });
    // Styles have to be added to the shadow tree if there is one, which is known only once the editor is in the page.
    const frame = requestAnimationFrame(() => view.setRoot(element.getRootNode() as Document | ShadowRoot));
    editor.current = view;
    foldHeader(view);
    return () => {
      cancelAnimationFrame(frame);
      view.destroy();
    };
  }, []);
  useLayoutEffect(() => {
    const view = editor.current as EditorView;
    const before = { ...shown.current, state: view.state };
    shown.current = { name: box.name, revision: box.revision, kind };
    follow(view, before, shown.current, known.current, latest);
  }, [box.name, box.revision, kind]);
  useEffect(() => void (editor.current && tellProblem(editor.current, box.error)), [box.error, box.name, box.revision]);
  useEffect(() => editor.current?.dispatch({ effects: setKept.of(box.kept) }), [box.kept, box.name, kind]);
  return <div class="editor" ref={host} />;
}

/** Highlight the line, and show it unless the user is editing elsewhere in the text. */
function tellProblem(view: EditorView, error: Box["error"]): void {
  if (error && error.line <= view.state.doc.lines) unfold(view, view.state.doc.line(Math.max(1, error.line)).from);
  view.dispatch({ effects: [setProblem.of(error), ...scrollToProblem(view, error)] });
}

/** Call the newest properties, because an editor outlives them. */
function fresh(latest: { current: Box }, text = latest.current.text): EditorState {
  const extensions = setup({
    ...latest.current,
    typed: (words) => latest.current.typed(words),
    keep: () => latest.current.keep(),
  });
  return EditorState.create({ doc: text, extensions });
}

/** Show another grader's text, or a text that the kernel has changed; never replace one that was not sent. */
function follow(view: EditorView, before: Known, now: Omit<Known, "state">, known: Map<string, Known>, latest: { current: Box }): void {
  const box = latest.current;
  if (before.name !== now.name) {
    known.set(before.name, before);
    const back = known.get(now.name);
    const same = back?.kind === now.kind;
    view.setState(same ? back.state : fresh(latest));
    if (!same) foldHeader(view);
    if (!same || back.revision === now.revision) return;
  } else {
    if (before.kind !== now.kind) view.setState(fresh(latest, view.state.doc.toString()));
    if (before.revision === now.revision || box.dirty?.()) return;
  }
  replace(view, box.text);
}

/** Replace the text as one step that can be undone. */
function replace(view: EditorView, text: string): void {
  if (view.state.doc.toString() === text) return;
  const cursor = Math.min(view.state.selection.main.head, text.length);
  view.dispatch({
    changes: { from: 0, to: view.state.doc.length, insert: text },
    selection: { anchor: cursor },
    annotations: fromKernel.of(true),
  });
  foldHeader(view);
}
