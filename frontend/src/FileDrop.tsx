/** Files over the view: a sign where they can be dropped, and a hidden field for the browser's dialog. */

import { useEffect, useRef, useState } from "preact/hooks";
import { Icon } from "./Icon.tsx";
import { useView } from "./view.ts";

const hasFiles = (event: DragEvent): boolean => [...(event.dataTransfer?.types ?? [])].includes("Files");

export function FileDrop() {
  const view = useView();
  const field = useRef<HTMLInputElement>(null);
  const [over, setOver] = useState(false);
  useEffect(() => {
    view.files.choose = () => field.current?.click();
    const root = view.root;
    if (!root) return;
    // Before the editor, which would insert the file's text, and the notebook.
    const take = (event: DragEvent): boolean => {
      if (!hasFiles(event)) return false;
      event.preventDefault();
      event.stopPropagation();
      return true;
    };
    const drag = (event: DragEvent) => {
      if (!take(event)) return;
      if (event.dataTransfer) event.dataTransfer.dropEffect = "copy";
      setOver(true);
    };
    const leave = (event: DragEvent) => {
      if (!hasFiles(event)) return;
      const to = event.relatedTarget;
      if (!(to instanceof Node) || !root.contains(to)) setOver(false);
    };
    const drop = (event: DragEvent) => {
      if (!take(event)) return;
      setOver(false);
      root.focus({ preventScroll: true });
      void view.files.send([...(event.dataTransfer?.files ?? [])]);
    };
    root.addEventListener("dragenter", drag, true);
    root.addEventListener("dragover", drag, true);
    root.addEventListener("dragleave", leave, true);
    root.addEventListener("drop", drop, true);
    return () => {
      root.removeEventListener("dragenter", drag, true);
      root.removeEventListener("dragover", drag, true);
      root.removeEventListener("dragleave", leave, true);
      root.removeEventListener("drop", drop, true);
    };
  }, [view]);
  const chosen = (event: Event) => {
    const input = event.currentTarget as HTMLInputElement;
    const files = [...(input.files ?? [])];
    input.value = ""; // the same file can be opened again
    void view.files.send(files);
  };
  return (
    <>
      <input ref={field} type="file" hidden multiple aria-label="files of graders or rows" onChange={chosen} />
      {over && <div class="drop-here" aria-hidden="true"><p><Icon name="file" /> <b>Drop to open.</b> Graders are added; rows replace or extend the table.</p></div>}
    </>
  );
}
