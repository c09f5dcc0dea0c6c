/** Call a function after the page has been painted; soon, if nothing is painted, as in a background tab. */

const SOON = 200; // milliseconds

/** Returns a function that cancels the call. */
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
