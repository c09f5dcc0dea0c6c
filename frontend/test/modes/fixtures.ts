/** States of the modes as a kernel sends them. */

import type {
  Card, CompareData, Counts, ExportData, HistoryData, LabelData, Pair, Pieces, StripData, TryData, Turn,
} from "../../src/protocol.ts";

export const HOSTILE = '<img src=x onerror="window.hacked=1"><script>window.hacked=1</script>';

export function turn(title: string, text: string, part = title, more = 0): Turn {
  return { role: title === "answer" ? "completion" : "user", title, text: text ? [[text, ""]] : [], part, more, calls: [] };
}

export function card(seq: number, answer = `answer ${seq}`): Card {
  return {
    seq, row: 100 + seq, id: `arit-${String(seq).padStart(3, "0")}`, note: "", tags: [],
    turns: [turn("prompt", `How many euros does Joris get back from ${seq} euros?`), turn("answer", answer)],
    documents: [], expected: turn("expected", "20"),
  };
}

export function strip(value: number, lo: number | null, hi: number | null, of = "%"): StripData {
  const shown = (share: number) => (of === "%" ? `${Number((100 * share).toFixed(1))}` : share.toFixed(2));
  return {
    value, lo, hi, min: 0, max: 1, limit: null, limit_text: "", value_text: `${shown(value)}${of && ` ${of}`}`,
    interval_name: "95 % interval", interval_text: lo === null || hi === null ? "" : `${shown(lo)} to ${shown(hi)}${of && ` ${of}`}`,
  };
}

export function label(cards: Card[], changes: Partial<LabelData> = {}): LabelData {
  return {
    order: "random", grader: "contains_number", labeller: "you", cards, done: 24, total: 500, good: 9, bad: 14, skipped: 1, deferred: 0, tags: [],
    orders: [{ name: "random", tip: "Rows drawn at random: only these make findings." }, { name: "class-balanced", tip: "As many accepted as refused rows." }],
    stats: [
      { name: "same verdict", tip: "Rows on which your label and the grader's verdict agree.", of: "21 of 23", strip: strip(0.913, 0.714, 0.978), why_none: "" },
      { name: "bad ones it rejects", tip: "Of the rows you call bad, those the grader refuses.", of: "12 of 14", strip: strip(0.857, 0.562, 0.966), why_none: "" },
      { name: "good ones it accepts", tip: "Of the rows you call good, those the grader accepts.", of: "9 of 9", strip: null, why_none: "no interval holds below 10 rows" },
      { name: "kappa", tip: "Agreement beyond what chance alone would give: 0 is chance level, 1 is perfect agreement.", of: "", strip: strip(0.82, 0.48, 1, ""), why_none: "" },
    ],
    past: [
      { seq: 900, id: "arit-900", text: "101", value: true, same: true },
      { seq: 899, id: "arit-899", text: "It is either 38 or 35", value: false, same: false },
      { seq: 898, id: "arit-898", text: "\\boxed{}", value: null, same: null },
    ],
    heard: { page: "", seq: 0, turn: 0 }, message: "", new_labels: true,
    keys: { good: "1", bad: "0", skip: "s", defer: "d", undo: "u", note: "n", tag: "t" },
    ...changes,
  };
}

export function counts(changes: Partial<Counts> = {}): Counts {
  return { good_accepted: 0, good_refused: 0, bad_accepted: 0, bad_refused: 0, accepted: 0, refused: 0, failed: 0, skipped: 0, ...changes };
}

export function compare(changes: Partial<CompareData> = {}): CompareData {
  return {
    revision: 1, graders: ["contains_number", "last_number", "exact_match"], a: "contains_number", b: "last_number", n: 500,
    lead: "B is stricter: it rejects 56 rows that A accepts,", rest: " and accepts none that A rejects.",
    cells: [
      { key: "both", title: "Both accept", count: 204, note: "189 good, 15 bad", counts: counts({ good_accepted: 189, bad_accepted: 15 }) },
      { key: "a", title: "Only A accepts", count: 56, note: "21 good, 35 bad", counts: counts({ good_accepted: 21, bad_accepted: 35 }) },
      { key: "b", title: "Only B accepts", count: 0, note: "no row", counts: counts() },
      { key: "neither", title: "Neither accepts", count: 240, note: "0 good, 240 bad", counts: counts({ bad_refused: 240 }) },
    ],
    chosen: "a",
    labels: {
      shape: "unsettled", lead: "Which one is closer to the labels is inconclusive.",
      lines: [
        { name: "A is right on", text: "90.0 % of 500", strong: true, interval: "" },
        { name: "B is right on", text: "92.8 % of 500", strong: true, interval: "" },
        { name: "B less A, points", text: "+2.8", strong: true, interval: "0.0 to +5.8" },
      ],
      note: "Of the 56 on which they differ, B is right on 35 (rejects known-bad rows) and wrong on 21 (rejects known-good rows).",
    },
    list: { title: "Only A accepts", note: "56 of 500 rows", count: 56, good: 21, bad: 35, only: "", search: "" },
    why_not: "", all: null,
    ...changes,
  };
}

export function pair(row: number, left: Pieces = [["454", ""], ["3", "gone"]]): Pair {
  return {
    prompt: `A book still has 91 pages to go after ${row} days. How many pages has it in all? Give the number and nothing else.`,
    left: { row, id: `row-${row}`, label: false, said: "A accepts, B rejects", text: left },
    right: row % 5 === 4 ? null : { row: row + 1000, id: `row-${row + 1000}`, label: true, said: "both accept", text: [["454", ""], [".", "new"]] },
  };
}

const CODE = `"""Graders for Adaptive, written by grader workbench."""

adaptive.graders.create.function(
    key='contains_number',
    fn='''\\
import adaptive_harmony as wb


async def grade(thread: wb.StringThread) -> float:
    """The expected number stands somewhere in the answer."""
    expected = (thread.metadata or {}).get("expected", "")
    return 1.0 if expected and expected in (thread.completion() or "") else 0.0
''',
    description='The expected number stands somewhere in the answer.',
)
`;

const PLATFORMS: ExportData["platforms"] = [
  ...["Workbench", "Python", "JavaScript", "Adaptive", "Letta", "OpenAI", "Osmosis", "Umbraco", "vLLora"].map((title) => ({ name: title.toLowerCase(), title, group: "platform" as const })),
  ...["TRL", "verl", "OpenRLHF"].map((title) => ({ name: title.toLowerCase(), title, group: "trainer" as const })),
];

function fits(words: string): ExportData["graders"][number]["fits"] {
  const names = { y: "yes", c: "code", l: "loss", n: "no", b: "busy" } as const;
  const notes = { y: "its name is not exported", c: "its description is not exported", l: "what it prints is lost", n: "it cannot run Python", b: "" };
  return [...words].map((letter) => {
    const key = letter.toLowerCase() as keyof typeof names;
    return { fit: names[key], note: letter === letter.toUpperCase() || key === "n" || key === "l" ? notes[key] : "" };
  });
}

export function exported(changes: Partial<ExportData> = {}): ExportData {
  const line = (name: string, words: string, ticked = true) => ({ name, ticked, draft: false, say: "", fits: fits(words) });
  return {
    platforms: PLATFORMS,
    graders: [
      line("contains_number", "yCncccCnnccc"), line("last_number", "yCncccCnnccc"), line("exact_match", "yCCcYyCnlccc"),
      line("closeness", "yCncccCnnccb"), line("shows_working", "ynnynnnnnnnn", false),
      { name: "same_as_reference", ticked: false, draft: true, say: "a draft: exported once its five checks pass", fits: [] },
    ],
    chosen: "adaptive", title: "To Adaptive", sentence: "4 graders, all as code: three with their own text unchanged, exact_match as its rule in 74 lines. Nothing is lost.",
    settings: { on_loss: "fail", on_error: "fail", reference: "expected", allow_unvalidated: false },
    choices: { on_loss: ["fail", "warn"], on_error: ["fail", "zero"], has_reference: true, not_validated: ["last_number"] },
    file: "graders.py",
    files: [{ name: "graders.py", text: CODE, language: "python", lines: 15 }, { name: "suite.json", text: '{"name": "arithmetic", "n": 4, "ok": true}\n', language: "json", lines: 1 }],
    losses: [], notes: ["exact_match: its extractor's name"], problem: [], in_the_way: ["graders.py"], written: "",
    ...changes,
  };
}

export function history(changes: Partial<HistoryData> = {}): HistoryData {
  const point = (text: string, value: number, lo: number, hi: number) => ({ text, value, lo, hi });
  const version = (text: string, line: string, shape: "bad" | "unsettled", words: string, rates: string[]) => ({
    id: text, text, at: "24 Nov, 09:12", line, bad: rates[0] ?? "", bad_interval: rates[1] ?? "", good: rates[2] ?? "", good_interval: rates[3] ?? "",
    mean: "0.46", verdict: { shape, words, tip: `It is ${words}.` }, can_bring: true,
  });
  const run = (id: number, at: string, words: string, shape: "bad" | "unsettled") => ({
    id, at, rows: 500,
    graders: [
      { name: "contains_number", verdict: { shape, words, tip: "" }, mean: "0.52" },
      ...(id > 1 ? [{ name: "exact_match", verdict: { shape: "bad" as const, words: "too strict", tip: "" }, mean: "0.13" }] : []),
    ],
  });
  return {
    name: "contains_number", note: "3 versions, each run on the same 500 rows",
    sparks: [
      { title: "known bad, accepted", limit: 0.05, good: false, points: [point("v1", 0.172, 0.133, 0.221), point("v2", 0.069, 0.045, 0.105), point("v3", 0.069, 0.045, 0.105)] },
      { title: "known good, rejected", limit: 0.1, good: true, points: [point("v1", 0, 0, 0.04), point("v2", 0.21, 0.159, 0.27), point("v3", 0, 0, 0.04)] },
    ],
    lead: "From version 1 to 3, 30 rows changed:", rest: " 30 known-bad are now refused, no known-good row is lost.",
    versions: [
      { ...version("v3", 'whole = rf"(?<!\\d){re.escape(expected)}(?!\\d)"', "unsettled", "not settled", ["20 of 290", "4.5–10.5 %", "0 of 210", "0–4.0 %"]), can_bring: false },
      version("v2", 'words = (thread.completion() or "").split()', "bad", "too strict", ["20 of 290", "4.5–10.5 %", "44 of 210", "15.9–27.0 %"]),
      version("v1", "", "bad", "too lenient", ["50 of 290", "13.3–22.1 %", "0 of 210", "0–4.0 %"]),
    ],
    from: "v1", to: "v3",
    diff: [
      { kind: "+", text: "import re" }, { kind: "", text: "import workbench as wb" }, { kind: "", text: "" }, { kind: "", text: "" },
      { kind: "", text: "async def grade(thread: wb.StringThread) -> float:" }, { kind: "", text: '    expected = (thread.metadata or {}).get("expected", "")' },
      { kind: "-", text: '    return 1.0 if expected and expected in (thread.completion() or "") else 0.0' },
      { kind: "+", text: '    whole = rf"(?<!\\d){re.escape(expected)}(?!\\d)"' }, { kind: "+", text: "    return 1.0 if expected and re.search(whole, thread.completion()) else 0.0" },
    ],
    stored: true,
    runs: [run(3, "24 Nov, 09:41", "not settled", "unsettled"), run(2, "24 Nov, 09:20", "too lenient", "bad"), run(1, "23 Nov, 17:02", "too lenient", "bad")],
    ...changes,
  };
}

export function tried(changes: Partial<TryData> = {}): TryData {
  const line = (grader: string, why: string, before: [string, boolean], after: [string, boolean], moved = "") => {
    const part = (accepted: boolean) => (accepted ? ("bad_accepted" as const) : ("bad_refused" as const));
    return { grader, why, moved, waits: "", printed: "", before: { score: before[0], part: part(before[1]) }, after: { score: after[0], part: part(after[1]) } };
  };
  return {
    id: "arit-002-1", row: 7, place: "row 8 of 500", pasted: false,
    turns: [turn("prompt", "Ines has 73 euros and saves 26 euros a week. How much is there after 40 weeks?")],
    answer: "11139", label: false, expected: "1113", yours: "It is 1113, not 1109.", revision: 1, yours_label: false,
    lines: [
      line("contains_number", "", ["1", true], ["1", true]), line("last_number", "", ["0", false], ["0", false]),
      { ...line("exact_match", "Expected exact match but got different value", ["0", false], ["0", false]), printed: "seen 1109" },
      line("closeness", "", ["0", false], ["0.996", true], "now accepted"),
      { grader: "shows_working", before: null, after: null, moved: "", why: "", waits: "a judge: asks its model when you press Ask", printed: "" },
    ],
    verdict: { shape: "bad", lead: "Two of four accept this answer.", text: "You call it bad: contains_number gives 1, closeness 0.996, and the pass threshold is 0.5. Kept as a row, it is graded again after every edit." },
    kept: [], probe: { grader: "contains_number", busy: false, why_not: "", lead: "", holes: [] },
    ...changes,
  };
}
