/** Which column is the prompt, the completion, the reference, the label, the group: chosen by clicking, with the first cells of each. */

import { useState } from "preact/hooks";
import { useLink } from "./context.ts";
import { Icon } from "./Icon.tsx";
import type { Columns as ColumnsData, Role } from "./protocol.ts";
import { useTell } from "./view.ts";

const ROLES: readonly [role: Role, means: string][] = [
  ["prompt", "The input of the model"],
  ["completion", "What the model returned: this is graded"],
  ["reference", "The expected completion"],
  ["labels", "Whether the completion is good or bad"],
  ["group", "Rows with the same value are completions of one prompt"],
];

export function Columns({ data }: { data: ColumnsData }) {
  const tell = useTell();
  const problem = useLink().state.head.value.problem;
  const [roles, setRoles] = useState(data.roles);
  const [sent, setSent] = useState(false);
  // A column has one role, and a role one column; pressing it again removes it.
  const choose = (role: Role, name: string) => {
    const others = Object.fromEntries(Object.entries(roles).map(([other, column]) => [other, column === name ? "" : column])) as typeof roles;
    setRoles({ ...others, [role]: roles[role] === name ? "" : name });
    setSent(false);
  };
  const use = (event: Event) => {
    event.preventDefault();
    setSent(true);
    tell({ do: "map_columns", roles });
  };
  return (
    <form class="columns-page" aria-label="Columns" onSubmit={use}>
      <div class="head"><h2>Which column is what?</h2></div>
      <p class="lead">
        {data.reason && <><b class="reason">{sentence(data.reason)}</b> </>}
        {data.proposed ? "Nothing is graded until you choose. Columns that fit by name and content are selected." : "The rows are read again with the columns that you choose."}
      </p>
      <div class="scroll" tabIndex={0} role="group" aria-label="Columns and their roles">
        <table>
          <thead><tr><th scope="col">column</th><th scope="col">first rows</th><th scope="col">role</th></tr></thead>
          <tbody>
            {data.columns.map(({ name, cells, note }) => (
              <tr key={name}>
                <th scope="row"><span class="mono">{name}</span><span class="tiny faint">{note}</span></th>
                <td>{cells.map((cell, at) => <span key={at} class="cell cut" title={cell}>{cell || <i class="faint">(empty)</i>}</span>)}</td>
                <td>
                  <span class="roles" role="group" aria-label={`role of ${name}`}>
                    {ROLES.map(([role, means]) => (
                      <button key={role} type="button" class="chip" title={means} aria-pressed={roles[role] === name} onClick={() => choose(role, name)}>{role}</button>
                    ))}
                  </span>
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      <FirstRow data={data} roles={roles} />
      <div class="line begin">
        <button type="submit" class="btn main" disabled={!roles.completion || (sent && !problem)}>Use these columns</button>
        {!data.required && <button type="button" class="btn" onClick={() => tell({ do: "show_columns", on: false })}>Keep these columns</button>}
        {!roles.completion && <span class="small mute"><Icon name="wait" small /> Choose the completion: it is what graders grade.</span>}
      </div>
    </form>
  );
}

/** The first row as it would be read. */
function FirstRow({ data, roles }: { data: ColumnsData; roles: ColumnsData["roles"] }) {
  const cell = (role: Role) => data.columns.find(({ name }) => name === roles[role])?.cells[0] ?? "";
  const read = ROLES.filter(([role]) => roles[role]);
  if (!read.length) return null;
  return (
    <dl class="first-row" aria-label="The first row">
      {read.map(([role]) => <div key={role}><dt class="role">{role}</dt><dd class="cut" title={cell(role)}>{cell(role) || "(empty)"}</dd></div>)}
    </dl>
  );
}

function sentence(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}.`;
}
