/** Menu to add a filter: by label, by the selected grader's result, or by any column of the data. */

import { useState } from "preact/hooks";
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
      {table.fields.length > 0 && <hr />}
      {table.fields.map((field) => (
        <Item key={field} act={() => choose(field)}><span class="cut grow">{field}</span><span class="faint">…</span></Item>
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
      <button type="button" class="item" onClick={back}><Icon name="undo" small /><b class="cut">{field}</b></button>
      {problem && <p class="small c-failed" role="alert">Could not read its values.</p>}
      {!answer && !problem && <p class="small faint" role="status">reading values …</p>}
      {answer?.kind === "numbers" && <Range lo={answer.lo as number} hi={answer.hi as number} add={(between) => add([{ column: answer.column, between }])} />}
      {answer?.kind === "times" && <Times lo={String(answer.lo)} hi={String(answer.hi)} add={(between) => add([{ column: answer.column, between }])} />}
      {answer?.kind === "values" && (
        <Menu label={`Values of ${field}`}>
          {answer.values.map(({ text, count: rows, where }) => (
            <Item key={text} act={() => add(where)}><span class="cut grow">{text}</span><span class="faint">{count(rows)}</span></Item>
          ))}
        </Menu>
      )}
    </div>
  );
}

function Range({ lo, hi, add }: { lo: number; hi: number; add: (between: [number, number]) => void }) {
  const [ends, setEnds] = useState<[string, string]>([String(lo), String(hi)]);
  const numbers = ends.map(Number) as [number, number];
  const wrong = ends.some((end) => !end.trim()) || numbers.some(Number.isNaN) || numbers[0] > numbers[1];
  const submit = (event: Event) => {
    event.preventDefault();
    if (!wrong) add(numbers);
  };
  return (
    <form class="range" onSubmit={submit}>
      <label class="small">from <input type="number" step="any" value={ends[0]} onInput={(event) => setEnds([event.currentTarget.value, ends[1]])} /></label>
      <label class="small">to <input type="number" step="any" value={ends[1]} onInput={(event) => setEnds([ends[0], event.currentTarget.value])} /></label>
      <span class="tiny faint">{short(lo)} to {short(hi)}</span>
      <button type="submit" class="btn main" disabled={wrong}>Filter</button>
    </form>
  );
}

/** A range of days, both included. */
function Times({ lo, hi, add }: { lo: string; hi: string; add: (between: [string, string]) => void }) {
  const [first, last] = [lo.slice(0, 10), hi.slice(0, 10)];
  const [days, setDays] = useState<[string, string]>([first, last]);
  const wrong = !days[0] || !days[1] || days[0] > days[1];
  const submit = (event: Event) => {
    event.preventDefault();
    if (!wrong) add([days[0], `${days[1]}T23:59:59.999`]);
  };
  return (
    <form class="range" onSubmit={submit}>
      <label class="small">from <input type="date" value={days[0]} onInput={(event) => setDays([event.currentTarget.value, days[1]])} /></label>
      <label class="small">to <input type="date" value={days[1]} onInput={(event) => setDays([days[0], event.currentTarget.value])} /></label>
      <span class="tiny faint">{first} to {last}</span>
      <button type="submit" class="btn main" disabled={wrong}>Filter</button>
    </form>
  );
}
