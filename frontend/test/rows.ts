/** Rows of the fixture: the table, the row in the reader. */

import type { Cell, Piece, ReaderData, Row, Table, Turn } from "../src/protocol.ts";

export const HOSTILE = '<img src=x onerror="alert(1)">';

const ANSWERS: [id: string, answer: string, expected: string][] = [
  ["arit-002-1", "11139", "1113"],
  ["arit-006-6", "4 8 50 18", "18"],
  ["arit-007-6", "It is either 215 or 212", "212"],
  ["arit-010-4", "Once round is 2 x (14 + 7) = 42 m. Less the gap: 374 m.\n#### 374", "37"],
  ["arit-013-2", "6384", "638"],
  ["arit-018-4", "9 x 15 = 135 euros for the lamps.\n150 - 135 = 158.\nSo it is 158 euros.", "15"],
  ["arit-018-6", "At the market, lamps cost 15 euros apiece. Petra takes 9 of them and hands over 150 euros. What does the seller give back? Give the number.", "15"],
  ["arit-020-6", `36 468 12 ${HOSTILE}`, "468"],
  ["arit-021-2", "3632.", "363"],
  ["arit-022-6", "It is certainly not 132", "132"],
  ["arit-026-4", "Saved: 27 x 17 = 459. With what was there: 183 + 459 = 6422.\nThe answer is 6422.", "642"],
  ["arit-029-4", "To share: 348 - 54 = 294. 294 / 14 = 213.\n**213**", "21"],
];

function marked(text: string, words: string): Piece[] {
  return text.split(words).flatMap((each, at): Piece[] => [...(at ? [[words, "found"] as Piece] : []), ...(each ? [[each, ""] as Piece] : [])]);
}

export function rowAt(place: number): Row {
  const [id, answer, expected] = ANSWERS[place % ANSWERS.length] as (typeof ANSWERS)[number];
  const cells: Cell[] = [{ t: marked(answer, expected) }, { t: [[expected, ""]] }, { label: false }, { score: "1", part: "bad_accepted", tip: "accepted" }];
  return { row: 100 + place, id: place < ANSWERS.length ? id : `${id}-${place}`, cells };
}

export function rowsAt(start: number, stop: number): Row[] {
  return Array.from({ length: stop - start }, (_, at) => rowAt(start + at));
}

export function tableData(part: Partial<Table> = {}): Table {
  return {
    revision: 1, title: "Known bad, accepted", note: "50 of 500 rows", count: 50, total: 500,
    filters: [{ id: "label", text: "known bad" }, { id: "passed", text: "accepted" }], search: "", busy: false,
    columns: [
      { key: "id", title: "row", kind: "row", shown: false, width: 96 },
      { key: "answer", title: "answer", kind: "text", shown: true, width: 0 },
      { key: "expected", title: "expected", kind: "text", shown: true, width: 58 },
      { key: "label", title: "label", kind: "label", shown: true, width: 52 },
      { key: "score", title: "score", kind: "score", shown: true, width: 64 },
      { key: "field writer", title: "writer", kind: "text", shown: false, width: 120 },
    ],
    sort: { key: "", descending: false }, first: rowsAt(0, 30), fields: ["writer", "length"], has_tags: false, picked: null, ...part,
  };
}

export function turn(role: string, text: string, part: Partial<Turn> = {}): Turn {
  return { role, text: text ? [[text, ""]] : [], part: role, more: 0, calls: [], ...part };
}

export function readerData(part: Partial<ReaderData> = {}): ReaderData {
  return {
    row: 102, id: "arit-007-6", at: 2, of: 50,
    turns: [
      turn("prompt", "A hall has 14 rows of 18 seats. Lucía counts 40 empty ones. How many people are sitting? Show your work."),
      turn("completion", "", { text: marked("It is either 215 or 212", "212") }),
    ],
    documents: [], expected: turn("expected", "212"), expected_note: "marked above wherever it stands", metadata: turn("metadata", `{"writer": "${HOSTILE}"}`),
    label: false, labelled_by: "", given: null, tags: [],
    said: [
      { grader: "contains_number", score: "1", part: "bad_accepted", why: [], raw: "", more: null },
      { grader: "last_number", score: "1", part: "bad_accepted", why: [], raw: "", more: null },
      { grader: "exact_match", score: "0", part: "bad_refused", why: [["Expected exact match but got different value", ""]], raw: "", more: null },
      { grader: "closeness", score: "1.00", part: "bad_accepted", why: [[HOSTILE, ""]], raw: HOSTILE, more: null },
    ],
    ...part,
  };
}
