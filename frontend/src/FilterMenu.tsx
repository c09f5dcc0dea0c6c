/** Menu to add a filter: by label, by the selected grader's result, or by any column of the data. */

import { useState } from "preact/hooks";
import { Breakable } from "./Breakable.tsx";
import { useLink } from "./context.ts";
import { Icon } from "./Icon.tsx";
import { Item, Menu, Popover } from "./Popover.tsx";
import type { Condition, FieldValues, Table } from "./protocol.ts";
import { useTell, useView } from "./view.ts";
import { count, short } from "./words.ts";

export function FilterMenu({ table }: { table: Table }) {
  return (
    <Popover class="chip new" label="Add a filter" button={<><Icon name="plus" small />Filter</>}>
      {(close) => <Choose table={table} close={close} />}
    </Popover>
  );
}

type Values = { field: string; answer: FieldValues | null; problem: boolean };

function Choose({ table, close }: { table: Table; close: () => void }) {
  const { link } = useView();
  const tell = useTell();
  const [open, setOpen] = useState<Values | null>(null);
  const add = (where: Condition[]) => {
    tell({ do: "filter", where });
    close();
  };
  const tags = () => {
    setOpen({ field: "tags", answer: null, problem: false });
    link.ask<FieldValues["values"]>({ ask: "tags" }).then(
      (values) => setOpen({ field: "tags", answer: { kind: "values", column: "", values, lo: 0, hi: 0 }, problem: false }),
      () => setOpen({ field: "tags", answer: null, problem: true }),
    );
  };
  const choose = (field: string) => {
    setOpen({ field, answer: null, problem: false });
    link.ask<FieldValues>({ ask: "values", field }).then(
      (answer) => setOpen((now) => (now?.field === field ? { ...now, answer } : now)),
      () => setOpen((now) => (now?.field === field ? { ...now, problem: true } : now)),
    );
  };
  if (open) return <FieldFilter open={open} back={() => setOpen(null)} add={add} />;
  return (
    <Menu label="Filter by">
      <Outcomes add={add} />
      {table.has_tags && <Item act={tags}><span class="cut grow">tag</span><span class="faint">…</span></Item>}
      {table.fields.length > 0 && <hr />}
      {table.fields.map((field) => (
        <Item key={field} act={() => choose(field)}><span class="grow"><Breakable text={field} /></span><span class="faint">…</span></Item>
      ))}
    </Menu>
  );
}

/** Filters by the selected grader's result and by label, without the data's columns. */
function Outcomes({ add }: { add: (where: Condition[]) => void }) {
  const { rail, chosen } = useLink().state;
  const grader = chosen.value.name;
  const labels: [string, Condition][] = rail.value.has_labels ? [["known good", { label: true }], ["known bad", { label: false }], ["unlabelled", { label: null }]] : [];
  const done: [string, Condition][] = chosen.value.scores
    ? [["accepted", { grader, passed: true }], ["rejected", { grader, passed: false }], ["failed", { grader, status: "failed" }], ["skipped", { grader, status: "skipped" }]]
    : [];
  return <>{[...labels, ...done].map(([text, where]) => <Item key={text} act={() => add([where])}>{text}</Item>)}</>;
}

function FieldFilter({ open: { field, answer, problem }, back, add }: { open: Values; back: () => void; add: (where: Condition[]) => void }) {
  return (
    <div class="field-filter">
      <button type="button" class="item" onClick={back}><Icon name="undo" small /><b><Breakable text={field} /></b></button>
      {problem && <p class="small c-failed" role="alert">Could not read its values.</p>}
      {!answer && !problem && <p class="small faint" role="status">reading values …</p>}
      {answer?.kind === "numbers" && (
        <Range type="number" ends={[String(answer.lo), String(answer.hi)]} says={`${short(Number(answer.lo))} to ${short(Number(answer.hi))}`} read={numbers} add={(between) => add([{ column: answer.column, between }])} />
      )}
      {answer?.kind === "times" && (
        <Range type="date" ends={[day(answer.lo), day(answer.hi)]} says={`${day(answer.lo)} to ${day(answer.hi)}`} read={days} add={(between) => add([{ column: answer.column, between }])} />
      )}
      {answer?.kind === "values" && (
        <Menu label={`Values of ${field}`}>
          {answer.values.map(({ text, count: rows, where }) => (
            <Item key={text} act={() => add(where)}><span class="value grow" title={text}>{text}</span><span class="faint">{count(rows)}</span></Item>
          ))}
        </Menu>
      )}
    </div>
  );
}

interface RangeProps<End> {
  type: "number" | "date";
  ends: [string, string];
  says: string; // the whole range
  read: (ends: [string, string]) => [End, End] | null; // null for no range
  add: (between: [End, End]) => void;
}

function Range<End>({ type, ends: all, says, read, add }: RangeProps<End>) {
  const [ends, setEnds] = useState(all);
  const between = read(ends);
  const submit = (event: Event) => {
    event.preventDefault();
    if (between) add(between);
  };
  return (
    <form class="range" onSubmit={submit}>
      <label class="small">from <input type={type} step="any" value={ends[0]} onInput={(event) => setEnds([event.currentTarget.value, ends[1]])} /></label>
      <label class="small">to <input type={type} step="any" value={ends[1]} onInput={(event) => setEnds([ends[0], event.currentTarget.value])} /></label>
      <span class="tiny faint">{says}</span>
      <button type="submit" class="btn main" disabled={!between}>Filter</button>
    </form>
  );
}

function numbers(ends: [string, string]): [number, number] | null {
  const [lo, hi] = ends.map(Number) as [number, number];
  return ends.every((end) => end.trim()) && lo <= hi ? [lo, hi] : null;
}

/** Days, both included. */
function days([first, last]: [string, string]): [string, string] | null {
  return first && last && first <= last ? [first, `${last}T23:59:59.999`] : null;
}

function day(time: string | number): string {
  return String(time).slice(0, 10);
}
