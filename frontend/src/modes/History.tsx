/** History: the versions of a grader with their error rates, the text changes, and the runs of this dataset. */

import { useLink } from "../context.ts";
import { Icon } from "../Icon.tsx";
import type { HistoryData } from "../protocol.ts";
import { Diff } from "./parts/Code.tsx";
import { Runs } from "./parts/Runs.tsx";
import { Spark } from "./parts/Spark.tsx";
import { languageOf, Versions } from "./parts/Versions.tsx";
import { Empty, Loading, Select } from "./parts/words.tsx";

export function History() {
  const link = useLink();
  const history = link.state.history.value;
  return (
    <div class="mode one mode-history">
      <section aria-label="History">
        {history ? <Story history={history} /> : <Loading what="reading the versions" />}
      </section>
    </div>
  );
}

function Story({ history }: { history: HistoryData }) {
  const { name, note, versions } = history;
  return (
    <>
      <div class="head"><b class="mono cut">{name || "History"}</b><span class="small faint cut">{note}</span></div>
      <div class="scroll" tabIndex={0} role="group" aria-label="Versions and runs">
        {versions.length ? <><Lead history={history} /><Versions history={history} /><Change history={history} /></> : <NoVersion name={name} />}
        <Runs stored={history.stored} runs={history.runs} />
      </div>
    </>
  );
}

function NoVersion({ name }: { name: string }) {
  const step = name ? "Change its text in Grade and save it: every saved version is listed here with its results." : "Select a grader on the left.";
  return <Empty title="No saved version yet" step={step} />;
}

function Lead({ history }: { history: HistoryData }) {
  const [first, ...later] = history.rest.split("\n"); // later lines are shown muted
  return (
    <div class="story">
      {history.sparks.map((spark) => <Spark key={spark.title} spark={spark} />)}
      <div class="story-words">
        <p class="lead"><b>{history.lead}</b>{first}</p>
        {later.length > 0 && <p class="mute">{later.join(" ")}</p>}
      </div>
    </div>
  );
}

function Change({ history }: { history: HistoryData }) {
  const link = useLink();
  const { versions, from, to, diff } = history;
  const bring = broughtBack(history);
  const show = (sides: { from?: string; to?: string }) => link.tell({ do: "version", from, to, ...sides });
  return (
    <>
      <div class="head change-head">
        <h3>Text changes</h3>
        <Side name="Older version" value={from} versions={versions} choose={(id) => show({ from: id })} />
        <Icon name="right" class="faint" small />
        <Side name="Newer version" value={to} versions={versions} choose={(id) => show({ to: id })} />
        <span class="grow" />
        <button type="button" class="btn" disabled={versions.length < 2 || from === to} onClick={() => link.tell({ do: "mode", mode: "compare" })}>Compare on rows</button>
        {bring && <button type="button" class="btn" onClick={() => link.tell({ do: "bring", version: bring.id })}><Icon name="undo" />Restore {bring.text}</button>}
      </div>
      {diff.some(({ kind }) => kind) ? <Diff lines={diff} language={languageOf(link)} /> : <p class="mute none">{same(history)}</p>}
    </>
  );
}

function same({ versions, from, to }: HistoryData): string {
  if (versions.length < 2) return "There is one version so far: change the text in Grade and save it to see the difference here.";
  return from === to ? "Select another version to see what changed." : "The two texts are the same.";
}

/** The version to restore: the selected one, or the older side if the newest is selected. */
export function broughtBack({ versions, from, to }: HistoryData): HistoryData["versions"][number] | undefined {
  const id = to === versions[0]?.id ? from : to;
  return versions.find((version) => version.id === id && version.can_bring);
}

function Side({ name, value, versions, choose }: { name: string; value: string; versions: HistoryData["versions"]; choose: (id: string) => void }) {
  return (
    <Select class="chip" name={name} value={value} choices={versions.map(({ id, text }) => ({ value: id, text }))} choose={choose} />
  );
}
