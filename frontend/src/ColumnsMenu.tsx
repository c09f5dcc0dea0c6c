/** Menu to select the columns of the rows. */

import { Breakable } from "./Breakable.tsx";
import { Icon } from "./Icon.tsx";
import { Popover } from "./Popover.tsx";
import type { Table } from "./protocol.ts";
import { useTell, useView } from "./view.ts";

export function ColumnsMenu({ table: { columns } }: { table: Table }) {
  const tell = useTell();
  const { dense, condense } = useView();
  const show = (chosen: string, on: boolean) =>
    tell({ do: "columns", columns: columns.map(({ key, shown, width }) => ({ key, width, shown: key === chosen ? on : shown })) });
  const last = columns.filter(({ shown }) => shown).length === 1;
  return (
    <Popover class="btn icon" side="right" name="columns" label="Columns that are shown" button={<Icon name="columns" />}>
      {() => (
        <div class="choices" role="group" aria-label="Columns">
          <label class="choice apart">
            <input class="tick" type="checkbox" checked={dense.value} onChange={(event) => condense(event.currentTarget.checked)} />
            <span class="cut">one line per row</span>
          </label>
          {columns.map(({ key, title, shown }) => (
            <label key={key} class="choice">
              <input class="tick" type="checkbox" checked={shown} disabled={shown && last} onChange={(event) => show(key, event.currentTarget.checked)} />
              <span><Breakable text={title} /></span>
            </label>
          ))}
        </div>
      )}
    </Popover>
  );
}
