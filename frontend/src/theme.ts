/** Whether the page around the view is dark: detected from its colour, so that no host needs to be known by name. */

export type Theme = "light" | "dark";

export function themeOf(element: Element): Theme {
  for (let each: Element | null = element; each; each = parent(each)) {
    const luminance = luminanceOf(getComputedStyle(each).backgroundColor);
    if (luminance !== null) return luminance < 0.4 ? "dark" : "light";
  }
  return getComputedStyle(document.documentElement).colorScheme === "dark" ? "dark" : "light";
}

/** Call back with the theme now, and whenever the page's changes; returns a function that stops it. */
export function followTheme(element: Element, show: (theme: Theme) => void): () => void {
  const look = () => show(element.parentElement ? themeOf(element.parentElement) : themeOf(element));
  const observer = new MutationObserver(look);
  const what = { attributes: true, attributeFilter: ["class", "style", "data-jp-theme-light", "data-jp-theme-name", "data-theme", "data-vscode-theme-kind", "theme"] };
  observer.observe(document.documentElement, what);
  observer.observe(document.body, what);
  const media = matchMedia("(prefers-color-scheme: dark)");
  media.addEventListener("change", look);
  // A host's stylesheet may load after the view.
  const timers = [0, 100, 500, 1500].map((pause) => setTimeout(look, pause));
  return () => {
    observer.disconnect();
    media.removeEventListener("change", look);
    timers.forEach(clearTimeout);
  };
}

function parent(element: Element): Element | null {
  if (element.parentElement) return element.parentElement;
  const root = element.getRootNode();
  return root instanceof ShadowRoot ? root.host : null;
}

/** Luminance of a colour from 0 to 1; null if it is transparent. */
function luminanceOf(colour: string): number | null {
  const [red, green, blue, alpha] = colour.startsWith("rgb") ? ofRgb(colour) : drawn(colour);
  if (red === undefined || green === undefined || blue === undefined || (alpha ?? 1) < 0.5) return null;
  return (0.2126 * red + 0.7152 * green + 0.0722 * blue) / 255;
}

/** The numbers of "rgb(1, 2, 3)" and "rgb(1 2 3 / 0.5)". */
function ofRgb(colour: string): number[] {
  return colour.match(/[\d.]+/g)?.map(Number) ?? [];
}

/** Red, green, blue from 0 to 255 and the opacity of a colour in any other space, as "oklch(0.99 0.01 247)". */
function drawn(colour: string): number[] {
  const canvas = document.createElement("canvas").getContext("2d");
  if (!canvas) return [];
  canvas.fillStyle = "transparent"; // an invalid colour changes nothing
  canvas.fillStyle = colour;
  canvas.fillRect(0, 0, 1, 1);
  const [red = 0, green = 0, blue = 0, alpha = 0] = canvas.getImageData(0, 0, 1, 1).data;
  return [red, green, blue, alpha / 255];
}
