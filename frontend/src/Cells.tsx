/** The content of one cell of the table. */

import { Square } from "./Bar.tsx";
import { Icon, Meaning } from "./Icon.tsx";
import { Pieces } from "./Pieces.tsx";
import type { Cell, ColumnInfo } from "./protocol.ts";

export function CellView({ cell, kind, numeric }: { cell: Cell | undefined; kind: ColumnInfo["kind"]; numeric: boolean }) {
  if (!cell) return null;
  if ("t" in cell) return <span class={numeric || kind === "row" ? "mono ans" : "ans"}><Pieces pieces={cell.t} quiet /></span>;
  if ("n" in cell) return <span class="mono">{cell.n}</span>;
  if ("label" in cell) return <Truth label={cell.label} changed={cell.changed} />;
  return <ScoreCell cell={cell} />;
}

/** A row's label, as shape and word. */
export function Truth({ label, changed = false }: { label: boolean | null; changed?: boolean }) {
  if (label === null) return <span class="truth faint">–</span>;
  return <span class="truth"><Meaning shape={label ? "good" : "bad"} small /><span class="word">{label ? "good" : "bad"}</span>{changed && <span class="changed-label" title="Differs from the label in the data" role="img" aria-label="changed">•</span>}</span>;
}

function ScoreCell({ cell: { score, part, was, tip } }: { cell: Extract<Cell, { score: string }> }) {
  return (
    <span class="sc" title={tip}>
      {was !== undefined && <><span class="faint">{was}</span><Icon name="right" class="faint" small /></>}
      <span class={part ? "" : "faint"}>{score || "–"}</span>
      {part && <Square part={part} />}
    </span>
  );
}
