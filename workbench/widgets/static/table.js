// Rows in a grid, only those in view; a reader beside them for the one selected.

const ROW = 28; // pixels, as in table.css
const PAGE = 100; // rows a question asks for
const KEPT = 60; // pages kept
const TALLEST = 8e6; // pixels: browsers cannot hold elements much taller than twice that
// Least width in pixels, and the share of what is left over.
const WIDTHS = { row: [64, 0], text: [150, 3], score: [92, 1], verdict: [80, 0.6], status: [110, 0.8], number: [84, 0.8] };
const KINDS = ["good", "bad", "failed", "skipped", "note"];

function buildTable(view) {
  const { root, model } = view;
  root.setAttribute("data-lm-suppress-shortcuts", "true");
  view.grid = attributes(make("div", "wb-grid"), { role: "grid", tabindex: 0, "aria-label": model.get("label") || "rows", "aria-readonly": true });
  view.head = attributes(make("div", "wb-head"), { role: "row", "aria-rowindex": 1 });
  view.body = attributes(make("div", "wb-body"), { role: "rowgroup" });
  view.foot = make("div", "wb-foot");
  view.facts = attributes(make("span", "wb-facts"), { role: "status" });
  view.foot.append(view.facts, make("span", "wb-hint", "↑ ↓ move · Enter read · click a head to sort"));
  view.grid.append(view.head, view.body);
  const main = make("div", "wb-table-main");
  main.append(view.grid, view.foot);
  const split = make("div", "wb-table-split");
  split.append(main, readerPane(view));
  root.append(split);
}

function readerPane(view) {
  view.pane = attributes(make("div", "wb-table-reader"), { role: "region", "aria-label": "Row" });
  view.pane.hidden = true;
  view.where = make("span", "wb-quiet");
  const bar = make("div", "wb-pane-bar");
  const step = (by, text, label) => attributes(makeButton("wb-tool", text, () => moveTo(view, view.cursor + by)), { "aria-label": label, title: label });
  const close = attributes(makeButton("wb-tool wb-close", "✕", () => closeReader(view)), { "aria-label": "Close the reader", title: "Close (Esc)" });
  bar.append(step(-1, "↑", "Previous row"), step(1, "↓", "Next row"), view.where, close);
  view.host = make("div", "wb-reader-host");
  view.pane.append(bar, view.host);
  return view.pane;
}

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

// Moving, selecting, reading

function reveal(view, at) {
  const { seen, ratio, top } = geometry(view);
  const y = at * ROW;
  const aim = y < top ? y : Math.max(top, y + ROW - seen);
  if (aim !== top) view.grid.scrollTop = aim / ratio;
}

function moveTo(view, at, open = view.open) {
  const count = view.model.get("count");
  if (!count) return;
  view.cursor = Math.max(0, Math.min(at, count - 1));
  view.open = open;
  reveal(view, view.cursor);
  view.repaint();
  showPane(view);
  tellSelected(view);
}

/** One at a time: a key held down must not flood a busy kernel; the last place always gets through. */
function tellSelected(view) {
  if (view.sent !== null || view.cursor < 0) return;
  view.sent = view.cursor;
  view.model.send({ do: "select", at: view.cursor, read: view.open, version: view.model.get("version") });
}

function onSelected(view, told) {
  const mine = view.sent === told.at;
  if (mine) view.sent = null;
  const here = told.at === view.cursor;
  if (here && told.tell === "detail") onDetail(view, told);
  // Moved on, or opened the reader, since the question.
  else if (mine && (!here || view.open)) tellSelected(view);
}

function onDetail(view, told) {
  view.pendingMore.clear();
  if (told.problem) showNoRow(view.host, `This row cannot be shown. ${told.problem}`, "wb-bad");
  else showRow(view.host, told.value, (part) => fetchPart(view, told.at, part), view.folds);
  view.host.scrollTop = 0;
  view.host.removeAttribute("aria-busy");
}

function fetchPart(view, at, part) {
  return new Promise((resolve) => {
    view.pendingMore.set(part, resolve);
    view.model.send({ ask: "more", at, part, version: view.model.get("version") });
  });
}

function onMore(view, told) {
  view.pendingMore.get(told.part)?.(told);
  view.pendingMore.delete(told.part);
}

function showPane(view) {
  const open = view.open && view.cursor >= 0;
  view.pane.hidden = !open;
  view.root.classList.toggle("wb-reading", open);
  if (!open) return;
  view.where.textContent = `row ${(view.cursor + 1).toLocaleString("en")} of ${view.model.get("count").toLocaleString("en")}`;
  view.host.setAttribute("aria-busy", "true");
}

function closeReader(view) {
  view.open = false;
  showPane(view);
  view.host.replaceChildren();
  view.grid.focus();
}

const MOVES = {
  ArrowDown: (at) => at + 1, j: (at) => at + 1, ArrowUp: (at) => at - 1, k: (at) => at - 1,
  PageDown: (at, page) => at + page, PageUp: (at, page) => at - page, Home: () => 0, End: (at, page, count) => count - 1,
};

function onTableKey(view, event) {
  if (notOurs(event)) return;
  const handled = view.head.contains(event.target) ? onHeadKey(view, event) : onGridKey(view, event);
  if (!handled) return;
  event.preventDefault();
  event.stopPropagation();
}

function onGridKey(view, event) {
  if (event.key === "Escape" && view.open) return closeReader(view) ?? true;
  // In the reader the keys scroll and press what has the focus.
  if (event.target !== view.grid) return false;
  if (event.key === "Enter") return moveTo(view, Math.max(view.cursor, 0), true) ?? true;
  const move = MOVES[event.key];
  if (!move) return false;
  const { seen, count } = geometry(view);
  moveTo(view, view.cursor < 0 && event.key !== "End" ? 0 : move(view.cursor, Math.floor(seen / ROW) - 1, count));
  return true;
}

function onClick(view, event) {
  const row = event.target.closest(".wb-row");
  if (!row) return;
  view.grid.focus({ preventScroll: true });
  if (String(getSelection()).length && getSelection().containsNode(row, true)) return; // somebody copies text
  moveTo(view, row.at, true);
}

// What Python says

function onTold(view, told) {
  if (told.version !== view.model.get("version")) return; // of an order that is gone
  const act = { rows: onRows, detail: onSelected, selected: onSelected, more: onMore }[told.tell];
  act?.(view, told);
}

/** Another order or other data: nothing that was fetched holds any more. */
function onVersion(view) {
  Object.assign(view, { asked: null, sent: null });
  view.pages.clear();
  if (view.epoch !== view.model.get("epoch") || view.order !== JSON.stringify(view.model.get("order"))) startOver(view);
  else if (view.cursor !== view.model.get("selected")) tellSelected(view);
  else if (view.open && view.cursor >= 0) askDetail(view);
  paintHead(view);
  view.repaint();
}

function startOver(view) {
  Object.assign(view, { epoch: view.model.get("epoch"), order: JSON.stringify(view.model.get("order")), cursor: -1 });
  for (const [at, row] of view.rows) dropRow(view, at, row);
  view.grid.scrollTop = 0;
  onChosen(view);
  showPane(view);
}

/** Selected by code, by another view, or taken away. */
function onChosen(view) {
  const at = view.model.get("selected");
  if (at === view.sent || at === view.cursor) return;
  view.cursor = at;
  view.open = at >= 0;
  if (at >= 0) askDetail(view);
  showPane(view);
  view.repaint();
}

function askDetail(view) {
  reveal(view, view.cursor);
  view.model.send({ ask: "detail", at: view.cursor, version: view.model.get("version") });
}

function render({ model, el }) {
  const ends = new AbortController();
  const id = `wb-${Math.random().toString(36).slice(2)}`;
  const view = {
    model, id, root: make("div", "wb-table"), signal: ends.signal, rows: new Map(), pages: new Map(), pendingMore: new Map(),
    folds: new Set(), columns: [], headAt: 0, cursor: -1, open: false, asked: null, sent: null, epoch: null, order: "",
  };
  buildTable(view);
  el.append(view.root);
  view.repaint = soon(() => paintRows(view), view.signal);
  view.grid.style.maxHeight = `${model.get("height")}px`;
  view.pane.style.setProperty("--wb-height", `${model.get("height")}px`);
  follow(model, "change:version", () => onVersion(view), view.signal);
  follow(model, "change:selected", () => queueMicrotask(() => onChosen(view)), view.signal);
  follow(model, "msg:custom", (told) => onTold(view, told), view.signal);
  watchSize(view.grid, view.repaint, view.signal);
  view.grid.addEventListener("scroll", view.repaint, { passive: true });
  view.body.addEventListener("click", (event) => onClick(view, event));
  view.root.addEventListener("keydown", (event) => onTableKey(view, event));
  onVersion(view);
  return () => ends.abort();
}

export default { render };
