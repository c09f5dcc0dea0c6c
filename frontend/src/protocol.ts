/**
 * The messages between kernel and page.
 *
 * The kernel sets traits (`State`), always several in one message, so that related parts change together.
 * The page sends `Action`s, whose only reply is new traits, and `Question`s, each of which gets one reply.
 * Every text is plain text and never interpreted as markup.
 */

export type Mode = "grade" | "try" | "label" | "compare" | "export" | "history";

/** A text in pieces: a marked piece is a match of a search, a rule or the reference. */
export type Piece = [text: string, mark: "" | "found" | "gone" | "new"];
export type Pieces = Piece[];

/** A condition on rows, as `Report.row_numbers` takes it. */
export type Condition = Record<string, unknown>;

/** Rows counted by label (good, bad, unlabelled) and verdict (accepted, rejected). */
export interface Counts {
  good_accepted: number;
  good_refused: number;
  bad_accepted: number;
  bad_refused: number;
  accepted: number; // of unlabelled rows
  refused: number; // of unlabelled rows
  failed: number;
  skipped: number;
}
export type Part = keyof Counts;

export type Shape = "good" | "bad" | "unsettled" | "failed" | "skipped" | "note" | "wait" | "none";

export interface Verdict {
  shape: Shape;
  words: string; // two words: "too lenient"
  tip: string; // one sentence
}

/** A number with its 95 % interval; lo and hi are null if there is none. */
export interface Estimate {
  value: number;
  lo: number | null;
  hi: number | null;
}

// ------------------------------------------------------------------------------------------------------- traits

export interface Problem {
  what: string;
  where: string;
  trace: string;
}

export interface Draw {
  n: number; // rows to draw, 0 for all
  seed: number;
  by: string; // column whose values are strata, "" for none
  repeats: number;
  budget: string; // US dollars, "" for no limit
}

export interface Head {
  dataset: string;
  total: number; // rows of the dataset
  drawn: number; // rows that are graded
  draw: Draw;
  strata: string[]; // columns that can be used as strata
  modes: [Mode, string][];
  state: { shape: "ok" | "busy" | "old" | "none" | "failed"; text: string };
  can_map: boolean; // whether columns can be mapped
  can_run: boolean;
  judges: number; // selected graders that call a model
  plan: string; // what Run would do, in a sentence
  cost: string; // of the next run's requests: "up to $1.20"; "" for nothing to pay
  problem: Problem | null;
  warning: string;
  notes: string[]; // sentences about the last run, such as that it was stopped
}

export interface Progress {
  running: boolean;
  done: number;
  total: number;
  failed: number;
  text: string; // "320 of 500 · 12 s left"
}

export interface RailLine {
  name: string;
  kind: string; // "Python function", "exact match"
  ticked: boolean; // part of the run
  validation: "validated" | "failed" | "not_validated" | "rule"; // a built-in rule needs no validation
  counts: Counts | null; // null before it has run
  was: Counts | null; // before the edit
  verdict: Verdict | null;
  mean: Estimate | null;
  say: string; // instead of verdict and bar: "judge, waits for Run"
  stale: boolean; // its numbers belong to an older text
  undiagnosed: boolean; // its verdict is about the scores before: the new ones are shown first
  letter: "" | "A" | "B";
}

export interface Rail {
  lines: RailLine[];
  drafts: RailLine[]; // whose validation failed
  in_run: number;
  has_labels: boolean;
  chosen: string;
  removed: string; // the grader that "Restore" restores, "" for none
}

export interface Check {
  name: string; // "syntax", "structure", "signature", "execution", "test run"
  state: "ok" | "failed" | "open" | "busy";
  message: string;
}

/** An interval drawn on an axis from 0 to `max`, with its limit. */
export interface StripData extends Estimate {
  max: number;
  min: number;
  limit: number | null;
  limit_text: string; // "limit 5 %"
  value_text: string; // "17.2 %"
  interval_name: "95 % interval" | "95 % bound"; // a bound is one-sided
  interval_text: string; // "13.3 to 22.1 %"; "3.1 %" for a bound
}

export interface FindingData {
  kind: string;
  shape: Shape;
  lead: string; // "Too lenient"
  before: string; // "it accepts "
  link: string; // "50 of 290 known-bad rows"
  after: string;
  where: Condition[] | null; // its evidence rows; null for none
  strip: StripData | null;
  advice: string;
}

export interface Bin {
  lo: number;
  hi: number;
  counts: Counts;
}

export interface Scores {
  kind: "values" | "bins"; // at most five distinct scores, or a distribution
  note: string; // "500 rows of 120 prompts"
  values: { value: number; counts: Counts }[]; // from high to low
  bins: Bin[];
  log: boolean;
  has_labels: boolean;
  pass_threshold: number | null; // null if the grader returns a verdict itself
  scale: [number, number];
  failed: number;
  skipped: number;
  failed_good: number;
  failed_bad: number;
}

export interface From {
  title: string; // "Who wrote the 50"
  note: string; // "column writer, first 3 of 4"
  lines: { text: string; counts: Counts; hits: number; of: number; where: Condition[] }[];
}

export interface Changed {
  sentence: string; // "Your edit changed 74 rows"
  back: string; // "Restore version 1"
  pills: { shape: Shape; text: string; where: Condition[]; on: boolean }[];
}

export interface SourceText {
  text: string;
  language: "python" | "javascript" | "json" | "";
  editable: boolean;
  revision: number; // counts texts that were not typed on this page
  error: { line: number; message: string } | null;
  file: string;
}

export interface Chosen {
  name: string;
  title: string; // "Python function"
  version: number;
  kept: boolean;
  can_keep: boolean;
  stored: number; // version in the store, 0 for none
  draft: boolean;
  source: SourceText;
  checks: Check[];
  isolation: { word: string; tip: string };
  seq: number; // the edit that this replies to
  changed: Changed | null;
  finding: FindingData | null;
  more: FindingData[];
  scores: Scores | null;
  from: From | null;
  say: string; // if there is no finding: what to do next
  waits: string; // why it is not graded while the user types; "" if it is
  refused: boolean; // the text in the editor cannot be graded: the shown grades belong to the one before
  undiagnosed: boolean; // the findings are about the scores before: the new ones are shown first
  notice: Notice | null;
}

/** A notice about another text than the one in the editor, and a link to it. */
export interface Notice {
  text: string;
  link: string; // "" for none
  act: Action;
  other?: { link: string; act: Action }; // the other choice
}

export interface Starter {
  id: string;
  title: string;
  text: string;
  name: string;
  note: string;
}

export interface ColumnInfo {
  key: string;
  title: string;
  kind: "text" | "number" | "label" | "score" | "row";
  shown: boolean;
  width: number; // pixels, 0 for the remaining width
}

export type Cell =
  | { t: Pieces; cut?: boolean } // text
  | { n: string } // number
  | { label: boolean | null; changed?: boolean } // changed: it differs from the label in the data
  | { score: string; part: Part | null; was?: string; tip?: string };

export interface Row {
  row: number; // its number
  id: string;
  cells: Cell[]; // by the shown columns, in order
}

export interface Filter {
  id: string;
  text: string; // "known bad"
}

/** The selected rows in the other parts of the view. */
export interface Picked {
  graders: Record<string, Counts>; // by name
  scores: [notBad: number, bad: number][]; // per bar of the selected grader's scores
  origin: number[]; // per line of `from`; empty if there are too many rows
}

export interface Table {
  revision: number;
  title: string; // "Known bad, accepted"
  note: string; // "50 of 500 rows"
  count: number;
  total: number;
  filters: Filter[];
  search: string;
  busy: boolean; // the text index is still being built
  columns: ColumnInfo[];
  sort: { key: string; descending: boolean };
  first: Row[]; // the first rows, so that a table is never blank
  fields: string[]; // columns of the data that can be filters
  has_tags: boolean; // whether a label has a tag
  picked: Picked | null; // null if all rows are shown
}

export interface Turn {
  role: string;
  title?: string;
  text: Pieces;
  part: string;
  more: number; // characters that were not sent
  calls: { name: string; arguments: Pieces; part: string; more: number }[];
}

export interface Said {
  grader: string;
  score: string;
  part: Part | null;
  why: Pieces; // the reason, or the error
  raw: string; // a judge's whole reply
  more: { part: string; count: number } | null;
}

export interface ReaderData {
  row: number;
  id: string;
  at: number; // position in the table
  of: number;
  turns: Turn[];
  documents: Turn[];
  expected: Turn | null;
  expected_note: string; // "marked above wherever it occurs"
  metadata: Turn | null;
  label: boolean | null;
  labelled_by: string;
  given: boolean | null; // the label in the data, if a user's differs from it
  tags: string[]; // of the row's label
  said: Said[];
}

// ---------------------------------------------------------------------------------------------------------- modes

export interface TryData {
  id: string; // "" for a pasted conversation
  row: number; // its number, -1 for a pasted conversation: where `piece` reads the rest of a long turn
  place: string; // "row 3 of 500"
  pasted: boolean;
  turns: Turn[]; // without the completion
  answer: string; // completion of the row
  label: boolean | null;
  expected: string;
  yours: string;
  revision: number; // counts texts that were not typed on this page
  yours_label: boolean | null;
  lines: {
    grader: string;
    before: { score: string; part: Part | null } | null;
    after: { score: string; part: Part | null } | null;
    moved: string; // "now accepted"
    why: string;
    waits: string; // "calls a model, which costs money"; "" if it runs without a request
    printed: string;
  }[];
  verdict: { shape: Shape; lead: string; text: string } | null;
  kept: SavedData[]; // completions that are graded again after every edit
  probe: ProbeData;
}

export interface ProbeData {
  grader: string;
  busy: boolean;
  why_not: string; // "" if it can be probed
  lead: string; // "1,204 texts tried on 40 rows: 2 holes found."; "" before
  holes: { number: number; shape: Shape; sentence: string; text: string; score: string; good: boolean | null; question: boolean; allowed: boolean }[];
}

export interface SavedData {
  number: number;
  text: string; // its beginning
  label: boolean | null;
  note: string; // "contains accepts it", "no errors"
  errs: boolean;
  grades: { grader: string; said: { score: string; part: Part | null } | null }[];
}

export interface Card {
  seq: number; // of this row in the queue; unchanged when the row is decided and the decision undone
  row: number;
  id: string;
  note: string;
  tags: string[];
  turns: Turn[];
  documents: Turn[];
  expected: Turn | null;
}

export interface LabelData {
  order: string;
  orders: { name: string; tip: string }[];
  grader: string;
  labeller: string;
  cards: Card[]; // prefetched, the one to decide first
  done: number;
  total: number;
  good: number;
  bad: number;
  skipped: number;
  deferred: number; // undecided rows at the end of the queue
  tags: { name: string; count: number; good: number; bad: number; skipped: number; differ: number; where: Condition[] }[]; // most frequent first
  stats: { name: string; tip: string; of: string; strip: StripData | null; why_none: string }[];
  past: { seq: number; id: string; text: string; value: boolean | null; same: boolean | null }[];
  heard: { page: string; seq: number; turn: number }; // the last action that was handled, stored or refused, and its page
  message: string;
  new_labels: boolean; // the findings do not use them yet
  keys: Record<"good" | "bad" | "skip" | "defer" | "undo" | "note" | "tag", string>;
}

export type Quadrant = "both" | "a" | "b" | "neither";

export interface CompareData {
  revision: number;
  graders: string[]; // to compare, versions included
  a: string;
  b: string;
  n: number;
  lead: string; // "B is stricter: it rejects 56 rows that A accepts,"
  rest: string; // " and accepts none that A rejects."
  cells: { key: Quadrant; title: string; count: number; note: string; counts: Counts }[];
  chosen: Quadrant;
  labels: {
    shape: Shape;
    lead: string;
    lines: { name: string; text: string; strong: boolean; interval: string }[];
    note: string;
  } | null;
  list: { title: string; note: string; count: number; good: number; bad: number; only: "" | "good" | "bad"; search: string };
  why_not: string; // why two graders cannot be compared
  all: AgreementData | null; // null for fewer than three
}

/** More than two graders on the same rows. */
export interface AgreementData {
  names: string[];
  pairs: ({ same: number; kappa: number | null; n: number } | null)[][]; // of each grader with each one before it
  groups: { text: string; count: number; good: number; bad: number }[]; // "only exact-match rejects"
  n_groups: number;
}

export interface Pair {
  prompt: string;
  left: { row: number; id: string; label: boolean | null; said: string; text: Pieces };
  right: { row: number; id: string; label: boolean | null; said: string; text: Pieces } | null;
}

export type Fit = "yes" | "code" | "loss" | "no";

export interface ExportData {
  platforms: { name: string; title: string; group: "platform" | "trainer" }[];
  graders: { name: string; ticked: boolean; draft: boolean; say: string; fits: { fit: Fit | "busy"; note: string }[] }[];
  chosen: string; // platform
  title: string; // "To Adaptive"
  sentence: string;
  settings: { on_loss: string; on_error: string; reference: string; allow_unvalidated: boolean };
  choices: { on_loss: string[]; on_error: string[]; has_reference: boolean; not_validated: string[] };
  file: string;
  files: { name: string; text: string; language: string; lines: number }[];
  losses: string[];
  notes: string[];
  problem: string[]; // why nothing would be written: the error, then each hint
  in_the_way: string[]; // what would be replaced
  written: string;
}

export interface HistoryData {
  name: string;
  note: string; // "3 versions, each run on the same 500 rows"
  sparks: { title: string; limit: number; good: boolean; points: { text: string; value: number; lo: number | null; hi: number | null }[] }[];
  lead: string; // "From version 1 to 3, 30 rows changed:"
  rest: string; // " 30 known-bad are now rejected.", and on a separate line what is inconclusive
  versions: {
    id: string;
    text: string; // "v3"
    at: string;
    line: string; // first new line
    bad: string; // "20 of 290"
    bad_interval: string;
    good: string;
    good_interval: string;
    mean: string;
    verdict: Verdict | null;
    can_bring: boolean;
  }[];
  from: string;
  to: string;
  diff: { kind: "" | "+" | "-"; text: string }[];
  stored: boolean; // whether the app has a store, in which runs are saved
  runs: { id: number; at: string; rows: number; graders: { name: string; verdict: Verdict | null; mean: string }[] }[];
}

export type Role = "prompt" | "completion" | "reference" | "labels" | "group";

export interface Columns {
  reason: string; // why they must be mapped; "" if the user opened them
  columns: { name: string; cells: string[]; note: string }[]; // the first cells; "300 different texts"
  roles: Record<Role, string>; // the column of each role, "" for none
  proposed: boolean; // the roles are proposals
  required: boolean; // without them the rows cannot be read
}

export interface State {
  head: Head;
  progress: Progress;
  rail: Rail;
  chosen: Chosen;
  table: Table;
  reader: ReaderData | null;
  mode: Mode;
  columns: Columns | null; // to map them, instead of the open mode
  files: Opened | null; // that were opened, or can be undone
  part: "" | Mode | "rows" | "graders"; // the only visible part, "" for all
  code: string;
  starters: Starter[];
  try_out: TryData | null;
  label: LabelData | null;
  compare: CompareData | null;
  export: ExportData | null;
  history: HistoryData | null;
  turn: number; // counts consistent states
}

/** Files that were dropped or chosen. */
export interface Opened {
  reading: string; // names of the files that are being read
  files: OpenedFile[];
  hidden: string; // "3 more files"
  offer: Offer | null; // rows that wait
  used: "" | "replace" | "extend"; // what was done with the rows
  undo: string; // what an undo would do, "" for nothing
}

export interface OpenedFile {
  name: string;
  text: string; // what it was taken for
  notes: string[]; // what was read and left
  problem: string; // why it cannot be used
}

export interface Offer {
  rows: number; // 0 if they cannot be used in this view
  now: number; // rows of the app
  extends: boolean;
  why: string; // why not
}

// ------------------------------------------------------------------------------------------------- page to kernel

export type Action =
  | { do: "open"; width: number }
  | { do: "mode"; mode: Mode }
  | { do: "choose"; name: string } // a grader
  | { do: "tick"; name: string; on: boolean }
  | { do: "show_columns"; on: boolean }
  | { do: "map_columns"; roles: Record<string, string> }
  | { do: "run" }
  | { do: "stop" }
  | { do: "draw"; draw: Draw }
  | { do: "edit"; name: string; text: string; seq: number }
  | { do: "keep"; name: string }
  | { do: "back"; name: string }
  | { do: "bring_stored"; name: string; version: number }
  | { do: "validate"; name: string }
  | { do: "add"; text: string; name: string }
  | { do: "open_files"; upload: string; files: { name: string; size: number; problem: string }[] } // after their pieces
  | { do: "cancel_files"; upload: string }
  | { do: "use_rows"; how: "replace" | "extend" } // of the opened files
  | { do: "undo_opening" }
  | { do: "close_opening" }
  | { do: "remove"; name: string }
  | { do: "restore" }
  | { do: "pass_threshold"; value: number }
  | { do: "limit"; kind: "lenient" | "strict"; value: number }
  | { do: "look"; where: Condition[] } // replaces all filters
  | { do: "filter"; where: Condition[] } // adds
  | { do: "unfilter"; chip: string } // by the filter's id
  | { do: "search"; text: string }
  | { do: "sort"; key: string; descending: boolean }
  | { do: "columns"; columns: { key: string; shown: boolean; width: number }[] }
  | { do: "select"; row: number | null }
  | { do: "label_row"; row: number; value: boolean | null } // in the table or the reader
  | { do: "tag_row"; row: number; tags: string[] } // in the reader
  | { do: "use_labels" }
  | { do: "save_view"; name: string }
  | { do: "open_view"; name: string }
  | { do: "delete_view"; name: string }
  | { do: "save_selection"; name: string }
  | { do: "open_selection"; name: string }
  | { do: "delete_selection"; name: string }
  | { do: "forget"; what: "problem" }
  | { do: "try"; seq: number; text?: string; expected?: string; label?: boolean | null }
  | { do: "try_row"; query: string; next?: boolean }
  | { do: "try_random" }
  | { do: "try_paste"; text: string }
  | { do: "try_ask"; grader: string }
  | { do: "try_keep" }
  | { do: "try_probe" }
  | { do: "try_hole"; number: number; keep: boolean }
  | { do: "try_allow"; number: number; allowed: boolean } // a question of the probe
  | { do: "try_saved"; number: number } // try it again
  | { do: "try_drop"; number: number }
  | { do: "label"; action: "good" | "bad" | "skip" | "defer" | "undo" | "note" | "tag"; seq: number; note: string; tags: string[]; page: string; turn: number }
  | { do: "label_order"; order: string }
  | { do: "label_grader"; name: string }
  | { do: "labeller"; name: string }
  | { do: "compare"; a: string; b: string; differing?: boolean } // differing: list the larger disagreement
  | { do: "compare_group"; number: number } // selects its rows
  | { do: "quadrant"; key: Quadrant; only: "" | "good" | "bad"; search: string }
  | { do: "export"; platform: string }
  | { do: "export_settings"; settings: Partial<ExportData["settings"]> & { file?: string } }
  | { do: "write" }
  | { do: "validate_all" }
  | { do: "version"; from: string; to: string }
  | { do: "bring"; version: string }; // not `id`, which every message already has

export type Question =
  | { ask: "rows"; start: number; stop: number; revision: number } // -> Row[]
  | { ask: "piece"; row: number; part: string; start: number } // -> PieceOfText
  | { ask: "find"; row: number; part: string; text: string; nth: number } // -> FoundInText
  | { ask: "file_piece"; upload: string; name: string; start: number; data: string } // base64 -> number, bytes that are here
  | { ask: "values"; field: string } // -> FieldValues
  | { ask: "tags" } // -> the `values` of FieldValues
  | { ask: "pairs"; start: number; stop: number; revision: number } // -> Pair[]
  | { ask: "export_file"; name: string } // -> string, the whole text of a file that would be written
  | { ask: "views" } // -> string[], names of the saved views
  | { ask: "map" } // -> MapData
  | { ask: "map_state" } // -> MapState
  | { ask: "selections" } // -> SavedSelection[]
  | { ask: "selection_code" } // -> string, the line of code that selects the shown rows
  | { ask: "view_code" } // -> string, the line of code that opens the current view
  | { ask: "csv" } // -> string, the shown rows
  | { ask: "place"; row: number } // -> number, a row's position in the table, -1 for none
  | { ask: "card_piece"; row: number; part: string; start: number }; // -> PieceOfText

/** A map of rows; only `busy` and `problem` before it is there. */
export interface MapData {
  busy: boolean;
  problem: string; // why there is none
  side?: number; // the largest coordinate
  note?: string; // "by words"
  rows?: number[];
  x?: number[];
  y?: number[];
  clusters?: number[]; // of each row
  names?: string[]; // of each cluster, the largest first
}

/** One character for each row of the map, "-" for none. */
export interface MapState {
  parts: string; // index of its part: good accepted, good rejected, bad accepted, bad rejected, accepted, rejected, failed, skipped
  scores: string; // tenth of the score's scale
  picked: string; // 1 selected, 0 not; "" if all rows are shown
}

export interface SavedSelection {
  name: string;
  count: number; // of the shown rows; -1 if it cannot be opened
}

export interface PieceOfText {
  text: Pieces;
  start: number;
  stop: number;
  total: number;
}

export interface FoundInText extends PieceOfText {
  count: number;
  nth: number;
}

export interface FieldValues {
  kind: "values" | "numbers" | "times";
  column: string; // its real name, for a condition such as {column, between: [lo, hi]}
  values: { text: string; count: number; where: Condition[] }[];
  lo: number | string; // a time as ISO 8601, without a zone: UTC
  hi: number | string;
}
