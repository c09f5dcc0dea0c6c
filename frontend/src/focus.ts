/**
 * The keyboard focus of the view. A notebook moves the focus as well (JupyterLab gives it to the notebook when the
 * focused element disappears), so only a press elsewhere or Tab counts as leaving.
 */

/** What can be focused inside a panel. */
export const STOPS = "input:not([hidden]):not(:disabled), select, textarea, button:not(:disabled)";

/** Whether an event happened inside an element, also in a shadow root. */
const isInside = (event: Event, element: HTMLElement | null): boolean => element !== null && event.composedPath().includes(element);

/** Call back when the user leaves an element by pressing elsewhere or by Tab; returns the end of it. */
export function onLeaving(element: () => HTMLElement | null, leave: () => void): () => void {
  const document = element()?.ownerDocument;
  if (!document) return () => {};
  let tab = false;
  const pressed = (event: Event) => {
    tab = false;
    if (!isInside(event, element())) leave();
  };
  const typed = (event: KeyboardEvent) => void (tab = event.key === "Tab");
  const focused = (event: Event) => {
    if (tab && !isInside(event, element())) leave();
  };
  document.addEventListener("pointerdown", pressed, true);
  document.addEventListener("keydown", typed, true);
  document.addEventListener("focusin", focused, true);
  return () => {
    document.removeEventListener("pointerdown", pressed, true);
    document.removeEventListener("keydown", typed, true);
    document.removeEventListener("focusin", focused, true);
  };
}

/** The focused element of the document or shadow root that an element is in. */
export function focusOf(element: Node): Element | null {
  return (element.getRootNode() as Document | ShadowRoot).activeElement ?? null;
}

/** When the focused element disappears or is disabled, focus the closest remaining part around it; returns the end of it. */
export function keepFocus(root: HTMLElement): () => void {
  let path: HTMLElement[] = []; // the focused element and what is around it, while the focus is inside
  const focused = (event: Event) => {
    const all = event.composedPath();
    path = all.slice(0, all.indexOf(root)).filter((each): each is HTMLElement => each instanceof HTMLElement);
  };
  const handOn = () => {
    const [last, ...around] = path;
    if (!last || (last.isConnected && !last.matches(":disabled"))) return;
    const now = focusOf(root);
    if (now && now !== last && root.contains(now)) return;
    path = [];
    const next = around.filter((each) => each.isConnected).find((each) => each.tabIndex >= 0 || each.matches("[role=dialog]")) ?? root;
    (next.matches("[role=dialog]") ? (next.querySelector<HTMLElement>(STOPS) ?? next) : next).focus({ preventScroll: true });
  };
  root.addEventListener("focusin", focused, true);
  const leaving = onLeaving(() => root, () => void (path = []));
  const observer = new MutationObserver(handOn);
  observer.observe(root, { childList: true, subtree: true, attributes: true, attributeFilter: ["disabled"] });
  return () => {
    root.removeEventListener("focusin", focused, true);
    leaving();
    observer.disconnect();
  };
}
