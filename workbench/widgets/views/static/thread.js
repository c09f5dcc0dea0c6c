// A conversation to read, by itself.

function render({ model, el }) {
  const ended = new AbortController();
  const root = make("div", "wb-widget wb-thread-view");
  const host = make("div", "wb-reader-host");
  const waiting = new Map();
  const folds = new Set();
  const fetchPart = (part) =>
    new Promise((resolve) => {
      waiting.set(part, resolve);
      model.send({ ask: "more", part });
    });
  const draw = () => {
    waiting.clear();
    if (model.get("row").turns) showRow(host, model.get("row"), fetchPart, folds);
    else host.replaceChildren();
  };
  const hear = (told) => {
    if (told.tell === "more") waiting.get(told.part)?.(told);
    waiting.delete(told.part);
  };
  follow(model, "change:row", soon(draw, ended.signal), ended.signal);
  follow(model, "msg:custom", hear, ended.signal);
  root.append(host);
  el.append(root);
  draw();
  return () => ended.abort();
}

export default { render };
