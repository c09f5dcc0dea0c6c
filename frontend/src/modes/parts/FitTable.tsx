/** How each platform supports each grader: one shape and word per cell, its note on hover. */

import { Breakable } from "../../Breakable.tsx";
import { useRef, useState } from "preact/hooks";
import { useLink } from "../../context.ts";
import { Icon, type IconName } from "../../Icon.tsx";
import type { ExportData, Fit } from "../../protocol.ts";
import { useWidth } from "../../size.ts";

type Platform = ExportData["platforms"][number];
type Line = ExportData["graders"][number];
type CellFit = Line["fits"][number];

const FITS: Record<Fit | "busy", { icon: IconName; word: string; class: string; tip: string }> = {
  yes: { icon: "yes", word: "yes", class: "c-good", tip: "yes: exported natively" },
  code: { icon: "code", word: "code", class: "", tip: "code: the same rule as a program" },
  loss: { icon: "loss", word: "with loss", class: "", tip: "with loss" },
  no: { icon: "dash", word: "no", class: "faint", tip: "no" },
  busy: { icon: "wait", word: "…", class: "faint", tip: "being checked" },
};
/** Width of the first column in pixels, and the minimum width of a platform's. */
const NAME = 186;
const NARROW_NAME = 96; // where the other would leave no room for a platform
const NARROW = 360;
const COLUMN = 76; // shows a part of the next column if there are more
const GROUPS = { platform: "platforms", trainer: "trainers and evaluators" } as const;
const STAR = "* something without effect on scores is not exported, such as a name or a description; hover over a cell to read it.";

export function FitLegend() {
  return (
    <span class="fit-legend small mute">
      {(["yes", "code", "loss", "no"] as const).map((fit) => (
        <span key={fit}><Icon name={FITS[fit].icon} class={FITS[fit].class} small />{FITS[fit].tip}</span>
      ))}
    </span>
  );
}

export function FitTable({ data }: { data: ExportData }) {
  const [note, setNote] = useState("");
  const body = useRef<HTMLTableSectionElement>(null);
  const { element: box, width } = useWidth<HTMLDivElement>(0);
  const [left, setLeft] = useState(0);
  const names = width && width < NARROW ? NARROW_NAME : NAME;
  const beyond = beyondEdge(data.platforms.length, width, left, names);
  const starred = data.graders.some(({ fits }) => fits.some(hasStar));
  const point = (cell: Element | null) => setNote(cell?.closest("button[data-note]")?.getAttribute("data-note") ?? "");
  return (
    <>
      <div class="fit-scroll scroll" ref={box} onScroll={(event) => setLeft(event.currentTarget.scrollLeft)}>
        <table class="fit" style={{ minWidth: `${names + COLUMN * data.platforms.length}px` }}>
          <caption class="unseen">How each platform supports each grader</caption>
          <colgroup><col style={{ width: `${names}px` }} />{data.platforms.map(({ name }) => <col key={name} />)}</colgroup>
          <Head data={data} />
          <tbody ref={body} onKeyDown={(event) => walk(event, body.current)} onPointerOver={(event) => point(event.target as Element)} onPointerLeave={() => setNote("")} onFocusIn={(event) => point(event.target as Element)} onFocusOut={() => setNote("")}>
            {data.graders.filter(({ draft }) => !draft).map((line, at) => <GraderRow key={line.name} line={line} data={data} first={at === 0} />)}
            {data.graders.filter(({ draft }) => draft).map((line) => <DraftRow key={line.name} line={line} span={data.platforms.length} />)}
          </tbody>
        </table>
      </div>
      <div class="fit-foot">
        <p class="small faint fit-note" aria-live="polite">{note || (starred ? STAR : "Hover over a cell to read more; select a platform in the header.")}</p>
        {beyond > 0 && <button type="button" class="link small more-right" onClick={() => box.current?.scrollBy({ left: box.current.clientWidth - names })}>{beyond} more on the right</button>}
      </div>
    </>
  );
}

/** How many platforms are beyond the right edge of the table's box. */
export function beyondEdge(platforms: number, width: number, left: number, names = NAME): number {
  return width ? Math.max(0, Math.round((names + COLUMN * platforms - width - left) / COLUMN)) : 0;
}

function Head({ data }: { data: ExportData }) {
  const link = useLink();
  const groups = (["platform", "trainer"] as const).map((group) => ({ group, list: data.platforms.filter((each) => each.group === group) })).filter(({ list }) => list.length);
  return (
    <thead>
      {groups.length > 1 && (
        <tr class="groups">
          <td />
          {groups.map(({ group, list }) => <th key={group} scope="colgroup" colSpan={list.length}><span>{GROUPS[group]}</span></th>)}
        </tr>
      )}
      <tr class="names">
        <th scope="col">grader</th>
        {ordered(data.platforms).map(({ name, title }) => (
          <th key={name} scope="col" class={name === data.chosen ? "chosen" : ""}>
            <button type="button" aria-pressed={name === data.chosen} title={`Preview ${title}`} onClick={() => link.tell({ do: "export", platform: name })}><Breakable text={title} /></button>
          </th>
        ))}
      </tr>
    </thead>
  );
}

/** Platforms before trainers, each in the kernel's order. */
function ordered(platforms: Platform[]): Platform[] {
  return [...platforms].sort((a, b) => Number(a.group === "trainer") - Number(b.group === "trainer"));
}

function GraderRow({ line, data, first }: { line: Line; data: ExportData; first: boolean }) {
  const link = useLink();
  return (
    <tr class={line.ticked ? "" : "off"}>
      <th scope="row">
        <label class="line" title={line.say}>
          <input type="checkbox" checked={line.ticked} onChange={(event) => link.tell({ do: "tick", name: line.name, on: event.currentTarget.checked })} />
          <span class="named"><Breakable text={line.name} /></span>
        </label>
      </th>
      {ordered(data.platforms).map((platform, at) => (
        <td key={platform.name} class={platform.name === data.chosen ? "chosen" : ""}>
          <FitCell fit={line.fits[data.platforms.indexOf(platform)]} grader={line.name} platform={platform.title} stop={first && at === 0} />
        </td>
      ))}
    </tr>
  );
}

/** Its note is shown on hover, or with the arrow keys: the table is one tab stop. */
function FitCell({ fit, grader, platform, stop }: { fit: CellFit | undefined; grader: string; platform: string; stop: boolean }) {
  if (!fit) return null;
  const { icon, word, class: colour } = FITS[fit.fit];
  const said = fit.note ? `: ${fit.note}` : "";
  return (
    <button type="button" class={`fit-cell ${fit.fit}`} tabIndex={stop ? 0 : -1} data-note={`${grader}, ${platform}: ${fit.note || FITS[fit.fit].tip}`} title={fit.note} aria-label={`${grader} to ${platform}: ${word}${said}`}>
      <Icon name={icon} class={colour} small /><span>{word}</span>{hasStar(fit) && <sup class="faint">*</sup>}
    </button>
  );
}

function hasStar({ fit, note }: CellFit): boolean {
  return Boolean(note) && (fit === "yes" || fit === "code");
}

function DraftRow({ line, span }: { line: Line; span: number }) {
  return (
    <tr class="off draft">
      <th scope="row"><span class="line"><i class="dashed" aria-hidden="true" /><span class="named"><Breakable text={line.name} /></span></span></th>
      <td colSpan={span}>{line.say || "a draft: exported once its five checks pass"}</td>
    </tr>
  );
}

const STEPS: Record<string, [number, number]> = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] };

/** Arrow keys move between cells; the cell they reach becomes the table's tab stop. */
function walk(event: KeyboardEvent, body: HTMLElement | null): void {
  const step = STEPS[event.key];
  const cell = (event.target as Element).closest<HTMLElement>(".fit-cell");
  if (!step || !cell || !body) return;
  event.preventDefault();
  const rows = [...body.querySelectorAll("tr:not(.draft)")].map((row) => [...row.querySelectorAll<HTMLElement>(".fit-cell")]);
  const at = rows.findIndex((row) => row.includes(cell));
  const next = rows[at + step[0]]?.[(rows[at]?.indexOf(cell) ?? 0) + step[1]];
  if (!next) return;
  cell.tabIndex = -1;
  next.tabIndex = 0;
  next.focus();
}
