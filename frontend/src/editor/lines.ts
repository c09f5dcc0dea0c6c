/** Which lines of a text are new relative to another text: the gutter marks them. */

/** Maximum cells of the table that compares lines; a larger middle part counts as new as a whole. */
const MOST = 4_000_000;

/** Numbers, from 1, of the lines of `now` that `before` does not have, and of lines before which something was removed. */
export function newLines(before: string, now: string): Set<number> {
  const old = before.split("\n");
  const fresh = now.split("\n");
  let start = 0;
  while (start < old.length && start < fresh.length && old[start] === fresh[start]) start += 1;
  let end = 0;
  while (end < old.length - start && end < fresh.length - start && old.at(-1 - end) === fresh.at(-1 - end)) end += 1;
  const left = old.slice(start, old.length - end);
  const right = fresh.slice(start, fresh.length - end);
  if (!right.length) return left.length ? new Set([Math.max(1, Math.min(start + 1, fresh.length))]) : new Set();
  const same = left.length * right.length > MOST ? new Set<number>() : common(left, right);
  return new Set(right.flatMap((_, at) => (same.has(at) ? [] : [start + at + 1])));
}

/** Indices in `right` of the longest common run of lines. */
function common(left: string[], right: string[]): Set<number> {
  const width = right.length + 1;
  const best = new Uint32Array((left.length + 1) * width);
  const at = (row: number, column: number) => best[row * width + column] as number;
  for (let row = left.length - 1; row >= 0; row -= 1) {
    for (let column = right.length - 1; column >= 0; column -= 1) {
      best[row * width + column] =
        left[row] === right[column] ? at(row + 1, column + 1) + 1 : Math.max(at(row + 1, column), at(row, column + 1));
    }
  }
  const found = new Set<number>();
  let row = 0;
  let column = 0;
  while (row < left.length && column < right.length) {
    if (left[row] === right[column]) {
      found.add(column);
      row += 1;
      column += 1;
    } else if (at(row + 1, column) >= at(row, column + 1)) row += 1;
    else column += 1;
  }
  return found;
}
