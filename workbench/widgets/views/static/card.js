// One card to judge. A key acts at once: the next card is already here, Python's answer puts right what was wrong.

const VERDICTS = [["good", "✓ Good"], ["bad", "✗ Bad"], ["skip", "Skip"], ["undo", "Undo"]];
const SCROLLS = { ArrowDown: 60, ArrowUp: -60, PageDown: 300, PageUp: -300, " ": 300 };
const MARKS = { good: "✓", bad: "✗", skip: "–" };

function buildCard(view) {
  const { root, model } = view;
  attributes(root, { tabindex: 0, role: "group", "aria-label": `${model.get("label")}: one key a verdict, ? shows the keys` });
  root.setAttribute("data-lm-suppress-shortcuts", "true");
  view.message = attributes(make("div", "wb-card-message"), { role: "status" });
  view.host = make("div", "wb-reader-host wb-card-body");
  view.recent = attributes(make("div", "wb-card-recent"), { "aria-label": "Last decisions" });
  view.help = make("div", "wb-card-help");
  view.help.hidden = true;
  view.said = attributes(make("div", "wb-said"), { "aria-live": "polite" });
  root.append(progressLine(view), view.message, view.host, noteLine(view), buttonLine(view), view.help, view.recent, view.said);
}

function progressLine(view) {
  const line = make("div", "wb-card-progress");
  view.count = make("span", "wb-card-count");
  view.bar = attributes(make("div", "wb-card-bar"), { role: "progressbar", "aria-valuemin": 0, "aria-label": "labelled" });
  view.status = make("span", "wb-card-status");
  view.bar.append(make("div", "wb-card-part"));
  line.append(view.count, view.bar, view.status);
  return line;
}

function noteLine(view) {
  const line = make("label", "wb-card-note");
  view.note = attributes(make("textarea", ""), { rows: 1, "aria-label": "Note", maxlength: 10000 });
  view.noteKey = make("kbd", "");
  line.append(make("span", "wb-quiet", "Note"), view.note, view.noteKey);
  view.note.addEventListener("change", () => saveNote(view));
  return line;
}

function buttonLine(view) {
  const line = make("div", "wb-card-buttons");
  view.buttons = new Map(VERDICTS.map(([action, text]) => [action, verdictButton(view, action, text)]));
  const hint = make("span", "wb-card-hint wb-quiet", "click here to use the keys");
  const help = attributes(makeButton("wb-card-button wb-card-keys", "?", () => toggleHelp(view)), { "aria-label": "Show the keys", title: "Keys (?)" });
  line.append(...view.buttons.values(), help, hint);
  return line;
}

function verdictButton(view, action, text) {
  const button = makeButton(`wb-card-button wb-card-${action}`, "", () => decide(view, action));
  button.append(make("span", "", text), make("kbd", ""));
  return button;
}

// Painting

function paintCard(view) {
  const blank = view.waiting && view.card.seq === undefined;
  if (view.shownCard !== view.card || view.blank !== blank) showCard(view, blank);
  paintProgress(view);
  paintButtons(view);
  paintRecent(view);
  const message = view.model.get("message");
  view.message.textContent = message;
  view.message.hidden = !message;
}

function showCard(view, blank) {
  Object.assign(view, { shownCard: view.card, blank });
  const { card } = view;
  if (blank) showNoRow(view.host, "Waiting for the next card…");
  else if (card.seq === undefined) showNoRow(view.host, "No more cards: all done.");
  else showRow(view.host, card, (part) => fetchCardPart(view, card.seq, part), view.folds);
  view.host.scrollTop = 0;
  if (view.noteOf !== card.seq) view.note.value = card.note ?? ""; // somebody may be writing about this very row
  view.noteOf = card.seq;
  view.said.textContent = card.id ? `card ${card.id}` : "";
}

function paintProgress(view) {
  const done = view.done + view.decided.size;
  const total = view.model.get("total");
  view.count.textContent = total ? `${done.toLocaleString("en")} of ${total.toLocaleString("en")}` : "";
  attributes(view.bar, { "aria-valuenow": done, "aria-valuemax": total }).firstChild.style.width = `${total ? Math.min(100, (100 * done) / total) : 0}%`;
  view.status.replaceChildren(...view.model.get("status").map(([name, text]) => statusChip(name, text)));
}

function statusChip(name, text) {
  const chip = make("span", "wb-card-fact");
  chip.append(make("span", "wb-quiet", String(name)), make("b", "", String(text)));
  return chip;
}

function paintButtons(view) {
  const bindings = view.model.get("bindings");
  const ready = !view.waiting && view.card.seq !== undefined;
  for (const [action, button] of view.buttons) {
    button.lastChild.textContent = keyName(bindings[action]);
    // Not `disabled`: a button that has the focus would take the keys with it.
    button.setAttribute("aria-disabled", action === "undo" ? view.waiting : !ready);
  }
  view.note.disabled = !ready;
  view.noteKey.textContent = keyName(bindings.note);
  const lines = Object.entries(bindings).map(([action, key]) => helpLine(keyName(key), action));
  view.help.replaceChildren(...lines, helpLine("↑ ↓", "scroll"), helpLine("Esc", "leave the note"), helpLine("?", "these keys"));
}

function helpLine(key, text) {
  const line = make("span", "wb-card-fact");
  line.append(make("kbd", "", key), make("span", "", text));
  return line;
}

function keyName(key) {
  return key === " " ? "space" : (key ?? "");
}

function paintRecent(view) {
  const marks = view.model.get("recent").map(({ id, action }) => {
    const mark = make("span", `wb-card-fact wb-${action}`);
    mark.append(make("span", "", `${MARKS[action] ?? ""} ${action}`), make("span", "wb-quiet wb-card-id", String(id ?? "")));
    return mark;
  });
  view.recent.replaceChildren(...(marks.length ? [make("span", "wb-quiet", "before:"), ...marks.reverse()] : []));
}

function toggleHelp(view) {
  view.help.hidden = !view.help.hidden;
}

// Deciding

/** Act, and show at once what is to be expected. Until Python has heard the last of ours, its older cards are passed over. */
function decide(view, action) {
  const undo = action === "undo";
  if (view.waiting || (!undo && view.card.seq === undefined)) return;
  const { seq } = view.card;
  tell(view, action, view.note.value, seq ?? -1);
  view.said.textContent = action;
  if (undo) view.waiting = true; // the card stays in view until Python says which one it is
  else goOn(view, seq);
  paintCard(view);
}

function goOn(view, seq) {
  view.decided.add(seq);
  const next = view.model.get("upcoming");
  view.waiting = next.seq === undefined || view.decided.has(next.seq);
  view.card = view.waiting ? {} : next;
}

function tell(view, action, note, seq) {
  view.turn += 1;
  view.model.send({ do: "decide", action, note, seq, turn: `${view.id}:${view.turn}` });
}

function saveNote(view) {
  if (view.card.seq === undefined || view.note.value === (view.card.note ?? "")) return;
  view.card = view.shownCard = { ...view.card, note: view.note.value };
  tell(view, "note", view.note.value, view.card.seq);
}

/** Take over Python's card, unless it has not heard all of ours yet. */
function onTruth(view) {
  if (view.acked === view.turn) {
    Object.assign(view, { waiting: false, done: view.model.get("done") });
    view.decided.clear();
    view.card = sameBut(view.card, view.model.get("card"));
  }
  paintCard(view);
}

/** The card as it is here where Python's differs in the note alone: somebody may be writing it. */
function sameBut(here, there) {
  const text = (card) => JSON.stringify({ ...card, note: null });
  return text(here) === text(there) ? here : there;
}

function onHeard(view) {
  const [id, turn] = view.model.get("heard").split(":");
  if (id !== view.id) return;
  view.acked = Number(turn);
  view.sync();
}

function onCardKey(view, event) {
  event.stopPropagation(); // the notebook has its own 1, 0, s and d d
  if (event.target === view.note) return noteKey(view, event);
  if (notOurs(event)) return undefined;
  const act = keyAct(view, event);
  if (!act) return undefined;
  event.preventDefault();
  return event.repeat && act !== scroll ? undefined : act(view, event);
}

function noteKey(view, event) {
  if (event.key !== "Escape" && !(event.key === "Enter" && (event.ctrlKey || event.metaKey))) return;
  event.preventDefault();
  view.root.focus({ preventScroll: true });
}

function keyAct(view, event) {
  const key = event.key.toLowerCase();
  const action = Object.entries(view.model.get("bindings")).find(([, bound]) => bound.toLowerCase() === key)?.[0];
  if (action === "note") return () => view.note.focus();
  if (action) return () => decide(view, action);
  if (key === "?") return toggleHelp;
  const pressing = event.target.closest("button, summary") && event.key === " ";
  return SCROLLS[event.key] && !pressing ? scroll : null;
}

function scroll(view, event) {
  view.host.scrollBy({ top: SCROLLS[event.key] });
}

function fetchCardPart(view, seq, part) {
  return new Promise((resolve) => {
    view.pendingMore.set(`${seq}:${part}`, resolve);
    view.model.send({ ask: "more", seq, part });
  });
}

function onToldCard(view, told) {
  if (told.tell !== "more") return;
  view.pendingMore.get(`${told.seq}:${told.part}`)?.(told);
  view.pendingMore.delete(`${told.seq}:${told.part}`);
}

function render({ model, el }) {
  const ends = new AbortController();
  const view = {
    model, id: Math.random().toString(36).slice(2), root: make("div", "wb-widget wb-card"), signal: ends.signal, card: {}, shownCard: null,
    turn: 0, acked: 0, done: 0, decided: new Set(), waiting: false, folds: new Set(), pendingMore: new Map(),
  };
  buildCard(view);
  el.append(view.root);
  view.sync = soon(() => onTruth(view), view.signal);
  follow(model, "change:card change:upcoming change:done change:total change:status change:message change:bindings change:recent", view.sync, view.signal);
  follow(model, "change:heard", () => onHeard(view), view.signal);
  follow(model, "msg:custom", (told) => onToldCard(view, told), view.signal);
  view.root.addEventListener("keydown", (event) => onCardKey(view, event));
  // A click anywhere makes the keys work.
  view.root.addEventListener("click", (event) => event.target.closest("textarea, button, summary, a") || view.root.focus({ preventScroll: true }));
  onTruth(view);
  return () => ends.abort();
}

export default { render };
