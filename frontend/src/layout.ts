/** The width and text alignment of each column. */

import type { ColumnInfo, Row } from "./protocol.ts";
import { plain } from "./Pieces.tsx";

export interface Layout {
  template: string; // for the grid of every line
  least: number; // pixels below which the table is scrolled sideways
  numeric: Set<string>; // keys of columns whose texts are numbers
}

/** Minimum width of a column that takes the remaining width. */
const FLEXIBLE = 180;
export const NARROWEST = 40;
const GAP = 12;
const EDGES = 32;

/** Default column widths. */
const WIDTHS: Record<ColumnInfo["kind"], number> = { text: 0, number: 64, label: 56, score: 64, row: 96 };

export function widthOf({ key, kind, width }: ColumnInfo, widths: Record<string, number>): number {
  return widths[key] ?? (width || WIDTHS[kind]);
}

export function layoutOf(shown: ColumnInfo[], widths: Record<string, number>, first: Row[]): Layout {
  const wide = shown.map((column) => widthOf(column, widths));
  const flexible = wide.some((width) => !width);
  // At least one column has to fill the line.
  const template = wide.map((width, at) => (width && (flexible || at) ? `${width}px` : `minmax(${width || FLEXIBLE}px, 1fr)`)).join(" ");
  const least = wide.reduce((sum, width) => sum + (width || FLEXIBLE), EDGES + GAP * Math.max(0, shown.length - 1));
  return { template, least, numeric: new Set(shown.filter((column, at) => isNumeric(column, at, first)).map(({ key }) => key)) };
}

function isNumeric({ kind }: ColumnInfo, at: number, first: Row[]): boolean {
  if (kind === "number" || kind === "score") return true;
  if (kind !== "text") return false;
  const texts = first.slice(0, 30).flatMap(({ cells }) => {
    const cell = cells[at];
    return cell && "t" in cell ? [plain(cell.t)] : [];
  });
  return texts.length > 0 && texts.every((text) => /^[-+]?[\d.,\s%]{1,12}$/.test(text));
}

/** Widths after the right edge of a column was moved: a flexible one takes the width from the next. */
export function moved(shown: ColumnInfo[], widths: Record<string, number>, at: number, by: number): Record<string, number> {
  const column = shown[at];
  const next = shown[at + 1];
  if (!column) return widths;
  const width = widthOf(column, widths);
  if (!width && next && widthOf(next, widths)) return { ...widths, [next.key]: Math.max(NARROWEST, widthOf(next, widths) - by) };
  return { ...widths, [column.key]: Math.max(NARROWEST, (width || FLEXIBLE) + by) };
}
