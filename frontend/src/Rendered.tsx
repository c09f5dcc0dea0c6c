/** A text as its reader saw it: Markdown, JSON, tool calls, e-mail. HTML stays text, addresses are not opened, images are named. */

import { lexer, type Token, type Tokens } from "marked";
import { type ComponentChildren, createContext } from "preact";
import { useContext, useMemo } from "preact/hooks";
import { plain } from "./Pieces.tsx";
import type { Pieces } from "./protocol.ts";
import { useView } from "./view.ts";

/** Characters from which a text is shown raw: its tokens would take long to draw. */
const MOST = 10_000;
/** Depth of lists and quotes that is drawn. */
const DEEPEST = 12;

const MARKDOWN = /^ {0,3}(?:#{1,6} |```|~~~|[-*+] |\d{1,3}[.)] |> |\|.*\|)|\*\*[^*\s][^*]*\*\*|`[^`\n]+`|\[[^\]\n]+\]\([^)\s]+\)/m;

/** Pieces of the text that are marked: the reference, or what was searched. */
const Found = createContext<string[]>([]);

/** A text without markup, its marked pieces marked. */
function Leaf({ text }: { text: string }) {
  const found = useContext(Found);
  if (!found.some((piece) => text.includes(piece))) return <>{text}</>;
  const any = new RegExp(`(${found.map((piece) => piece.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")).join("|")})`);
  return <>{text.split(any).map((piece, at) => (at % 2 ? <mark key={at}>{piece}</mark> : piece))}</>;
}

/** What is drawn of a text that is worth rendering; null for plain text, texts with changed words and long ones. */
export function renderable(pieces: Pieces, more: number): ComponentChildren {
  if (more || !pieces.length || pieces.some(([, mark]) => mark && mark !== "found")) return null;
  const text = plain(pieces);
  if (text.length > MOST) return null;
  const drawn = structured(text) ?? mail(text) ?? marked(text);
  const found = [...new Set(pieces.filter(([piece, mark]) => mark && piece).map(([piece]) => piece))];
  return drawn && <Found.Provider value={found.sort((a, b) => b.length - a.length)}>{drawn}</Found.Provider>;
}

function marked(text: string): ComponentChildren {
  const tokens = MARKDOWN.test(text) ? tokensOf(text) : null;
  return tokens && <Blocks tokens={tokens} depth={0} />;
}

/** JSON with indentation, and calls of tools by their names. */
function structured(text: string): ComponentChildren {
  const value = /^\s*[[{]/.test(text) ? parsed(text) : null;
  if (value === null) return null;
  const calls = callsIn(value);
  if (!calls) return <pre class="json"><Leaf text={JSON.stringify(value, null, 2)} /></pre>;
  return (
    <>
      {calls.said && <p class="words"><Leaf text={calls.said} /></p>}
      {calls.calls.map(({ name, given }, at) => <div key={at} class="called"><span class="tiny faint">calls</span> <b class="mono">{name}</b><pre><Leaf text={given} /></pre></div>)}
    </>
  );
}

const HEADER = /^(From|To|Cc|Bcc|Reply-To|Sender|Subject|Date|Sent|Von|An|Betreff|Datum|Gesendet): *(.*)$/i;

/** An e-mail: at least two of its headers in the first lines, then an empty line. */
function mail(text: string): ComponentChildren {
  const lines = text.trimStart().split(/\r?\n/);
  const end = lines.findIndex((line) => !HEADER.test(line));
  if (end < 2 || lines[end]?.trim()) return null;
  const body = lines.slice(end + 1).join("\n");
  return (
    <>
      <dl class="mail-head">{lines.slice(0, end).map((line, at) => {
        const [, name, content] = HEADER.exec(line) ?? [];
        return [<dt key={`name ${at}`} class="faint">{name}</dt>, <dd key={at}><Leaf text={content ?? ""} /></dd>];
      })}</dl>
      {marked(body) ?? <div class="words"><Leaf text={body} /></div>}
    </>
  );
}

function tokensOf(text: string): Token[] | null {
  try {
    return lexer(text);
  } catch {
    return null; // thousands of nested quotes exceed the stack
  }
}

/** The object or list of a text of JSON; null for others, and where a number of many digits would change. */
function parsed(text: string): object | null {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && !/\d{16}|\d[eE]/.test(text) ? value : null;
  } catch {
    return null;
  }
}

type Fields = Record<string, unknown>;
type Calls = { said: string; calls: { name: string; given: string }[] };

const only = (value: object, ...keys: string[]) => Object.keys(value).every((key) => keys.includes(key));

/** The tool calls of a message or a list of calls, in the forms of OpenAI, Anthropic and plain `name` with `arguments`; null if any of it is not one, or would not be shown. */
function callsIn(value: object): Calls | null {
  const { tool_calls: listed, content, refusal } = value as Fields;
  const shown = only(value, "role", "content", "tool_calls", "refusal") && typeof (content ?? "") === "string" && !refusal;
  const all = Array.isArray(listed) && shown ? listed : Array.isArray(value) ? value : [value];
  const calls = all.map(call);
  if (!calls.length || calls.some((one) => !one)) return null;
  return { said: typeof content === "string" && all === listed ? content : "", calls: calls as Calls["calls"] };
}

function call(value: unknown): Calls["calls"][number] | null {
  if (typeof value !== "object" || value === null) return null;
  const { type, id, function: called } = value as Fields;
  const inside = (called ?? value) as Fields;
  const field = type === "tool_use" ? "input" : "arguments";
  const given = inside[field];
  if (typeof inside.name !== "string" || given === undefined || given === null) return null;
  // With another field it is a completion in JSON, of which nothing may be left out.
  const own = inside === value ? ["name", field] : ["function"];
  if (!only(value, "id", "type", "index", ...own) || (inside !== value && !only(inside, "name", field))) return null;
  if (!["function", "function_call", "tool_use"].includes((type ?? "function") as string) || typeof (id ?? "") !== "string") return null;
  const read = typeof given === "string" ? parsed(given) : given;
  return { name: inside.name, given: typeof read === "object" && read ? JSON.stringify(read, null, 2) : String(given) };
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
    case "code": return <pre><Leaf text={(token as Tokens.Code).text} /></pre>;
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
    case "codespan": return <code><Leaf text={(token as Tokens.Codespan).text} /></code>;
    case "br": return <br />;
    case "link": return <span class="address" title={(token as Tokens.Link).href}>{inside(token.tokens)}</span>;
    case "image": return <span class="faint">[image: {(token as Tokens.Image).text || (token as Tokens.Image).href}]</span>;
    case "checkbox": return (token as Tokens.Checkbox).checked ? "☑ " : "☐ ";
    case "text": return (token as Tokens.Text).tokens ? inside((token as Tokens.Text).tokens) : <Leaf text={(token as Tokens.Text).text} />;
    case "escape": return <Leaf text={(token as Tokens.Escape).text} />;
    default: return <Leaf text={token.raw} />; // HTML, and what marked may add
  }
}
