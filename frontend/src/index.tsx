/** The anywidget module: `render` draws the app into an element and returns a function that removes it. */

import { render as draw } from "preact";
import { afterPaint } from "./after_paint.ts";
import { App } from "./App.tsx";
import { LinkContext } from "./context.ts";
import { Link, type Model } from "./link.ts";
import { followTheme } from "./theme.ts";
import { viewOf } from "./view.ts";
import "./styles/index.css";

export function render({ model, el }: { model: Model; el: HTMLElement }): () => void {
  const link = new Link(model);
  const root = document.createElement("div");
  root.className = "gwb";
  // Keys go to the view while it has the focus, not to the notebook's cells.
  root.setAttribute("data-lm-suppress-shortcuts", "true");
  // Notebook 7 looks for that attribute only on the focused element.
  root.addEventListener("focusin", (event) => (event.target as Element).setAttribute("data-lm-suppress-shortcuts", "true"));
  el.append(root);
  const unfollow = followTheme(root, (theme) => root.setAttribute("data-theme", theme));
  const { painted } = viewOf(link);
  painted.value = false;
  draw(
    <LinkContext.Provider value={link}>
      <App />
    </LinkContext.Provider>,
    root,
  );
  // Grading starts after that, because it would delay the first paint.
  const forget = afterPaint(() => {
    painted.value = true;
    link.tell({ do: "open", width: root.clientWidth });
  });
  return () => {
    forget();
    unfollow();
    draw(null, root);
    link.close();
    root.remove();
  };
}

export default { render };
