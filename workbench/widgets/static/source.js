// A text to read, highlighted, with buttons to copy and to download it. The model's `tokens` are [class, text] pairs.

function showTokens(pre, tokens) {
  pre.replaceChildren(...tokens.map(([kind, text]) => (kind ? make("span", `wb-${kind}`, text) : document.createTextNode(text))));
}

/** Copy by the clipboard where the page may use it, else by a selection: plain http has no clipboard. */
async function copyText(text) {
  if (navigator.clipboard && window.isSecureContext) {
    try {
      await navigator.clipboard.writeText(text);
      return true;
    } catch {
      // Refused by the browser: the old way may still do.
    }
  }
  const area = make("textarea");
  area.value = text;
  area.style.position = "fixed";
  document.body.append(area);
  area.select();
  const copied = document.execCommand("copy");
  area.remove();
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

/** The whole text: as shown, or from Python where only its beginning is shown. */
function wholeText(model) {
  if (!model.get("cut")) return Promise.resolve(model.get("tokens").map(([, text]) => text).join(""));
  return new Promise((resolve) => {
    const hear = (told) => {
      if (told.tell !== "text") return;
      model.off("msg:custom", hear);
      resolve(told.text);
    };
    model.on("msg:custom", hear);
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
  const copy = makeButton("wb-source-copy", "Copy", async () => {
    said.textContent = (await copyText(await wholeText(model))) ? "copied" : "select the text and copy it by hand";
  });
  const download = makeButton("wb-source-download", "Download", async () => {
    saveText(await wholeText(model), model.get("file") || "text.txt");
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
