/** A text in pieces: marked matches, removed and added words; at most 8,000 characters in one node, and always text. */

import type { JSX } from "preact";
import type { Piece, Pieces as TextPieces } from "./protocol.ts";

/** Maximum characters of one node: browsers lay out longer ones slowly. */
export const NODE = 8_000;

/** `quiet`: line ends as a faint sign, for cells of a table. */
export function Pieces({ pieces, quiet = false }: { pieces: TextPieces; quiet?: boolean }) {
  return <>{pieces.map((piece, at) => <Marked key={at} piece={piece} quiet={quiet} />)}</>;
}

function Marked({ piece: [text, mark], quiet }: { piece: Piece; quiet: boolean }) {
  const shown = quiet ? withoutLines(text) : inNodes(text);
  if (mark === "found") return <mark>{shown}</mark>;
  if (!mark) return <>{shown}</>;
  return <span class={mark === "gone" ? "d-del" : "d-add"}>{shown}</span>;
}

function withoutLines(text: string): (string | JSX.Element)[] {
  return text.split(/\n+/).flatMap((line, at) => (at ? [<span key={at} class="nl"> ↵ </span>, line] : [line]));
}

function inNodes(text: string): string | JSX.Element[] {
  if (text.length <= NODE) return text;
  return Array.from({ length: Math.ceil(text.length / NODE) }, (_, at) => <span key={at}>{text.slice(at * NODE, (at + 1) * NODE)}</span>);
}

export function plain(pieces: TextPieces): string {
  return pieces.map(([text]) => text).join("");
}

/** Characters as the kernel counts them: a surrogate pair is one. */
export function lengthOf(pieces: TextPieces): number {
  return pieces.reduce((length, [text]) => length + [...text].length, 0);
}
