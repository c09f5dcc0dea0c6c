/** A whole state as the kernel sends it: five graders over arithmetic rows, and some texts that mean harm. */

import type { Chosen, Condition, Counts, RailLine, Scores, State, StripData } from "../src/protocol.ts";
import { HOSTILE, readerData, tableData } from "./rows.ts";

export { HOSTILE } from "./rows.ts";

export function counts(part: Partial<Counts> = {}): Counts {
  return { good_accepted: 0, good_refused: 0, bad_accepted: 0, bad_refused: 0, accepted: 0, refused: 0, failed: 0, skipped: 0, ...part };
}

export function line(name: string, part: Partial<RailLine> = {}): RailLine {
  return {
    name, kind: "Python function", ticked: true, validation: "validated", counts: null, was: null, verdict: null, mean: null, say: "", stale: false, undiagnosed: false, letter: "",
    ...part,
  };
}

const LENIENT = counts({ good_accepted: 210, bad_accepted: 50, bad_refused: 240 });
const CLOSE = counts({ good_accepted: 191, good_refused: 19, bad_accepted: 91, bad_refused: 134, failed: 65 });

const LINES: RailLine[] = [
  line("contains_number", { counts: LENIENT, verdict: { shape: "bad", words: "too lenient", tip: "Accepts 50 of 290 known-bad rows." }, mean: { value: 0.52, lo: 0.4758, hi: 0.5639 } }),
  line("last_number", {
    counts: counts({ good_accepted: 189, good_refused: 21, bad_accepted: 15, bad_refused: 275 }),
    verdict: { shape: "unsettled", words: "not settled", tip: "The interval holds the limit." }, mean: { value: 0.408, lo: 0.3654, hi: 0.4521 },
  }),
  line("exact_match", {
    kind: "exact match", validation: "rule", counts: counts({ good_accepted: 64, good_refused: 146, bad_refused: 290 }),
    verdict: { shape: "bad", words: "too strict", tip: "Refuses 146 of 210 known-good rows." }, mean: { value: 0.128, lo: 0.1013, hi: 0.1605 },
  }),
  line("closeness", { counts: CLOSE, verdict: { shape: "failed", words: "often fails", tip: "65 of 500 rows get no score." }, mean: { value: 0.6543, lo: 0.6172, hi: 0.6913 } }),
  line("shows_working", { kind: "judge", ticked: false, validation: "not_validated", say: "judge, waits for Run" }),
];

const SOURCE = `import workbench as wb


async def grade(thread: wb.StringThread) -> float:
    """The expected number stands somewhere in the answer."""
    expected = (thread.metadata or {}).get("expected", "")
    return 1.0 if expected and expected in (thread.completion() or "") else 0.0
`;

export function strip(part: Partial<StripData> = {}): StripData {
  return {
    value: 0.1724, lo: 0.1329, hi: 0.2206, min: 0, max: 0.3, limit: 0.05, limit_text: "limit 5 %", value_text: "17.2 %", interval_name: "95 % interval", interval_text: "13.3 to 22.1 %",
    ...part,
  };
}

const ACCEPTED_BAD: Condition[] = [{ label: false }, { grader: "contains_number", passed: true }];

export function twoScores(part: Partial<Scores> = {}): Scores {
  return {
    kind: "values", note: "500 rows of 120 prompts",
    values: [
      { value: 1, counts: counts({ good_accepted: 210, bad_accepted: 50 }) },
      { value: 0, counts: counts({ bad_refused: 240 }) },
    ],
    bins: [], log: false, has_labels: true, pass_threshold: 0.5, scale: [0, 1], failed: 0, skipped: 0, failed_good: 0, failed_bad: 0, ...part,
  };
}

const GOOD = [13, 1, 0, 1, 1, 1, 0, 1, 0, 1, 0, 0, 0, 0, 1, 0, 0, 1, 0, 189];
const BAD = [99, 4, 6, 6, 0, 6, 5, 4, 2, 2, 0, 2, 1, 5, 4, 2, 7, 8, 10, 52];

export function manyScores(part: Partial<Scores> = {}): Scores {
  const bins = GOOD.map((good, at) => {
    const passed = at >= 10;
    const names = passed ? { good_accepted: good, bad_accepted: BAD[at] ?? 0 } : { good_refused: good, bad_refused: BAD[at] ?? 0 };
    return { lo: at / 20, hi: (at + 1) / 20, counts: counts(names) };
  });
  return twoScores({ kind: "bins", values: [], bins, log: true, failed: 65, failed_bad: 65, ...part });
}

const CHECKS: Chosen["checks"] = ["syntax", "structure", "signature", "execution", "test run"].map((name) => ({ name, state: "ok", message: "" }));

export function chosenData(part: Partial<Chosen> = {}): Chosen {
  return {
    name: "contains_number", title: "Python function", version: 1, kept: true, can_keep: false, stored: 0, draft: false,
    source: { text: SOURCE, language: "python", editable: true, revision: 1, error: null, file: "contains_number.py" },
    checks: CHECKS, isolation: { word: "isolated", tip: "No file, network, process or environment; tested in every worker." }, seq: 0, changed: null,
    finding: {
      kind: "too-lenient", shape: "bad", lead: "Too lenient", before: "it accepts ", link: "50 of 290 known-bad answers", after: ".", where: ACCEPTED_BAD,
      strip: strip(), advice: "Read these rows, say what they lack, and make the grader ask for it.",
    },
    more: [], scores: twoScores(),
    from: {
      title: "Who wrote the 50", note: "column writer, first 3 of 4",
      lines: ([["gamer", 19, 51], ["fluent wrong", 19, 59], ["hasty", 10, 48]] as const).map(([text, hits, of]) => ({
        text, hits, of, counts: counts({ bad_accepted: hits, bad_refused: of - hits }), where: [...ACCEPTED_BAD, { column: "writer", is: text }],
      })),
    },
    say: "", waits: "", refused: false, undiagnosed: false, notice: null, ...part,
  };
}

const STARTER = `import workbench as wb


@wb.grader
async def my_grader(thread: wb.StringThread) -> float:
    """What a good answer has."""
    answer = thread.completion() or ""
    return 1.0 if answer else 0.0
`;

export function fullState(part: Partial<State> = {}): State {
  return {
    head: {
      dataset: "arithmetic", total: 960, drawn: 500, draw: { n: 500, seed: 0, by: "", repeats: 1, budget: "" }, strata: ["writer", "topic"],
      modes: [["grade", "Grade"], ["try", "Try"], ["label", "Label"], ["compare", "Compare"], ["export", "Export"], ["history", "History"]],
      state: { shape: "ok", text: "up to date" }, can_map: true, can_run: true, judges: 0, plan: "Run grades 500 rows with 4 graders.", cost: "",
      problem: null, warning: "", notes: [],
    },
    progress: { running: false, done: 0, total: 0, failed: 0, text: "" },
    rail: {
      lines: LINES, drafts: [line("same_as_reference", { ticked: false, validation: "failed", say: "check 3 of 5 fails: signature" })], in_run: 4, has_labels: true,
      chosen: "contains_number", removed: "",
    },
    chosen: chosenData(), table: tableData(), reader: readerData(), mode: "grade", columns: null, files: null, part: "",
    code: 'app.report.rows("contains_number", where=app.report.where({"label": False}, {"grader": "contains_number", "passed": True}))',
    starters: [
      { id: "python", title: "Python function", text: STARTER, name: "my_grader", note: "anything one can compute" },
      { id: "pattern", title: "A pattern", text: "import re\n", name: "pattern", note: HOSTILE },
    ],
    try_out: null, label: null, compare: null, export: null, history: null, turn: 1, ...part,
  };
}
