/** Tokens of a line of Python, for colours. */

export type Kind = "" | "com" | "str" | "kw" | "nr" | "fn";
export type Token = [text: string, kind: Kind];

/** Longer texts are shown without colours. */
const MOST = 20_000;

const KINDS: readonly Kind[] = ["", "com", "str", "kw", "nr", "fn"];

const WORDS = new RegExp(
  [
    String.raw`(#.*$)`,
    String.raw`([rbf]{0,2}"""[^]*?"""|[rbf]{0,2}"(?:[^"\\\n]|\\.)*"|[rbf]{0,2}'(?:[^'\\\n]|\\.)*')`,
    String.raw`\b(import|as|async|await|def|class|return|if|else|elif|and|or|in|is|not|for|while|from|with|None|True|False|raise|lambda)\b`,
    String.raw`\b(\d+(?:\.\d+)?)\b`,
    String.raw`(\w+)(?=\()`,
  ].join("|"),
  "gm",
);

export function tokens(code: string): Token[] {
  if (code.length > MOST) return [[code, ""]];
  const found: Token[] = [];
  let at = 0;
  for (const match of code.matchAll(WORDS)) {
    if (match.index > at) found.push([code.slice(at, match.index), ""]);
    found.push([match[0], KINDS[match.findIndex((group, place) => place > 0 && group !== undefined)] ?? ""]);
    at = match.index + match[0].length;
  }
  if (at < code.length) found.push([code.slice(at), ""]);
  return found;
}
