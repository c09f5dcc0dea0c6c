/** The versions of a grader as a table; the selected row is the newer side of the diff below. */

import { useLink } from "../../context.ts";
import { Meaning } from "../../Icon.tsx";
import type { Link } from "../../link.ts";
import type { HistoryData, State, Verdict } from "../../protocol.ts";
import { CodeLine } from "./Code.tsx";

type Version = HistoryData["versions"][number];

export function Versions({ history }: { history: HistoryData }) {
  const link = useLink();
  const { versions, from, to } = history;
  return (
    <div class="versions" role="table" aria-label={`Versions of ${history.name}`}>
      <div role="row" class="names">
        <span role="columnheader"><span class="unseen">version</span></span>
        <span role="columnheader">first new line</span>
        <span role="columnheader">known bad, accepted</span>
        <span role="columnheader">known good, rejected</span>
        <span role="columnheader">verdict</span>
      </div>
      {versions.map((version) => (
        <VersionLine key={version.id} language={languageOf(link)} version={version} chosen={version.id === to} start={version.id === from} choose={() => link.tell({ do: "version", from: before(versions, version.id, from), to: version.id })} />
      ))}
    </div>
  );
}

/** Whether this is the history of the selected grader; the kernel may not have sent it yet. */
export function languageOf(link: Link): string {
  const chosen: State["chosen"] | null = link.state.chosen.value;
  return chosen?.source.language ?? "";
}

interface LineProps {
  language: string;
  version: Version;
  chosen: boolean;
  start: boolean;
  choose: () => void;
}

function VersionLine({ language, version, chosen, start, choose }: LineProps) {
  return (
    <div role="row" class={`version ${chosen ? "chosen" : start ? "start" : ""}`}>
      <span role="cell"><button type="button" class="mono" aria-pressed={chosen} title={version.at} aria-label={`${version.text}, ${version.at}`} onClick={choose}>{version.text}</button></span>
      <span role="cell" class="cut">{version.line ? <><span class="tiny faint">+ </span><code class="mono"><CodeLine text={version.line.trim()} language={language} /></code></> : <span class="faint">as first captured</span>}</span>
      <Share of="known bad, accepted" text={version.bad} interval={version.bad_interval} />
      <Share of="known good, rejected" text={version.good} interval={version.good_interval} />
      <span role="cell">{version.verdict ? <VerdictWords verdict={version.verdict} /> : <span class="small faint">not run</span>}</span>
    </div>
  );
}

/** "20 of 290" with its first number strong; `of` is shown where the columns have no header. */
function Share({ of, text, interval }: { of: string; text: string; interval: string }) {
  const [, count = "", rest = ""] = /^(\S*)([^]*)$/.exec(text) ?? [];
  return <span role="cell" class="small"><span class="of tiny faint" aria-hidden="true">{of}</span>{text ? <><b>{count}</b>{rest} <span class="faint interval-text" title="95 % interval">{interval}</span></> : <span class="faint">–</span>}</span>;
}

export function VerdictWords({ verdict }: { verdict: Verdict }) {
  return <span class="line small verdict" title={verdict.tip}><Meaning shape={verdict.shape} small />{verdict.words}</span>;
}

/** The older side for a selected version: the current one while it is older, else the version before. */
export function before(versions: Version[], to: string, from: string): string {
  const at = versions.findIndex(({ id }) => id === to);
  const known = versions.findIndex(({ id }) => id === from);
  return known > at ? from : (versions[at + 1]?.id ?? to);
}
