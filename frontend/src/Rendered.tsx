/** A text as its reader saw it: Markdown or JSON, drawn from tokens. HTML stays text, addresses are not opened, images are named. */

import { lexer, type Token, type Tokens } from "marked";
import type { ComponentChildren } from "preact";
import { useMemo } from "preact/hooks";
import { plain } from "./Pieces.tsx";
import type { Pieces } from "./protocol.ts";
import { useView } from "./view.ts";

/** Characters from which a text is shown raw: its tokens would take long to draw. */
const MOST = 10_000;
/** Depth of lists and quotes that is drawn. */
const DEEPEST = 12;

const MARKDOWN = /^ {0,3}(?:#{1,6} |```|~~~|[-*+] |\d{1,3}[.)] |> |\|.*\|)|\*\*[^*\s][^*]*\*\*|`[^`\n]+`|\[[^\]\n]+\]\([^)\s]+\)/m;

/** The tokens or the JSON of a text that is worth rendering; null for plain text, marked text and long text. */
export function renderable(pieces: Pieces, more: number): ComponentChildren {
  if (more || !pieces.length || pieces.some(([, mark]) => mark)) return null;
  const text = plain(pieces);
  if (text.length > MOST) return null;
  const json = /^\s*[[{]/.test(text) ? indented(text) : null;
  if (json !== null) return <pre class="json">{json}</pre>;
  const tokens = MARKDOWN.test(text) ? tokensOf(text) : null;
  return tokens && <Blocks tokens={tokens} depth={0} />;
}

function tokensOf(text: string): Token[] | null {
  try {
    return lexer(text);
  } catch {
    return null; // thousands of nested quotes exceed the stack
  }
}

function indented(text: string): string | null {
  try {
    const value: unknown = JSON.parse(text);
    // A number of many digits would change: then the text is shown raw.
    return typeof value === "object" && !/\d{16}|\d[eE]/.test(text) ? JSON.stringify(value, null, 2) : null;
  } catch {
    return null;
  }
}

/** A text rendered, or unchanged if the user prefers that or there is nothing to render. */
export function AsRead({ pieces, more, children }: { pieces: Pieces; more: number; children: ComponentChildren }) {
  const { rendered, render } = useView();
  const drawn = useMemo(() => renderable(pieces, more), [pieces, more]);
  if (!drawn) return <>{children}</>;
  return (
    <>
      <button type="button" class="as-read tiny" aria-pressed={rendered.value} title="Show the text raw or rendered: key m" onClick={() => render(!rendered.value)}>{rendered.value ? "rendered" : "raw"}</button>
      {rendered.value ? <div class="markdown">{drawn}</div> : children}
    </>
  );
}

function Blocks({ tokens, depth }: { tokens: Token[]; depth: number }) {
  if (depth > DEEPEST) return <>{tokens.map(({ raw }) => raw).join("")}</>;
  return <>{tokens.map((token, at) => <Block key={at} token={token} depth={depth + 1} />)}</>;
}

function Block({ token, depth }: { token: Token; depth: number }): ComponentChildren {
  const inside = (tokens: Token[] | undefined) => <Blocks tokens={tokens ?? []} depth={depth} />;
  switch (token.type) {
    case "space": case "def": return null;
    case "heading": return <p class={`h h${(token as Tokens.Heading).depth}`}>{inside(token.tokens)}</p>;
    case "paragraph": return <p>{inside(token.tokens)}</p>;
    case "blockquote": return <blockquote>{inside(token.tokens)}</blockquote>;
    case "code": return <pre>{(token as Tokens.Code).text}</pre>;
    case "hr": return <hr />;
    case "list": {
      const { ordered, start, items } = token as Tokens.List;
      const lines = items.map((item, at) => <li key={at}>{inside(item.tokens)}</li>);
      return ordered ? <ol start={Number(start) || 1}>{lines}</ol> : <ul>{lines}</ul>;
    }
    case "table": {
      const { header, rows } = token as Tokens.Table;
      return (
        <div class="wide" tabIndex={0}>
          <table>
            <thead><tr>{header.map((cell, at) => <th key={at}>{inside(cell.tokens)}</th>)}</tr></thead>
            <tbody>{rows.map((row, at) => <tr key={at}>{row.map((cell, place) => <td key={place}>{inside(cell.tokens)}</td>)}</tr>)}</tbody>
          </table>
        </div>
      );
    }
    case "strong": return <strong>{inside(token.tokens)}</strong>;
    case "em": return <em>{inside(token.tokens)}</em>;
    case "del": return <del>{inside(token.tokens)}</del>;
    case "codespan": return <code>{(token as Tokens.Codespan).text}</code>;
    case "br": return <br />;
    case "link": return <span class="address" title={(token as Tokens.Link).href}>{inside(token.tokens)}</span>;
    case "image": return <span class="faint">[image: {(token as Tokens.Image).text || (token as Tokens.Image).href}]</span>;
    case "checkbox": return (token as Tokens.Checkbox).checked ? "☑ " : "☐ ";
    case "text": return (token as Tokens.Text).tokens ? inside((token as Tokens.Text).tokens) : (token as Tokens.Text).text;
    case "escape": return (token as Tokens.Escape).text;
    default: return token.raw; // HTML, and what marked may add
  }
}
