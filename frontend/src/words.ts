/** Numbers and small texts as the view shows them. */

export function count(value: number): string {
  return value.toLocaleString("en");
}

export function counted(value: number, noun: string): string {
  return `${count(value)} ${noun}${value === 1 ? "" : "s"}`;
}

/** A score or a pass threshold: four significant digits, without trailing zeros. */
export function short(value: number): string {
  if (!Number.isFinite(value)) return "–";
  return String(Number(value.toPrecision(4)));
}
