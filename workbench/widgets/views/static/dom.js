// Shared by our widgets; each module starts with this text.

/** An element with a class and text. Text is only ever set as text: rows are data, never markup. */
function make(tag, className = "", text = "") {
  const element = document.createElement(tag);
  if (className) element.className = className;
  if (text !== "") element.textContent = text;
  return element;
}

/** A button that does not take part in a form. */
function makeButton(className, text, act) {
  const button = make("button", className, text);
  button.type = "button";
  button.addEventListener("click", act);
  return button;
}

/** Set several attributes; null takes one away. */
function attributes(element, values) {
  for (const [name, value] of Object.entries(values)) {
    if (value === null) element.removeAttribute(name);
    else element.setAttribute(name, String(value));
  }
  return element;
}

/** Follow a model until the view goes. */
function follow(model, names, act, signal) {
  for (const name of names.split(" ")) {
    model.on(name, act);
    signal.addEventListener("abort", () => model.off(name, act));
  }
}

/** Run `act` once before the next frame, however often it is asked for. */
function soon(act, signal) {
  let due = 0;
  signal.addEventListener("abort", () => cancelAnimationFrame(due));
  return () => {
    due ||= requestAnimationFrame(() => {
      due = 0;
      if (!signal.aborted) act();
    });
  };
}

/** Watch an element's size until the view goes. */
function watchSize(element, act, signal) {
  const watcher = new ResizeObserver(act);
  watcher.observe(element);
  signal.addEventListener("abort", () => watcher.disconnect());
}

/** Whether a key belongs to the browser or the page: Ctrl+C, Cmd+R, a letter being composed. */
function notOurs(event) {
  return event.ctrlKey || event.metaKey || event.altKey || event.isComposing;
}

function counted(count, noun) {
  return `${count.toLocaleString("en")} ${noun}${count === 1 ? "" : "s"}`;
}

/** A score as people read it: at most three decimals, never rounded up to 1 or down to 0. */
function scoreText(value) {
  const text = Number(value.toFixed(3));
  if (value !== text && (text === 0 || text === 1)) return String(Number(value.toPrecision(4)));
  return Number.isInteger(text) ? text.toFixed(1) : String(text);
}
