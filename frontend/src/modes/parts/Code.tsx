/** Source text with line numbers or diff signs, in muted colours; read-only. */

import { useMemo } from "preact/hooks";
import { cutText, highlight, highlightLine, LINES, type Token } from "./highlight.ts";

/** Lines of one block: a browser lays out only visible blocks. */
const BLOCK = 100;

export function Coloured({ tokens }: { tokens: Token[] }) {
  return <>{tokens.map(([text, kind], at) => (kind ? <span key={at} class={`tok-${kind}`}>{text}</span> : text))}</>;
}

export function CodeLine({ text, language }: { text: string; language: string }) {
  return <Coloured tokens={highlightLine(text, language)} />;
}

export function Code({ text, language }: { text: string; language: string }) {
  const { lines, all, cut } = useMemo(() => {
    const shown = cutText(text);
    return { lines: highlight(shown.text, language), all: shown.lines, cut: shown.cut };
  }, [text, language]);
  const blocks = Array.from({ length: Math.ceil(lines.length / BLOCK) }, (_, at) => at * BLOCK);
  return (
    <div class="source">
      {blocks.map((start) => <Block key={start} start={start} lines={lines.slice(start, start + BLOCK)} />)}
      {cut && <p class="small faint cut-note">the first {LINES.toLocaleString("en")} of {all.toLocaleString("en")} lines; the file contains all</p>}
    </div>
  );
}

function Block({ start, lines }: { start: number; lines: Token[][] }) {
  return (
    <div class="block" style={{ containIntrinsicBlockSize: `${18 * lines.length}px` }}>
      {lines.map((tokens, at) => (
        <div class="ln" key={at}>
          <i aria-hidden="true">{start + at + 1}</i>
          <code><Coloured tokens={tokens} /></code>
        </div>
      ))}
    </div>
  );
}

const SIGNS = { "": "", "+": "+", "-": "–" } as const;
const SAID = { "": "", "+": "added", "-": "removed" } as const;

/** Lines of a diff: removed and added ones differ by sign and colour. */
export function Diff({ lines, language }: { lines: { kind: "" | "+" | "-"; text: string }[]; language: string }) {
  return (
    <div class="source diff">
      {lines.slice(0, LINES).map(({ kind, text }, at) => (
        <div class={`ln ${kind === "+" ? "plus" : kind === "-" ? "minus" : ""}`} key={at}>
          <i aria-hidden="true">{SIGNS[kind]}</i>
          <code>{kind && <span class="unseen">{SAID[kind]}: </span>}<CodeLine text={text} language={language} /></code>
        </div>
      ))}
      {lines.length > LINES && <p class="small faint cut-note">the first {LINES.toLocaleString("en")} of {lines.length.toLocaleString("en")} lines</p>}
    </div>
  );
}
