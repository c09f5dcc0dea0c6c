/** The width and text alignment of each column. */

import type { ColumnInfo, Row } from "./protocol.ts";
import { plain } from "./Pieces.tsx";

export interface Layout {
  template: string; // for the grid of every line
  least: number; // pixels below which the table is scrolled sideways
  numeric: Set<string>; // keys of columns whose texts are numbers
}

/** Minimum width of a column that takes the remaining width; in a narrow table the second number. */
const FLEXIBLE = 180;
const TIGHT = 116;
/** Widths of other columns in a narrow table, where a user did not set them. */
const NARROW: Record<ColumnInfo["kind"], number> = { text: 76, number: 56, label: 58, score: 58, row: 64 };
/** The same below `SMALL` pixels, where the style sheet also reduces the space between columns and hides the label's word. */
const TINY: typeof NARROW = { text: 48, number: 44, label: 20, score: 44, row: 48 };
const TINIEST = 72;
const SMALL = 320;
export const NARROWEST = 40;
const GAP = 12;
const EDGES = 32;

/** Default column widths. */
const WIDTHS: Record<ColumnInfo["kind"], number> = { text: 0, number: 64, label: 56, score: 64, row: 96 };

export function widthOf({ key, kind, width }: ColumnInfo, widths: Record<string, number>): number {
  return widths[key] ?? (width || WIDTHS[kind]);
}

/** Total width of columns, with the space around them. */
function total(wide: number[], flexible: number): number {
  return wide.reduce((sum, width) => sum + (width || flexible), EDGES + GAP * Math.max(0, wide.length - 1));
}

/**
 * Args: the shown columns, widths set in this page, the first rows, and the width of the table in pixels (0 if unknown).
 * If the columns do not fit, those without a width of the user become narrower before the table is scrolled sideways.
 */
export function layoutOf(shown: ColumnInfo[], widths: Record<string, number>, first: Row[], available = 0): Layout {
  const usual = shown.map((column) => widthOf(column, widths));
  const narrow = available > 0 && total(usual, FLEXIBLE) > available;
  const small = narrow && available < SMALL;
  const most = small ? TINY : NARROW;
  const wide = narrow ? shown.map((column, at) => (column.key in widths ? usual[at]! : Math.min(usual[at]!, most[column.kind]))) : usual;
  const least = narrow ? (small ? TINIEST : TIGHT) : FLEXIBLE;
  const around = small ? -(EDGES - 20) - 4 * (shown.length - 1) : 0;
  const flexible = wide.some((width) => !width);
  // At least one column has to fill the line.
  const template = wide.map((width, at) => (width && (flexible || at) ? `${width}px` : `minmax(${width || least}px, 1fr)`)).join(" ");
  return { template, least: total(wide, least) + around, numeric: new Set(shown.filter((column, at) => isNumeric(column, at, first)).map(({ key }) => key)) };
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
