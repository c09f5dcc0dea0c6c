// One row: thread, documents, metadata, and what the graders said. Every text of it is shown as text.

const ROLES = ["system", "user", "assistant", "tool", "document"];

/** Show a row in `host`. `fetchPart(part)` promises the whole of a text that was cut; `folds` remembers what is open. */
function showRow(host, row, fetchPart, folds) {
  const at = { row, fetchPart, folds };
  const root = make("div", "wb-reader");
  const thread = make("div", "wb-reader-thread");
  thread.append(...(row.turns ?? []).map((turn) => turnBlock(at, turn)), ...foldedTexts(at));
  root.append(summaryLine(row), thread, ...gradeBlocks(at));
  root.classList.toggle("wb-reader-graded", Boolean(row.grades?.length));
  host.replaceChildren(root);
}

/** A message instead of a row. */
function showNoRow(host, text, kind = "") {
  host.replaceChildren(make("div", `wb-reader-empty ${kind}`, text));
}

/** The row's name, its label, and each grader's verdict in a word. */
function summaryLine(row) {
  const line = make("div", "wb-reader-summary");
  line.append(make("span", "wb-reader-id", row.id ?? ""));
  if (row.label !== null && row.label !== undefined) line.append(labelMark(row.label));
  for (const grade of row.grades ?? []) {
    const chip = make("span", "wb-chip");
    chip.append(make("span", "wb-chip-name", grade.grader), verdictMark(grade));
    line.append(chip);
  }
  return line;
}

function labelMark(label) {
  return make("span", `wb-mark ${label ? "wb-good" : "wb-bad"}`, label ? "✓ labelled good" : "✗ labelled bad");
}

/** A grade in a word: never by colour alone. */
function verdictMark(grade) {
  if (grade.status !== "scored") return make("span", `wb-mark wb-${grade.status === "failed" ? "failed" : "skipped"}`, grade.status);
  const score = scoreText(grade.score);
  if (grade.passed === null || grade.passed === undefined) return make("span", "wb-mark", score);
  return make("span", `wb-mark ${grade.passed ? "wb-good" : "wb-bad"}`, `${grade.passed ? "✓" : "✗"} ${score}`);
}

function turnBlock(at, turn) {
  const known = ROLES.includes(turn.role) ? turn.role : "other";
  const block = make("section", `wb-turn wb-role-${known}`);
  const head = make("div", "wb-role", turn.role);
  if (known === "document") return foldedDocument(at, block, turn);
  block.append(head, ...(turn.text || !turn.calls?.length ? textBlock(at, turn.text, turn.part, turn.more) : []));
  block.append(...(turn.calls ?? []).map((call) => callBlock(at, call)));
  return block;
}

function foldedDocument(at, block, turn) {
  block.append(fold(at, turn.title ?? "Document", turn.title ?? "document", textBlock(at, turn.text, turn.part, turn.more)));
  return block;
}

function callBlock(at, call) {
  const block = make("div", "wb-call");
  const head = make("div", "wb-call-name", "calls ");
  head.append(make("code", "", call.name));
  block.append(head, ...textBlock(at, call.arguments, call.part, call.more, "wb-code"));
  return block;
}

/** A text, and where it was cut a button for the rest. */
function textBlock(at, text, part, more, className = "") {
  const block = attributes(make("div", `wb-text ${className}`, text ?? ""), { dir: "auto" });
  if (!text) block.append(make("span", "wb-quiet", "(empty)"));
  return more > 0 ? [block, moreButton(at, block, part, more)] : [block];
}

function moreButton(at, block, part, more) {
  const label = `show all (${counted(more, "more character")})`;
  const button = makeButton("wb-link", label, async () => {
    button.disabled = true;
    button.textContent = "fetching…";
    const told = await at.fetchPart(part);
    if (typeof told.value === "string") {
      block.textContent = told.value;
      button.remove();
    } else {
      Object.assign(button, { disabled: false, textContent: `${told.problem ?? "no answer"}: try again` });
    }
  });
  return button;
}

/** A part that opens and closes, and stays so from row to row. */
function fold(at, key, title, content) {
  const block = make("details", "wb-fold");
  block.open = at.folds.has(key);
  block.addEventListener("toggle", () => (block.open ? at.folds.add(key) : at.folds.delete(key)));
  block.append(make("summary", "", title), ...content);
  return block;
}

function foldedTexts(at) {
  const { row } = at;
  const cut = row.cut ?? {};
  const found = (row.documents ?? []).map((one) => fold(at, one.title, one.title, textBlock(at, one.text, one.part, one.more)));
  if (row.reference) found.unshift(referenceBlock(at, cut));
  if (row.metadata) found.push(fold(at, "metadata", "Metadata", textBlock(at, row.metadata, "metadata", cut.metadata, "wb-code")));
  return found;
}

function referenceBlock(at, cut) {
  const block = make("section", "wb-turn wb-role-reference");
  block.append(make("div", "wb-role", "reference"), ...textBlock(at, at.row.reference, "reference", cut.reference));
  return block;
}

function gradeBlocks(at) {
  if (!at.row.grades?.length) return [];
  const list = make("div", "wb-reader-grades");
  list.append(...at.row.grades.map((grade, n) => gradeBlock(at, grade, n)));
  return [list];
}

function gradeBlock(at, grade, n) {
  const block = make("section", "wb-grade");
  const head = make("div", "wb-grade-head");
  head.append(make("span", "wb-grade-name", grade.grader), verdictMark(grade));
  if (typeof grade.seconds === "number") head.append(make("span", "wb-quiet", secondsText(grade.seconds)));
  block.append(head);
  const cut = at.row.cut ?? {};
  if (grade.error) block.append(...textBlock(at, grade.error, `error-${n}`, cut[`error-${n}`], "wb-code wb-error"));
  if (grade.reasoning) block.append(...textBlock(at, grade.reasoning, `reasoning-${n}`, cut[`reasoning-${n}`]));
  if (grade.raw) block.append(fold(at, "raw", "Raw answer", textBlock(at, grade.raw, `raw-${n}`, cut[`raw-${n}`], "wb-code")));
  return block;
}

function secondsText(seconds) {
  return seconds < 1 ? `${Number((seconds * 1000).toPrecision(2))} ms` : `${Number(seconds.toPrecision(3))} s`;
}
