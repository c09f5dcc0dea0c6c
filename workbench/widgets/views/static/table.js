// Rows in a grid, only those in view; a reader beside them for the one selected.

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

// Moving, selecting, reading

function reveal(view, at) {
  const { seen, ratio, top } = geometry(view);
  const y = at * ROW;
  const aim = y < top ? y : Math.max(top, y + ROW - seen);
  if (aim !== top) view.grid.scrollTop = aim / ratio;
}

/** The grid grows and shrinks with the reader beside or below it; the row that is read stays in view. */
function onSize(view) {
  if (view.open && view.cursor >= 0) reveal(view, view.cursor);
  view.repaint();
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
    model, id, root: make("div", "wb-widget wb-table"), signal: ends.signal, rows: new Map(), pages: new Map(), pendingMore: new Map(),
    folds: new Set(), columns: [], headAt: 0, cursor: -1, open: false, asked: null, sent: null, epoch: null, order: "",
  };
  buildTable(view);
  el.append(view.root);
  view.repaint = soon(() => paintRows(view), view.signal);
  view.root.style.setProperty("--wb-height", `${model.get("height")}px`);
  follow(model, "change:version", () => onVersion(view), view.signal);
  follow(model, "change:selected", () => queueMicrotask(() => onChosen(view)), view.signal);
  follow(model, "msg:custom", (told) => onTold(view, told), view.signal);
  watchSize(view.grid, () => onSize(view), view.signal);
  view.grid.addEventListener("scroll", view.repaint, { passive: true });
  view.body.addEventListener("click", (event) => onClick(view, event));
  view.root.addEventListener("keydown", (event) => onTableKey(view, event));
  onVersion(view);
  return () => ends.abort();
}

export default { render };
