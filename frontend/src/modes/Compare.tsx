/** Compare: two graders as four groups of rows, their agreement with the labels, and the rows on which they differ. */

import { useLink } from "../context.ts";
import { Bar, GROUPS, sum } from "../Bar.tsx";
import { Icon, Meaning } from "../Icon.tsx";
import type { CompareData } from "../protocol.ts";
import { Agreement } from "./parts/Agreement.tsx";
import { IntervalTerm } from "./parts/Interval.tsx";
import { PairList } from "./parts/PairList.tsx";
import { useSearch } from "./parts/typed.ts";
import { Empty, Loading, named, Select, Toggle } from "./parts/words.tsx";

export function Compare() {
  const link = useLink();
  const compare = link.state.compare.value;
  return (
    <div class="mode half mode-compare">
      <section aria-label="Compare">
        {compare ? <Sides compare={compare} /> : <Loading what="reading the grades" />}
        {compare && (compare.why_not ? <WhyNot compare={compare} /> : <Overview compare={compare} />)}
      </section>
      <section aria-label="Rows">{compare && !compare.why_not && <Rows compare={compare} />}</section>
    </div>
  );
}

/** Select the two graders: choosing the same one twice swaps them. */
function Sides({ compare }: { compare: CompareData }) {
  const link = useLink();
  const { a, b, graders, n } = compare;
  const choose = (sides: { a: string; b: string }) => link.tell({ do: "compare", ...sides });
  return (
    <div class="head">
      <Side letter="A" value={a} graders={graders} choose={(name) => choose({ a: name, b: name === b ? a : b })} />
      <button type="button" class="btn icon plain" aria-label="Swap A and B" title="Swap A and B" disabled={!a || !b} onClick={() => choose({ a: b, b: a })}><Icon name="swap" /></button>
      <Side letter="B" value={b} graders={graders} choose={(name) => choose({ a: name === a ? b : a, b: name })} />
      <span class="grow" />
      {n > 0 && <span class="small faint rows">{n.toLocaleString("en")} rows</span>}
    </div>
  );
}

function Side({ letter, value, graders, choose }: { letter: string; value: string; graders: string[]; choose: (name: string) => void }) {
  return (
    <span class="line side-choice">
      <span class="letter" aria-hidden="true">{letter}</span>
      <Select class="code" name={`Grader ${letter}`} tip={value} value={value} choices={named(graders)} disabled={!graders.length} choose={choose} />
    </span>
  );
}

function WhyNot({ compare }: { compare: CompareData }) {
  const link = useLink();
  const head = link.state.head.value;
  return (
    <Empty title="Two graders on the same rows" step={compare.why_not}>
      {head.can_run && <button type="button" class="btn main" onClick={() => link.tell({ do: "run" })}><Icon name="play" />Run</button>}
    </Empty>
  );
}

function Overview({ compare }: { compare: CompareData }) {
  return (
    <div class="scroll" tabIndex={0} role="group" aria-label="Where they agree and differ">
      <p class="lead"><b>{compare.lead}</b>{compare.rest}</p>
      <Quadrants compare={compare} />
      {compare.all && <Agreement all={compare.all} a={compare.a} b={compare.b} />}
      {compare.labels && <Labels labels={compare.labels} />}
    </div>
  );
}

function Quadrants({ compare }: { compare: CompareData }) {
  const link = useLink();
  const most = Math.max(1, ...compare.cells.map(({ counts }) => sum(counts, GROUPS.flat())));
  return (
    <div class="quadrants" role="group" aria-label="Rows by both verdicts">
      {compare.cells.map(({ key, title, count, note, counts }) => (
        <button type="button" key={key} aria-pressed={key === compare.chosen} onClick={() => link.tell({ do: "quadrant", key, only: "", search: compare.list.search })}>
          <b class="small">{title}</b>
          <span class="number">{count.toLocaleString("en")}</span>
          <span class="small mute">{note}</span>
          <span class="share" style={{ width: `${Math.max(6, (100 * sum(counts, GROUPS.flat())) / most)}%` }}>{count > 0 && <Bar counts={counts} />}</span>
        </button>
      ))}
    </div>
  );
}

function Labels({ labels }: { labels: NonNullable<CompareData["labels"]> }) {
  return (
    <div class="says">
      <Meaning shape={labels.shape} />
      <div>
        <p class="says-lead"><b>{labels.lead}</b></p>
        <dl>
          {labels.lines.map(({ name, text, strong, interval }) => (
            <div key={name}>
              <dt class="mute">{name}</dt>
              <dd>{strong ? <b>{text}</b> : text}{interval && <span class="mute"> <IntervalTerm /> {interval}</span>}</dd>
            </div>
          ))}
        </dl>
        {labels.note && <p class="mute">{labels.note}</p>}
      </div>
    </div>
  );
}

function Rows({ compare }: { compare: CompareData }) {
  const { list, revision } = compare;
  const searched = list.search || list.only;
  const empty = searched ? "No match: change the search, or show good and bad." : "No rows: select another of the four groups.";
  return (
    <>
      <div class="head">
        <h2>{list.title}</h2>
        <span class="small faint grow cut">{list.note}</span>
        <Only compare={compare} which="bad" />
        <Only compare={compare} which="good" />
      </div>
      <SearchLine compare={compare} />
      <PairList revision={revision} count={list.count} empty={empty} />
    </>
  );
}

function Only({ compare, which }: { compare: CompareData; which: "good" | "bad" }) {
  const link = useLink();
  const { list, chosen } = compare;
  const on = list.only === which;
  const press = () => link.tell({ do: "quadrant", key: chosen, only: on ? "" : which, search: list.search });
  return <Toggle class={`chip ${on ? "on" : "new"}`} on={on} shape={which} text={`${list[which].toLocaleString("en")} ${which}`} name={`${list[which].toLocaleString("en")} ${which}, show only these`} press={press} />;
}

function SearchLine({ compare }: { compare: CompareData }) {
  const link = useLink();
  const { list, chosen } = compare;
  const search = useSearch(list.search, (text) => link.tell({ do: "quadrant", key: chosen, only: list.only, search: text }));
  return (
    <div class="search-line">
      <div class="search grow">
        <Icon name="find" />
        <input type="search" aria-label="Search these rows" placeholder={`Search ${list.count.toLocaleString("en")} rows`} value={search.text} onInput={(event) => search.type(event.currentTarget.value)} onKeyDown={(event) => event.key === "Enter" && search.flush()} />
      </div>
    </div>
  );
}
