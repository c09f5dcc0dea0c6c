/** A text of which only the start was sent: its next pieces on demand, and a search through all of it. */

import { useState } from "preact/hooks";
import { useLink } from "./context.ts";
import { Icon } from "./Icon.tsx";
import { lengthOf, Pieces } from "./Pieces.tsx";
import type { FoundInText, PieceOfText, Pieces as TextPieces } from "./protocol.ts";
import { count } from "./words.ts";

interface LongTextProps {
  row: number;
  part: string;
  text: TextPieces;
  more: number; // characters that were not sent
}

export function LongText(props: LongTextProps) {
  return props.more > 0 ? <Long {...props} /> : <Pieces pieces={props.text} />;
}

function Long({ row, part, text, more }: LongTextProps) {
  const link = useLink();
  const first = lengthOf(text);
  const [pieces, setPieces] = useState<PieceOfText[]>([]);
  const [found, setFound] = useState<FoundInText | null>(null);
  const [problem, setProblem] = useState("");
  const total = first + more;
  const stop = pieces.at(-1)?.stop ?? first;
  const failed = () => setProblem("Could not read this part. Try again.");
  const next = () =>
    link.ask<PieceOfText>({ ask: "piece", row, part, start: stop }).then((piece) => {
      setProblem("");
      setPieces((before) => (before.at(-1)?.stop === piece.stop ? before : [...before, piece]));
    }, failed);
  const find = (words: string, nth: number) =>
    words ? link.ask<FoundInText>({ ask: "find", row, part, text: words, nth }).then(setFound, failed) : setFound(null);
  return (
    <span class="long">
      <FindInside found={found} find={find} total={total} />
      {found?.count ? (
        <Found found={found} />
      ) : (
        <>
          <span class="piece"><Pieces pieces={text} /></span>
          {pieces.map((piece) => <span class="piece" key={piece.start}><Pieces pieces={piece.text} /></span>)}
          {stop < total && <button type="button" class="link small next-piece" onClick={next}>Show the next piece <span class="faint">({count(total - stop)} more characters)</span></button>}
        </>
      )}
      {problem && <span class="small c-failed" role="alert">{problem}</span>}
    </span>
  );
}

function Found({ found }: { found: FoundInText }) {
  const { start, stop, total, text } = found;
  return (
    <>
      <span class="tiny faint place">characters {count(start + 1)} to {count(stop)} of {count(total)}</span>
      <span class="piece">{start > 0 && "… "}<Pieces pieces={text} />{stop < total && " …"}</span>
    </>
  );
}

interface FindProps {
  found: FoundInText | null;
  find: (words: string, nth: number) => unknown;
  total: number;
}

function FindInside({ found, find, total }: FindProps) {
  const [words, setWords] = useState("");
  const go = (by: number) => () => find(words, (found?.nth ?? 0) + by);
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === "Enter") find(words, found ? found.nth + (event.shiftKey ? -1 : 1) : 0);
    else if (event.key === "Escape" && words) (setWords(""), find("", 0));
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  return (
    <span class="find-inside" role="search">
      <span class="search">
        <Icon name="find" small />
        <input type="text" aria-label="find inside this text" placeholder={`Find inside ${count(total)} characters`} value={words} onKeyDown={onKeyDown} onInput={(event) => (setWords(event.currentTarget.value), find("", 0))} />
      </span>
      {found && (
        <>
          <span class="tiny mute" role="status">{found.count ? `${count(found.nth + 1)} of ${count(found.count)}` : "not in this text"}</span>
          <button type="button" class="btn icon plain" aria-label="previous match" disabled={!found.count} onClick={go(-1)}><Icon name="up" /></button>
          <button type="button" class="btn icon plain" aria-label="next match" disabled={!found.count} onClick={go(1)}><Icon name="down" /></button>
        </>
      )}
    </span>
  );
}
