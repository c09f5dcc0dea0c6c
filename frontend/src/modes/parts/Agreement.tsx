/** More than two graders: a matrix of how often each two agree, and the rows by who differs. */

import { Breakable } from "../../Breakable.tsx";
import { useLink } from "../../context.ts";
import { moveFocus } from "../../Popover.tsx";
import type { AgreementData } from "../../protocol.ts";
import { counted, Term } from "./words.tsx";

interface Props {
  all: AgreementData;
  a: string;
  b: string;
}

/** With more graders than this, the cells are narrower. */
const WIDE = 7;

const percent = (share: number) => `${Math.round(100 * share)}`;

export function Agreement({ all, a, b }: Props) {
  return (
    <section class="agreement" aria-label="All graders">
      <div class="head"><h3><Term tip="Share of rows on which two graders have the same verdict, in percent.">All graders agree, %</Term></h3><span class="grow" /><span class="tiny faint">click a cell: its rows</span></div>
      <Matrix all={all} a={a} b={b} />
      {all.groups.length > 0 && <Groups all={all} />}
    </section>
  );
}

function Matrix({ all: { names, pairs }, a, b }: Props) {
  const link = useLink();
  const onKeyDown = (event: KeyboardEvent) => {
    if (!moveFocus(event, event.currentTarget as HTMLElement, "button", ["ArrowLeft", "ArrowRight"])) return;
    event.preventDefault();
    event.stopPropagation();
  };
  return (
    <div class={`matrix ${names.length > WIDE ? "wide" : ""}`} tabIndex={-1}>
      <table onKeyDown={onKeyDown}>
        <thead>
          <tr><td />{names.slice(0, -1).map((name, at) => <th key={name} scope="col" title={name} aria-label={name}>{at + 1}</th>)}</tr>
        </thead>
        <tbody>
          {names.map((name, line) => (
            <tr key={name}>
              <th scope="row"><span class="in-matrix"><span>{line + 1}</span> <span><Breakable text={name} /></span></span></th>
              {(pairs[line] ?? []).map((pair, at) => {
                const other = names[at] as string;
                const on = (a === other && b === name) || (a === name && b === other);
                const said = pair ? `${other} and ${name}: same verdict on ${percent(pair.same)} % of ${counted(pair.n, "row")}${pair.kappa === null ? "" : `, kappa ${pair.kappa.toFixed(2)}`}` : `${other} and ${name}: no row that both scored`;
                return (
                  <td key={other}>
                    {/* strong colour where they differ: that is what one looks for */}
                    <button type="button" aria-pressed={on} disabled={!pair} title={said} aria-label={`${said}: compare them`} style={pair ? { "--differ": `${Math.round(100 * Math.min(1, 2 * (1 - pair.same)))}%` } : undefined} onClick={() => link.tell({ do: "compare", a: other, b: name, differing: true })}>
                      {pair ? percent(pair.same) : "–"}
                    </button>
                  </td>
                );
              })}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Groups({ all: { groups, n_groups: count } }: { all: AgreementData }) {
  const link = useLink();
  const most = Math.max(...groups.map((group) => group.count));
  const open = (number: number) => {
    link.tell({ do: "compare_group", number });
    link.tell({ do: "mode", mode: "grade" });
  };
  return (
    <>
      <div class="head"><h3>Who differs</h3><span class="grow" />{count > groups.length && <span class="tiny faint">first {groups.length} of {count}</span>}</div>
      {groups.map(({ text, count: rows, good, bad }, number) => (
        <button type="button" class="differing" key={text} title={`${text}: ${good} good, ${bad} bad`} onClick={() => open(number)}>
          <span class="words"><Breakable text={text} sentence /></span>
          <span class="track" aria-hidden="true">
            <i class="bad" style={{ width: `${(100 * bad) / most}%` }} /><i class="good" style={{ width: `${(100 * good) / most}%` }} /><i class="rest" style={{ width: `${(100 * (rows - good - bad)) / most}%` }} />
          </span>
          <b class="num">{rows.toLocaleString("en")}</b>
        </button>
      ))}
    </>
  );
}
