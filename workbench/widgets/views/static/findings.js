// Findings as cards, heaviest first; a card is a button that shows its rows. The model's `items` are the cards.

function card(model, item, at) {
  const button = makeButton(`wb-finding wb-${item.severity}${item.follows ? " wb-follows" : ""}`, "", () => {
    model.send({ do: "pick", at });
    // The rows stand below the cards on a narrow page: who asks for them is to see them.
    button.closest(".wb-panel")?.querySelector(".wb-table")?.scrollIntoView({ block: "nearest" });
  });
  const head = make("span", "wb-finding-head");
  head.append(make("span", "wb-badge", item.severity), make("b", "", item.title), make("span", "wb-finding-grader", item.grader));
  if (item.follows) head.append(make("span", "wb-quiet", `follows from: ${item.follows}`));
  button.append(head, make("span", "wb-finding-text", item.text));
  if (item.advice) button.append(make("span", "wb-finding-advice", item.advice));
  if (item.rows) button.append(make("span", "wb-finding-rows", `show ${counted(item.rows, "row")}`));
  button.disabled = !item.rows;
  return attributes(button, { "aria-pressed": item.rows ? String(model.get("active") === at) : null });
}

function render({ model, el }) {
  const ended = new AbortController();
  const root = attributes(make("div", "wb-widget wb-findings"), { role: "group", "aria-label": "Findings" });
  const draw = () => {
    const focused = [...root.children].indexOf(document.activeElement);
    root.replaceChildren(...model.get("items").map((item, at) => card(model, item, at)));
    if (!root.children.length) root.append(make("p", "wb-quiet", model.get("empty")));
    if (model.get("more")) root.append(make("p", "wb-quiet", model.get("more")));
    if (focused >= 0) root.children[focused]?.focus();
  };
  follow(model, "change:items change:active change:empty change:more", soon(draw, ended.signal), ended.signal);
  draw();
  el.append(root);
  return () => ended.abort();
}

export default { render };
