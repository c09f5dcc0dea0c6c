/** Do something once the page has been painted; where nothing is painted, as in a tab in the background, soon. */

const SOON = 200; // milliseconds

/** Returns how to leave it undone. */
export function afterPaint(action: () => void): () => void {
  let waits = true;
  const once = () => {
    if (waits) action();
    waits = false;
  };
  // What is drawn in a frame is on the screen when the next one begins.
  requestAnimationFrame(() => requestAnimationFrame(once));
  const timer = setTimeout(once, SOON);
  return () => {
    waits = false;
    clearTimeout(timer);
  };
}
