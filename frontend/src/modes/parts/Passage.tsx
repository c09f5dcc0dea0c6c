/** An untrusted text, unchanged: marked pieces, never markup, and at most 8,000 characters in one node. */

import { useState } from "preact/hooks";
import type { Piece, PieceOfText, Pieces } from "../../protocol.ts";

/** Maximum characters of one text node: browsers lay out a longer one slowly. */
export const NODE = 8_000;

const CLASSES = { gone: "d-del", new: "d-add" } as const;

export function Passage({ pieces }: { pieces: Pieces }) {
  return <>{pieces.flatMap(([text, mark]) => parts(text).map((part, at) => <Marked key={at} text={part} mark={mark} />))}</>;
}

function Marked({ text, mark }: { text: string; mark: Piece[1] }) {
  if (mark === "found") return <mark>{text}</mark>;
  return <span class={mark ? CLASSES[mark] : undefined}>{text}</span>;
}

function parts(text: string): string[] {
  if (text.length <= NODE) return [text];
  return Array.from({ length: Math.ceil(text.length / NODE) }, (_, at) => text.slice(at * NODE, (at + 1) * NODE));
}

/** Characters as the kernel counts them: a surrogate pair is one. */
export function lengthOf(pieces: Pieces): number {
  return pieces.reduce((length, [text]) => length + [...text].length, 0);
}

export function plain(pieces: Pieces): string {
  return pieces.map(([text]) => text).join("");
}

/** The start of a text as one line, for a card or a list. */
export function oneLine(text: string): string {
  return text.slice(0, 300).trim().replace(/\s*\n\s*/g, "  ");
}

interface Long {
  pieces: Pieces;
  more: number; // characters that are not here yet
  read: (start: number) => Promise<PieceOfText>;
}

/** A text whose rest is loaded piece by piece. */
export function LongPassage({ pieces, more, read }: Long) {
  const [later, setLater] = useState<PieceOfText[]>([]);
  const [problem, setProblem] = useState("");
  const last = later.at(-1);
  const rest = last ? last.total - last.stop : more;
  const next = () =>
    read(last ? last.stop : lengthOf(pieces)).then(
      (piece) => (setProblem(""), setLater([...later, piece])),
      () => setProblem("could not read the rest"),
    );
  return (
    <>
      <Passage pieces={pieces} />
      {later.map((piece) => <Passage key={piece.start} pieces={piece.text} />)}
      {rest > 0 && <More rest={rest} problem={problem} next={next} />}
    </>
  );
}

function More({ rest, problem, next }: { rest: number; problem: string; next: () => void }) {
  return (
    <span class="more-text">
      <button type="button" class="link" onClick={next}>show the next piece</button>
      <span class="small faint">{rest.toLocaleString("en")} more characters{problem && `; ${problem}`}</span>
    </span>
  );
}

/** A long text that is loaded already, shown piece by piece. */
export function HereText({ text }: { text: string }) {
  const read = (start: number) => Promise.resolve(pieceAt(text, start));
  const first = pieceAt(text, 0);
  return <LongPassage key={text} pieces={first.text} more={first.total - first.stop} read={read} />;
}

function pieceAt(text: string, start: number): PieceOfText {
  const stop = Math.min(text.length, start + NODE);
  return { text: [[text.slice(start, stop), ""]], start, stop, total: text.length };
}
