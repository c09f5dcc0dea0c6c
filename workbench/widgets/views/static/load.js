// plotly.js, once for all charts of a page, from the installed Python package.

const PATIENCE = 4000; // milliseconds until a chart no longer relies on another one's question

/** plotly.js by version, for all charts of the page: `plotly` once it is here, and those who wait for it. */
function sharedPlotly(version) {
  const all = (globalThis.workbenchPlotly ??= new Map());
  if (!all.has(version)) all.set(version, { plotly: null, loading: null, waiting: [] });
  return all.get(version);
}

/** plotly.js: from the page where it is, else from Python, where the first chart of the page asks. */
function plotlyFor(model, signal) {
  const shared = sharedPlotly(model.get("plotly"));
  if (shared.plotly) return Promise.resolve(shared.plotly);
  return new Promise((resolve, reject) => {
    const one = { resolve, reject, ask: () => model.send({ ask: "plotly" }) };
    follow(model, "msg:custom", (told, buffers) => told.tell === "plotly" && arrive(shared, buffers[0]), signal);
    signal.addEventListener("abort", () => leave(shared, one));
    shared.waiting.push(one);
    if (shared.waiting[0] === one) one.ask();
    // The first may belong to another notebook, whose kernel is dead or busy.
    else setTimeout(() => shared.waiting.includes(one) && one.ask(), PATIENCE);
  });
}

/** A chart went before the answer came: the next one asks. */
function leave(shared, one) {
  const first = shared.waiting[0] === one;
  shared.waiting = shared.waiting.filter((other) => other !== one);
  if (first && shared.waiting.length && !shared.loading) shared.waiting[0].ask();
}

async function arrive(shared, packed) {
  if (shared.loading) return;
  shared.loading = unpack(packed);
  try {
    shared.plotly = await shared.loading;
    shared.waiting.forEach((one) => one.resolve(shared.plotly));
  } catch (error) {
    shared.loading = null;
    shared.waiting.forEach((one) => one.reject(error));
  }
  shared.waiting = [];
}

/** Run the compressed script as a module of its own: pages forbid eval more often than blobs, and `define` of a
 * page with require.js must not catch it. */
async function unpack(packed) {
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
  const code = await new Response(stream).text();
  const text = `const module = { exports: {} }; let exports = module.exports, define;\n${code}\nexport default module.exports;`;
  const url = URL.createObjectURL(new Blob([text], { type: "text/javascript" }));
  const before = globalThis.Plotly; // perhaps another version, of another extension
  try {
    return (await import(url)).default;
  } finally {
    URL.revokeObjectURL(url);
    if (before === undefined) delete globalThis.Plotly;
    else globalThis.Plotly = before;
  }
}
