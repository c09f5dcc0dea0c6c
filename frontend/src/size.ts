/** The layout width of an element, for figures that are drawn in pixels. */

import { useLayoutEffect, useRef, useState } from "preact/hooks";

export function useWidth<Kind extends Element>(first: number) {
  const element = useRef<Kind>(null);
  const [width, setWidth] = useState(first);
  useLayoutEffect(() => {
    const shown = element.current;
    if (!shown || typeof ResizeObserver === "undefined") return;
    const observer = new ResizeObserver(([entry]) => {
      const wide = Math.round(entry?.contentRect.width ?? 0);
      if (wide) setWidth(wide);
    });
    observer.observe(shown);
    return () => observer.disconnect();
  }, []);
  return { element, width };
}
