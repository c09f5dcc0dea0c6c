// A plotly figure whose marks can be picked. The model's `spec` is the whole figure; drawing is always from it.

const PALETTE = ["#4c8bd6", "#d9822b", "#3d9970", "#b46ad1", "#c75d5d", "#5aa7a7"];
const CLEAR = "rgba(0,0,0,0)";
const HEIGHT = 320; // pixels, where the figure names none

function build(view) {
  const { root, model } = view;
  attributes(root, { tabindex: 0, role: "application", "aria-roledescription": "chart" });
  root.setAttribute("data-lm-suppress-shortcuts", "true");
  view.note = make("div", "wb-chart-note", "The chart is drawn when the kernel is free.");
  view.plot = make("div", "wb-chart-plot");
  view.said = attributes(make("div", "wb-said"), { "aria-live": "polite" });
  view.probe = make("span", "wb-chart-probe");
  view.watch = make("span", "wb-chart-probe wb-chart-watch");
  root.append(view.note, view.plot, view.said, view.probe, view.watch);
  root.setAttribute("aria-label", `${model.get("label") || "chart"}. Arrow keys move over the marks, Enter picks, Escape clears.`);
}

/** A colour of the page as plotly can read it: resolved by the browser. */
function colour(view, name) {
  view.probe.style.color = `var(${name})`;
  return getComputedStyle(view.probe).color;
}

function theme(view) {
  const [ink, line, ground] = ["--wb-ink", "--wb-line", "--wb-ground"].map((name) => colour(view, name));
  const family = getComputedStyle(view.root).fontFamily;
  return { font: { color: ink, family, size: 12 }, line, ground };
}

/** What a figure leaves open, in the page's colours. */
function template({ font, line, ground }) {
  const axis = { gridcolor: line, linecolor: line, zerolinecolor: line, tickcolor: line, automargin: true };
  const faded = { unselected: { marker: { opacity: 0.3 } } };
  return {
    layout: {
      colorway: PALETTE, xaxis: axis, yaxis: axis, hovermode: "closest", margin: { l: 48, r: 16, t: 24, b: 40 },
      legend: { bgcolor: CLEAR, orientation: "h", y: 1.02, yanchor: "bottom" },
      newselection: { line: { color: font.color, width: 1, dash: "dot" } },
    },
    data: { heatmap: [{ colorscale: [[0, ground], [1, PALETTE[0]]] }], bar: [faded], scatter: [faded], scattergl: [faded] },
  };
}

function themedLayout(view, given) {
  const look = theme(view);
  const dragmode = hasMarks(view) ? given.dragmode ?? "select" : false;
  return {
    ...given,
    template: template(look), dragmode, autosize: false, width: view.width, height: given.height ?? HEIGHT,
    paper_bgcolor: CLEAR, plot_bgcolor: CLEAR, font: { ...given.font, ...look.font, size: given.font?.size ?? 12 },
    hoverlabel: { ...given.hoverlabel, bgcolor: look.ground, bordercolor: look.line, font: look.font, align: "left" },
    shapes: [...(given.shapes ?? []), ...cellFrames(view, look.font.color)],
  };
}

// Marks: [trace, point], where the point of a grid is [row, column].

const isGrid = (trace) => trace.type === "heatmap";

function hasMarks(view) {
  return view.figure.data.some((trace) => Array.isArray(trace.customdata));
}

/** What a mark means: its `customdata`; undefined where it has none. */
function meaning(view, [at, point]) {
  const held = view.figure.data[at]?.customdata;
  const found = Array.isArray(point) ? held?.[point[0]]?.[point[1]] : held?.[point];
  return found ?? undefined;
}

/** A trace's marks that mean something, in order; bars of no height are no marks. */
function marksOf(view, at) {
  const trace = view.figure.data[at];
  if (!Array.isArray(trace.customdata)) return [];
  const points = isGrid(trace)
    ? trace.customdata.flatMap((row, r) => row.map((_, c) => [r, c]))
    : trace.customdata.map((_, n) => n);
  return points.filter((point) => meaning(view, [at, point]) !== undefined && !isEmpty(trace, point)).map((p) => [at, p]);
}

function isEmpty(trace, point) {
  if (trace.type !== "bar") return false;
  const length = valuesOf(trace, trace.orientation === "h" ? "x" : "y")[point];
  return length === 0 || length === null;
}

/** A trace's values along an axis; a grid may leave them out. */
function valuesOf(trace, letter) {
  return trace[letter] ?? [];
}

/** Frames around the picked cells of grids, which know no selection of their own. */
function cellFrames(view, ink) {
  return view.figure.data.flatMap((trace, at) => (isGrid(trace) ? pickedPoints(view, at) : []).map(([r, c]) => ({
    type: "rect", xref: trace.xaxis ?? "x", yref: trace.yaxis ?? "y", line: { color: ink, width: 2 },
    ...ends("x", valuesOf(trace, "x"), c), ...ends("y", valuesOf(trace, "y"), r),
  })));
}

/** The two ends of one cell on an axis; named cells stand at whole numbers. */
function ends(letter, values, at) {
  const measured = typeof values[at] === "number";
  const middle = measured ? values[at] : at;
  const half = measured && values.length > 1 ? Math.abs(values[1] - values[0]) / 2 : 0.5;
  return { [`${letter}0`]: middle - half, [`${letter}1`]: middle + half };
}

function pickedPoints(view, at) {
  const picked = new Set(view.model.get("picked").map((one) => JSON.stringify(one)));
  return marksOf(view, at).filter((mark) => picked.has(JSON.stringify(meaning(view, mark)))).map(([, point]) => point);
}

function themedData(view) {
  if (!view.model.get("picked").length) return view.figure.data;
  return view.figure.data.map((trace, at) =>
    isGrid(trace) || !Array.isArray(trace.customdata) ? trace : { ...trace, selectedpoints: pickedPoints(view, at) });
}

/** Draw from the model. A chart without width (in a hidden tab) waits until it has one. */
async function paint(view) {
  const spec = view.model.get("spec");
  view.width = Math.floor(view.root.clientWidth);
  view.plot.hidden = !spec;
  if (!spec) return say(view, "Nothing to draw yet.");
  if (!view.plotly || !view.width || view.signal.aborted) return;
  view.figure = JSON.parse(spec);
  view.figure.layout ??= {};
  view.drawing += 1;
  try {
    await view.plotly.react(view.plot, themedData(view), themedLayout(view, view.figure.layout), { displayModeBar: false, doubleClick: false });
    if (!view.signal.aborted) shown(view);
  } catch (error) {
    say(view, `The chart cannot be drawn: ${error.message}`);
  } finally {
    view.drawing -= 1;
  }
}

function say(view, text) {
  view.note.textContent = text;
  view.note.hidden = text === "";
}

function shown(view) {
  say(view, "");
  if (view.bound) return;
  view.bound = true;
  view.plot.on("plotly_click", (event) => !view.cleared && pickOne(view, marksIn(event)));
  view.plot.on("plotly_selected", (event) => event && !view.drawing && pick(view, marksIn(event)));
  view.plot.on("plotly_deselect", () => !view.drawing && letGo(view));
}

function marksIn(event) {
  return event.points.map((point) => [point.curveNumber, point.pointNumber ?? point.pointIndex]);
}

/** A double click. Its second click is told as well, and must not pick again. */
function letGo(view) {
  view.cleared = true;
  setTimeout(() => { view.cleared = false; });
  pick(view, []);
}

/** A click on what is picked already lets it go. */
function pickOne(view, marks) {
  const found = marks.map((mark) => meaning(view, mark)).filter((one) => one !== undefined);
  if (!found.length) return;
  pick(view, JSON.stringify(found) === JSON.stringify(view.model.get("picked")) ? [] : marks);
}

function pick(view, marks) {
  const picks = marks.map((mark) => meaning(view, mark)).filter((one) => one !== undefined);
  if (!picks.length && !view.model.get("picked").length) return;
  view.model.set("picked", picks);
  view.model.save_changes();
  view.model.send({ do: "pick", picks });
  view.said.textContent = picks.length ? `${counted(picks.length, "mark")} picked` : "nothing picked";
  view.repaint();
}

// The keyboard

function onKey(view, event) {
  if (notOurs(event) || !view.figure) return;
  const act = { Enter: pickMark, " ": pickMark, Escape: clear, Home: toEnd, End: toEnd }[event.key];
  const step = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] }[event.key];
  if (!act && !step) return;
  event.preventDefault();
  event.stopPropagation();
  if (step) move(view, step);
  else act(view, event);
}

function pickMark(view) {
  if (view.at) pickOne(view, [view.at]);
}

function clear(view) {
  pick(view, []);
  leaveMark(view);
}

function leaveMark(view) {
  view.at = null;
  if (view.bound) view.plotly.Fx.unhover(view.plot);
}

function toEnd(view, event) {
  const all = everyMark(view);
  if (all.length) goTo(view, event.key === "Home" ? all[0] : all.at(-1));
}

function everyMark(view) {
  return view.figure.data.flatMap((_, at) => marksOf(view, at));
}

function move(view, step) {
  const all = everyMark(view);
  if (!all.length) return;
  if (!view.at || meaning(view, view.at) === undefined) goTo(view, all[0]);
  else goTo(view, (isGrid(view.figure.data[view.at[0]]) ? nextCell : nextMark)(view, all, step) ?? view.at);
}

/** Left and right within a trace, up and down between traces. */
function nextMark(view, all, [across, up]) {
  const [at, point] = view.at;
  const mine = all.filter((mark) => mark[0] === at);
  if (across) return mine[mine.findIndex((mark) => mark[1] === point) + across];
  const traces = [...new Set(all.map((mark) => mark[0]))];
  const other = traces[traces.indexOf(at) - up];
  const theirs = all.filter((mark) => mark[0] === other);
  return theirs.sort((a, b) => Math.abs(a[1] - point) - Math.abs(b[1] - point))[0];
}

function nextCell(view, all, [across, up]) {
  const [at, [row, column]] = view.at;
  const range = view.plot._fullLayout?.[`yaxis${(view.figure.data[at].yaxis ?? "y").slice(1)}`]?.range ?? [0, 1];
  const rise = range[0] > range[1] ? -up : up; // as it is seen: a matrix has its first row on top
  return all.find(([other, [r, c]]) => other === at && r === row + rise && c === column + across);
}

function goTo(view, mark) {
  view.at = mark;
  const [at, point] = mark;
  const trace = view.figure.data[at];
  view.said.textContent = words(view, trace, point);
  const subplot = (trace.xaxis ?? "x") + (trace.yaxis ?? "y");
  view.plotly.Fx.hover(view.plot, [{ curveNumber: at, pointNumber: point }], subplot);
}

/** A mark in words: what the pointer would be told, else its name and each axis with its title. */
function words(view, trace, point) {
  const hover = isGrid(trace) ? trace.hovertext?.[point[0]]?.[point[1]] : trace.hovertext?.[point];
  if (typeof hover === "string" && hover) return plain(hover);
  const full = view.plot._fullData?.[view.figure.data.indexOf(trace)] ?? trace;
  const parts = isGrid(trace)
    ? [value(full, "x", point[1]), value(full, "y", point[0]), full.text?.[point[0]]?.[point[1]] ?? full.z?.[point[0]]?.[point[1]]]
    : [named(view, trace, "x", value(full, "x", point)), named(view, trace, "y", value(full, "y", point))];
  return [trace.name, ...parts].filter((part) => part !== undefined && part !== "").join(", ");
}

/** Markup as plotly shows it, as text: a parsed document runs nothing. */
function plain(markup) {
  return new DOMParser().parseFromString(markup.replace(/<br\s*\/?>/g, ", "), "text/html").body.textContent;
}

function value(trace, letter, at) {
  const found = trace[letter]?.[at] ?? at;
  return typeof found === "number" ? String(Number(found.toPrecision(4))) : String(found);
}

function named(view, trace, letter, text) {
  const title = view.figure.layout[`${letter}axis${(trace[`${letter}axis`] ?? letter).slice(1)}`]?.title;
  const name = typeof title === "string" ? title : title?.text ?? "";
  return name ? `${name} ${text}` : text;
}

async function load(view) {
  try {
    view.plotly = await plotlyFor(view.model, view.signal);
    view.repaint();
  } catch (error) {
    say(view, `plotly.js did not load: ${error.message}`);
  }
}

function render({ model, el }) {
  const ends = new AbortController();
  const view = { model, root: make("div", "wb-widget wb-chart"), signal: ends.signal, figure: null, drawing: 0, at: null };
  build(view);
  el.append(view.root);
  view.painted = Promise.resolve();
  // One after the other: plotly finishes a drawing later than it returns.
  view.repaint = soon(() => { view.painted = view.painted.then(() => paint(view)); }, view.signal);
  follow(model, "change:spec change:picked", view.repaint, view.signal);
  watchSize(view.root, () => Math.floor(view.root.clientWidth) !== view.width && view.repaint(), view.signal);
  // Runs whenever the page's ink changes, whoever changes it: a theme switch needs no event of its own. Sheets come
  // and go while it lasts, and a change may cancel the one before.
  for (const name of ["transitionrun", "transitionend", "transitioncancel"]) view.watch.addEventListener(name, view.repaint);
  view.root.addEventListener("keydown", (event) => onKey(view, event));
  view.root.addEventListener("blur", () => leaveMark(view));
  view.repaint();
  load(view);
  return () => {
    ends.abort();
    if (view.bound) view.plotly.purge(view.plot);
  };
}

export default { render };
