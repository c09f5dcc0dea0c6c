// A text to read, highlighted, with buttons to copy and to download it. The model's `tokens` are [class, text] pairs.

function showTokens(pre, tokens) {
  pre.replaceChildren(...tokens.map(([kind, text]) => (kind ? make("span", `wb-${kind}`, text) : document.createTextNode(text))));
}

/** Copy a text to the letter: by the clipboard where the page may use it, else by a copy event: plain http has no clipboard. */
async function copyText(text, shown) {
  if (navigator.clipboard && window.isSecureContext) {
    try {
      await navigator.clipboard.writeText(text);
      return true;
    } catch {
      // Refused by the browser: the old way may still do.
    }
  }
  // A selection, because some browsers copy nothing without one; where they refuse, it is left for the reader's own hand.
  getSelection().selectAllChildren(shown);
  const put = (event) => {
    event.preventDefault();
    event.stopImmediatePropagation();
    event.clipboardData.setData("text/plain", text);
  };
  window.addEventListener("copy", put, true);
  const copied = document.execCommand("copy");
  window.removeEventListener("copy", put, true);
  if (copied) getSelection().removeAllRanges();
  return copied;
}

function saveText(text, name) {
  const url = URL.createObjectURL(new Blob([text], { type: "text/plain;charset=utf-8" }));
  const link = attributes(make("a"), { href: url, download: name });
  document.body.append(link);
  link.click();
  link.remove();
  URL.revokeObjectURL(url);
}

/** The text itself, from Python: what is shown may be cut, and has hidden characters spelled out. */
function wholeText(model, signal) {
  return new Promise((resolve) => {
    const end = () => model.off("msg:custom", hear);
    const hear = (told) => {
      if (told.tell !== "text") return;
      end();
      resolve(told.text);
    };
    model.on("msg:custom", hear);
    signal.addEventListener("abort", end);
    model.send({ ask: "text" });
  });
}

function render({ model, el }) {
  const ended = new AbortController();
  const root = make("div", "wb-widget wb-source");
  const bar = make("div", "wb-source-bar");
  const title = make("span", "wb-source-title");
  const said = attributes(make("span", "wb-source-said"), { role: "status" });
  const pre = attributes(make("pre", "wb-source-text"), { tabindex: 0 });
  const whole = () => {
    said.textContent = "waiting for Python";
    return wholeText(model, ended.signal);
  };
  const copy = makeButton("wb-source-copy", "Copy", async () => {
    const copied = await copyText(await whole(), pre);
    said.textContent = copied ? "copied" : "the browser refused: what is shown is selected, copy it by hand";
  });
  const download = makeButton("wb-source-download", "Download", async () => {
    saveText(await whole(), model.get("file") || "text.txt");
    said.textContent = "downloaded";
  });
  bar.append(title, said, copy, download);
  root.append(bar, pre);
  const draw = () => {
    showTokens(pre, model.get("tokens"));
    title.textContent = model.get("title");
    said.textContent = model.get("cut") ? "the beginning is shown" : "";
    attributes(pre, { "aria-label": model.get("title") || "source" });
    root.hidden = !model.get("tokens").length;
    download.hidden = !model.get("file");
    pre.style.maxHeight = `${model.get("height")}px`;
  };
  follow(model, "change:tokens change:title change:file change:cut change:height", soon(draw, ended.signal), ended.signal);
  draw();
  el.append(root);
  return () => ended.abort();
}

export default { render };
