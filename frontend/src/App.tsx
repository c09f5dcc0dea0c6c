/** The whole view: toolbar, graders, the open mode, the line of code. */

import type { ComponentType } from "preact";
import { useEffect, useMemo } from "preact/hooks";
import { Columns } from "./Columns.tsx";
import { useLink } from "./context.ts";
import { FileDrop } from "./FileDrop.tsx";
import { keepFocus } from "./focus.ts";
import { Foot } from "./Foot.tsx";
import { Help } from "./Help.tsx";
import { Keys } from "./keys.ts";
import { Compare } from "./modes/Compare.tsx";
import { Export } from "./modes/Export.tsx";
import { Grade } from "./modes/Grade.tsx";
import { History } from "./modes/History.tsx";
import { Label } from "./modes/Label.tsx";
import { Try } from "./modes/Try.tsx";
import { OpenedFiles } from "./OpenedFiles.tsx";
import { Problems } from "./Problems.tsx";
import type { Mode, State } from "./protocol.ts";
import { Rail } from "./Rail.tsx";
import { Rows } from "./Rows.tsx";
import { Top } from "./Top.tsx";
import { useView } from "./view.ts";

const MODES: Record<Mode, ComponentType> = { grade: Grade, try: Try, label: Label, compare: Compare, export: Export, history: History };

export function App() {
  const view = useView();
  const keys = useMemo(() => new Keys(view), [view]);
  const { part, mode, columns } = useLink().state;
  useEffect(() => (view.root ? keepFocus(view.root) : undefined), [view]);
  return (
    <main class={`app ${part.value ? "alone" : ""}`} aria-label="Grader workbench" tabIndex={-1} ref={(element) => void (view.root = element)} onKeyDown={keys.press} onClickCapture={(event) => void (view.narrows = event.shiftKey)}>
      <Top />
      <Problems />
      <OpenedFiles />
      {columns.value ? <div class="body one"><Columns data={columns.value} key={columns.value.reason} /></div> : <Body part={part.value} mode={mode.value} />}
      <Foot />
      {view.help.value && <Help />}
      <FileDrop />
    </main>
  );
}

/** All parts, or the only one that was requested. */
function Body({ part, mode }: { part: State["part"]; mode: Mode }) {
  if (part === "rows") return <div class="body one"><Rows /></div>;
  if (part === "graders") return <div class="body one"><Rail /></div>;
  const Shown = MODES[part || mode] ?? Grade;
  return (
    <div class={`body ${part ? "one" : ""}`}>
      {!part && <Rail />}
      <Shown key={part || mode} />
    </div>
  );
}
