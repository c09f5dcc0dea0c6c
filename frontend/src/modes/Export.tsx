/** Export: what each platform supports, then the selected platform's settings and its files. */

import { useState } from "preact/hooks";
import { useLink } from "../context.ts";
import type { ExportData } from "../protocol.ts";
import { Code } from "./parts/Code.tsx";
import { ExportPanel } from "./parts/ExportPanel.tsx";
import { FitLegend, FitTable } from "./parts/FitTable.tsx";
import { counted, Empty, Loading } from "./parts/words.tsx";

export function Export() {
  const link = useLink();
  const data = link.state.export.value;
  return (
    <div class="mode one mode-export">
      <section aria-label="Export">
        <div class="head">
          <h2>Platform support</h2>
          <span class="grow" />
          <FitLegend />
        </div>
        {!data ? <Loading what="checking platform support" /> : data.graders.length ? <Platforms data={data} /> : <NoGrader />}
      </section>
    </div>
  );
}

function NoGrader() {
  return <Empty title="No grader to export" step="Add a grader on the left, or define one with @wb.grader in any cell." />;
}

function Platforms({ data }: { data: ExportData }) {
  const [name, setName] = useState("");
  const file = data.files.find((each) => each.name === name) ?? data.files[0];
  return (
    <>
      <FitTable data={data} />
      {data.chosen ? (
        <div class="export-files">
          <ExportPanel data={data} file={file} />
          <Preview data={data} file={file} choose={setName} />
        </div>
      ) : <div class="export-files none"><Empty title="No platform selected" step="Select a platform in the table header to preview its files." /></div>}
    </>
  );
}

type FileText = ExportData["files"][number];

function Preview({ data, file, choose }: { data: ExportData; file: FileText | undefined; choose: (name: string) => void }) {
  if (!file) return <div class="preview"><Empty title="No file yet" step={data.problem.length ? "Fix the problem shown on the left." : "Select a grader that the platform supports."} /></div>;
  return (
    <div class="preview">
      <div class="head">
        {data.files.length > 1 ? <Tabs files={data.files} file={file} choose={choose} /> : <b class="mono cut">{file.name}</b>}
        <span class="small faint cut">as it will be written, {counted(file.lines, "line")}</span>
      </div>
      <div class="scroll" role={data.files.length > 1 ? "tabpanel" : "group"} tabIndex={0} aria-label={`Text of ${file.name}`} key={file.name}>
        <Code text={file.text} language={file.language} />
      </div>
    </div>
  );
}

/** Left and right move between files, as in tabs. */
function Tabs({ files, file, choose }: { files: FileText[]; file: FileText; choose: (name: string) => void }) {
  const onKeyDown = (event: KeyboardEvent) => {
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    const next = step && files[files.indexOf(file) + step];
    if (!next) return;
    event.preventDefault();
    choose(next.name);
    const tabs = (event.currentTarget as HTMLElement).querySelectorAll<HTMLElement>("[role=tab]");
    tabs[files.indexOf(next)]?.focus();
  };
  return (
    <div class="tabs" role="tablist" aria-label="Files" onKeyDown={onKeyDown}>
      {files.map(({ name }) => (
        <button type="button" role="tab" class="mono" key={name} aria-selected={name === file.name} tabIndex={name === file.name ? 0 : -1} onClick={() => choose(name)}>{name}</button>
      ))}
    </div>
  );
}
