/** Rows as one bar: the hue shows a row's label, the fill the grader's verdict. All views use the same encoding. */

import type { Counts, Part } from "./protocol.ts";

export const GROUPS: readonly Part[][] = [
  ["good_accepted", "good_refused"],
  ["bad_accepted", "bad_refused"],
  ["accepted", "refused"],
  ["failed", "skipped"],
];

export const NAMES: Record<Part, string> = {
  good_accepted: "known good, accepted",
  good_refused: "known good, rejected",
  bad_accepted: "known bad, accepted",
  bad_refused: "known bad, rejected",
  accepted: "accepted, unlabelled",
  refused: "rejected, unlabelled",
  failed: "failed: no score",
  skipped: "skipped: no score",
};

export function sum(counts: Counts, parts: readonly Part[]): number {
  return parts.reduce((total, part) => total + counts[part], 0);
}

/** One piece of a bar, or of its legend. */
export function Segment({ part, grow, title }: { part: Part; grow?: number; title?: string }) {
  const style = grow === undefined ? undefined : { flexGrow: grow };
  return <span class={`seg ${part}`} style={style} title={title} />;
}

/** A square that shows the result of one row. */
export function Square({ part }: { part: Part }) {
  return <i class={`seg square ${part}`} role="img" aria-label={NAMES[part]} title={NAMES[part]} />;
}

export function describe(counts: Counts): string {
  const parts = GROUPS.flat().filter((part) => counts[part]);
  return parts.map((part) => `${counts[part]} ${NAMES[part]}`).join(", ") || "no row";
}

/** How many of the selected rows a bar contains, as a line under it. */
export function PickedShare({ part, whole }: { part: number; whole: number }) {
  const said = `${part.toLocaleString("en")} selected`;
  return <span class="picked-share" role="img" aria-label={said} title={said}><i style={{ width: `${(100 * part) / Math.max(1, whole)}%` }} /></span>;
}

export function Bar({ counts, class: name = "" }: { counts: Counts; class?: string }) {
  return (
    <span class={`bar ${name}`} role="img" aria-label={describe(counts)}>
      {GROUPS.filter((group) => sum(counts, group)).map((group) => (
        <span key={group[0]} style={{ flex: `${sum(counts, group)} 1 0px` }}>
          {group
            .filter((part) => counts[part])
            .map((part) => (
              <Segment key={part} part={part} grow={counts[part]} title={`${counts[part].toLocaleString("en")} ${NAMES[part]}`} />
            ))}
        </span>
      ))}
    </span>
  );
}
