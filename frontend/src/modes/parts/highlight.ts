/** Muted colours for source text: a small tokenizer whose tokens are shown as text nodes. */

export type Kind = "" | "com" | "str" | "kw" | "nr" | "fn";
export type Token = [text: string, kind: Kind];

/** Maximum characters of a line and lines of a text that are shown. */
export const WIDTH = 1_000;
export const LINES = 2_000;

const KINDS: readonly Kind[] = ["com", "str", "kw", "nr", "fn"];
const QUOTED = String.raw`"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'`;
const NUMBER = String.raw`\b\d[\d_]*(?:\.\d+)?(?:e[+-]?\d+)?\b`;
const CALL = String.raw`\b[A-Za-z_]\w*(?=\()`;
const NEVER = "(?!)";
const TRIPLE = String.raw`[rbfuRBFU]{0,2}(?:"""[^]*?(?:"""|(?![^]))|'''[^]*?(?:'''|(?![^])))`;
const PYTHON = "import|as|async|await|def|class|return|if|elif|else|and|or|in|is|not|for|while|from|None|True|False|raise|lambda|try|except|finally|with|yield|pass|break|continue|global|nonlocal|assert|del";
const SCRIPT = "import|from|export|default|async|await|function|class|return|if|else|for|of|in|while|do|switch|case|new|null|undefined|true|false|throw|try|catch|finally|const|let|var|typeof|instanceof|this|break|continue|yield";

function rule(comment: string, text: string, words: string, call = CALL): RegExp {
  return new RegExp(`(${comment})|(${text})|\\b(${words})\\b|(${NUMBER})|(${call})`, "gm");
}

const python = `[rbfuRBFU]{0,2}(?:${QUOTED})`;
const RULES: Record<string, RegExp> = {
  // A program inside a file (`fn='''\` and its lines) is coloured as a program, not as one long string.
  python: rule("#[^\\n]*", `'''(?=\\\\\\n)|${TRIPLE}|${python}`, PYTHON),
  inside: rule("#[^\\n]*", `'''|${TRIPLE}|${python}`, PYTHON),
  javascript: rule(String.raw`\/\/[^\n]*|\/\*[^]*?(?:\*\/|(?![^]))`, `${QUOTED}|\`(?:[^\`\\\\]|\\\\[^])*\``, SCRIPT),
  json: rule(NEVER, `"(?:[^"\\\\\\n]|\\\\.)*"(?!\\s*:)`, "true|false|null", `"(?:[^"\\\\\\n]|\\\\.)*"(?=\\s*:)`),
  yaml: rule("#[^\\n]*", QUOTED, "true|false|null|yes|no", String.raw`[\w.-]+(?=:(?:\s|$))`),
  toml: rule("#[^\\n]*", QUOTED, "true|false", String.raw`^[\w.-]+(?=\s*=)`),
};

/** The lines of a text as tokens; one token per line for an unknown language. */
export function highlight(text: string, language: string): Token[][] {
  const name = language in RULES ? language : "";
  return toLines(name ? tokens(text, name) : [[text, ""]]);
}

/** One line, by itself. */
export function highlightLine(text: string, language: string): Token[] {
  return highlight(text.slice(0, WIDTH), language)[0] ?? [];
}

function tokens(text: string, language: string): Token[] {
  const found: Token[] = [];
  let at = 0;
  let name = language;
  while (at < text.length) {
    const pattern = RULES[name] as RegExp;
    pattern.lastIndex = at;
    const match = pattern.exec(text);
    if (!match || !match[0]) break;
    if (match.index > at) found.push([text.slice(at, match.index), ""]);
    found.push([match[0], kindOf(match)]);
    at = match.index + match[0].length;
    if (language === "python" && match[0] === "'''") name = name === "python" ? "inside" : "python";
  }
  if (at < text.length) found.push([text.slice(at), ""]);
  return found;
}

function kindOf(match: RegExpExecArray): Kind {
  return KINDS[match.slice(1).findIndex((group) => group !== undefined)] ?? "";
}

function toLines(found: Token[]): Token[][] {
  const lines: Token[][] = [[]];
  for (const [text, kind] of found) {
    text.split("\n").forEach((part, at) => {
      if (at) lines.push([]);
      if (part) lines.at(-1)?.push([part, kind]);
    });
  }
  return lines;
}

/** The first lines of a text, each cut to `WIDTH`: the number of omitted lines is shown below. */
export function cutText(text: string): { text: string; lines: number; cut: boolean } {
  const lines = text.replace(/\n$/, "").split("\n");
  const shown = lines.slice(0, LINES).map((line) => (line.length > WIDTH ? `${line.slice(0, WIDTH)} …` : line));
  return { text: shown.join("\n"), lines: lines.length, cut: lines.length > LINES };
}
