/** Runs of this dataset from the store: each run's verdict on each grader, the newest first. */

import type { HistoryData } from "../../protocol.ts";
import { VerdictWords } from "./Versions.tsx";

type Run = HistoryData["runs"][number];

export function Runs({ runs, stored }: { runs: Run[]; stored: boolean }) {
  const names = [...new Set(runs.flatMap(({ graders }) => graders.map(({ name }) => name)))];
  return (
    <div class="runs">
      <div class="head"><h3>Runs of this dataset</h3><span class="small faint">{runs.length ? "verdicts over time, the newest first" : ""}</span></div>
      {!runs.length ? <p class="mute none">{stored ? "No run of these rows is stored yet. Press Run to store one." : "Runs are listed here if the app has a store, for example store=\"workbench.db\"."}</p> : (
        <div class="runs-scroll" tabIndex={0} role="group" aria-label="Runs of this dataset">
          <table>
            <thead><tr><th scope="col">run</th><th scope="col" class="num">rows</th>{names.map((name) => <th key={name} scope="col" class="mono">{name}</th>)}</tr></thead>
            <tbody>{runs.map((run) => <RunLine key={run.id} run={run} names={names} />)}</tbody>
          </table>
        </div>
      )}
    </div>
  );
}

function RunLine({ run, names }: { run: Run; names: string[] }) {
  return (
    <tr>
      <th scope="row" class="small">{run.at}</th>
      <td class="num small">{run.rows.toLocaleString("en")}</td>
      {names.map((name) => <td key={name}><RunCell said={run.graders.find((each) => each.name === name)} /></td>)}
    </tr>
  );
}

function RunCell({ said }: { said: Run["graders"][number] | undefined }) {
  if (!said) return <span class="faint" title="not part of this run">–</span>;
  return <span class="line">{said.verdict && <VerdictWords verdict={said.verdict} />}<span class="small faint" title="mean score">{said.mean}</span></span>;
}
