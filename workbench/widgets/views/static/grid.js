// The grid of a table: its head, and the rows in view at the places where they would be.

const ROW = 28; // pixels, as in table.css
const PAGE = 100; // rows a question asks for
const KEPT = 60; // pages kept
const TALLEST = 8e6; // pixels: browsers cannot hold elements much taller than twice that
// Least width in pixels, and the share of what is left over.
const WIDTHS = { row: [104, 0.4], text: [120, 3], score: [92, 1], verdict: [80, 0.6], status: [110, 0.8], number: [84, 0.8] };
const KINDS = ["good", "bad", "failed", "skipped", "note"];

// The head

function paintHead(view) {
  const { model } = view;
  view.columns = model.get("columns");
  const widths = view.columns.map((column) => WIDTHS[column.kind] ?? WIDTHS.text);
  const template = widths.map(([least, share]) => (share ? `minmax(${least}px, ${share}fr)` : `${least}px`)).join(" ");
  view.grid.style.setProperty("--wb-columns", template || "1fr");
  view.grid.style.setProperty("--wb-width", `${widths.reduce((sum, [least]) => sum + least, 0)}px`);
  attributes(view.grid, { "aria-colcount": view.columns.length });
  const focused = view.head.contains(document.activeElement) ? view.headAt : -1;
  view.headAt = Math.min(view.headAt, Math.max(view.columns.length - 1, 0));
  view.head.replaceChildren(...view.columns.map((column, at) => headCell(view, column, at)));
  if (focused >= 0) view.head.children[view.headAt]?.firstChild.focus();
}

function headCell(view, column, at) {
  const { key, descending } = view.model.get("order");
  const sorted = key !== "" && key === column.key;
  const cell = attributes(make("div", `wb-th wb-kind-${column.kind}`), {
    role: "columnheader", "aria-sort": sorted ? (descending ? "descending" : "ascending") : "none", "aria-colindex": at + 1,
  });
  const button = makeButton("wb-th-button", "", () => sortBy(view, column.key));
  attributes(button, { tabindex: at === view.headAt ? 0 : -1, title: `${column.title}: sort` });
  button.append(make("span", "wb-th-title", column.title), attributes(make("span", "wb-th-mark", sorted ? (descending ? "↓" : "↑") : ""), { "aria-hidden": true }));
  cell.append(button);
  return cell;
}

/** Up, down, and back to the natural order. */
function sortBy(view, key) {
  const order = view.model.get("order");
  const same = order.key === key;
  view.headAt = view.columns.findIndex((column) => column.key === key);
  const next = same && order.descending ? { key: "", descending: false } : { key, descending: same };
  view.model.send({ ask: "sort", ...next, version: view.model.get("version") });
}

function onHeadKey(view, event) {
  const by = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
  if (event.key === "ArrowDown") view.grid.focus();
  else if (by) focusHead(view, view.headAt + by);
  else return false;
  return true;
}

function focusHead(view, at) {
  if (at < 0 || at >= view.columns.length) return;
  view.head.children[view.headAt].firstChild.tabIndex = -1;
  view.headAt = at;
  const button = view.head.children[at].firstChild;
  button.tabIndex = 0;
  button.focus();
}

// Rows: those in view, at the places where they would be

function geometry(view) {
  const count = view.model.get("count");
  const seen = Math.max(view.grid.clientHeight - view.head.offsetHeight, ROW);
  const full = count * ROW;
  const tall = Math.min(full, TALLEST);
  // Above that height the scroll bar moves over more rows than it has pixels.
  const ratio = tall > seen && full > tall ? (full - seen) / (tall - seen) : 1;
  return { count, seen, tall, ratio, top: view.grid.scrollTop * ratio };
}

function paintRows(view) {
  view.body.style.height = `${geometry(view).tall}px`;
  const { count, seen, ratio, top } = geometry(view);
  const first = Math.max(Math.floor(top / ROW) - 4, 0);
  const last = Math.min(Math.ceil((top + seen) / ROW) + 4, count);
  for (const [at, row] of view.rows) if (at < first || at >= last) dropRow(view, at, row);
  for (let at = first; at < last; at += 1) {
    placeRow(view, at, at * ROW - top + top / ratio);
  }
  fetchRows(view, first, last);
  paintFacts(view, count);
}

function dropRow(view, at, row) {
  row.remove();
  view.rows.delete(at);
}

function placeRow(view, at, y) {
  const cells = view.pages.get(Math.floor(at / PAGE))?.[at % PAGE];
  let row = view.rows.get(at);
  // After a refresh the old row stays in view until the new one is here.
  if (!row || (cells && row.cells !== cells)) {
    const made = rowElement(view, at, cells);
    row ? row.replaceWith(made) : insertRow(view, at, made);
    view.rows.set(at, (row = made));
  }
  row.style.transform = `translateY(${y}px)`;
  const chosen = at === view.cursor;
  row.classList.toggle("wb-chosen", chosen);
  row.setAttribute("aria-selected", chosen);
}

/** Rows stand in the document in their order, for those who read it. */
function insertRow(view, at, made) {
  const after = [...view.body.children].find((row) => row.at > at) ?? null;
  view.body.insertBefore(made, after);
}

function rowElement(view, at, cells) {
  const row = attributes(make("div", "wb-row"), { role: "row", "aria-rowindex": at + 2, id: `${view.id}-${at}` });
  Object.assign(row, { cells, at });
  if (!cells) attributes(row, { "aria-busy": true }).classList.add("wb-waiting");
  row.append(...view.columns.map((column, n) => cellElement(column, cells ? cells[n] : "…", n)));
  return row;
}

function cellElement(column, value, n) {
  const cell = attributes(make("div", `wb-td wb-kind-${column.kind}`), { role: "gridcell", "aria-colindex": n + 1 });
  const { text, kind } = cellText(column.kind, value);
  cell.textContent = text;
  if (KINDS.includes(kind)) cell.classList.add(`wb-${kind}`);
  if (column.kind === "score" && typeof value === "number" && value >= 0 && value <= 1) cell.style.setProperty("--wb-part", `${value * 100}%`);
  return cell;
}

/** A cell in words. */
function cellText(kind, value) {
  if (value === null || value === undefined) return { text: "–", kind: "note" };
  if (typeof value === "object") return { text: `${{ good: "✓ ", bad: "✗ " }[value.kind] ?? ""}${value.text ?? ""}`, kind: value.kind };
  if (typeof value === "boolean") return { text: value ? "✓ pass" : "✗ fail", kind: value ? "good" : "bad" };
  if (typeof value === "number") return { text: kind === "score" ? alignedScore(value) : numberText(kind, value), kind: "" };
  return { text: String(value), kind: KINDS.includes(value) ? value : "" };
}

/** Decimal points stand below each other: what is missing is filled with spaces as wide as digits. */
function alignedScore(value) {
  const text = scoreText(value);
  return text + "\u2007".repeat(Math.max(0, 4 - (text.length - text.indexOf("."))));
}

function numberText(kind, value) {
  return kind === "row" ? String(value) : value.toLocaleString("en", { maximumFractionDigits: 3 });
}

function paintFacts(view, count) {
  const { key, descending } = view.model.get("order");
  const title = view.columns.find((column) => column.key === key)?.title;
  const parts = [count ? counted(count, "row") : "no rows"];
  if (key !== "" && title) parts.push(`by ${title} ${descending ? "↓" : "↑"}`);
  if (view.cursor >= 0) parts.push(`at ${(view.cursor + 1).toLocaleString("en")}`);
  const text = parts.join(" · ");
  if (view.facts.textContent !== text) view.facts.textContent = text;
  attributes(view.grid, { "aria-rowcount": count + 1, "aria-activedescendant": view.rows.has(view.cursor) ? `${view.id}-${view.cursor}` : null });
}

/** Ask for the pages in view that are not here; one question at a time, so that a fast scroll skips what it passes. */
function fetchRows(view, first, last) {
  if (view.asked !== null) return;
  for (let page = Math.floor(first / PAGE); page * PAGE < last; page += 1) {
    if (view.pages.has(page)) continue;
    view.asked = page;
    view.model.send({ ask: "rows", start: page * PAGE, stop: (page + 1) * PAGE, version: view.model.get("version") });
    return;
  }
}

function onRows(view, told) {
  const page = told.start / PAGE;
  if (view.asked === page) view.asked = null;
  view.pages.set(page, told.rows);
  if (view.pages.size > KEPT) view.pages.delete(view.pages.keys().next().value);
  view.repaint();
}
