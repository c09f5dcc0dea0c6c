/** Small icons in the text's colour. Each of the four meanings has a distinct shape. */

import type { JSX } from "preact";
import type { Shape } from "./protocol.ts";

const line = { fill: "none", stroke: "currentColor", "stroke-linecap": "round", "stroke-linejoin": "round" } as const;

const DRAWINGS = {
  tick: <path {...line} stroke-width="2.2" d="M3 8.5l3.2 3.2L13 4.8" />,
  cross: <path {...line} stroke-width="2.2" d="M4 4l8 8M12 4l-8 8" />,
  good: [<circle cx="8" cy="8" r="7" fill="currentColor" />, <path {...line} stroke="var(--bg)" stroke-width="1.8" d="M4.6 8.3l2.3 2.3 4.5-4.9" />],
  bad: [<path d="M8 .6L15.4 8 8 15.4.6 8z" fill="currentColor" />, <path stroke="var(--bg)" stroke-width="1.7" d="M5.9 5.9l4.2 4.2M10.1 5.9l-4.2 4.2" />],
  unsettled: <path {...line} stroke-width="1.7" d="M8 1.6L14.4 8 8 14.4 1.6 8z" />,
  failed: [<path d="M8 1.2L15.4 14.4H.6z" fill="currentColor" />, <path {...line} stroke="var(--bg)" stroke-width="1.8" d="M8 6v4" />, <circle cx="8" cy="12.2" r="1" fill="var(--bg)" />],
  skipped: [<circle {...line} cx="8" cy="8" r="6" stroke-width="1.8" />, <path {...line} stroke-width="1.8" d="M5.4 8h5.2" />],
  note: [<circle {...line} cx="8" cy="8" r="6.2" stroke-width="1.6" />, <path {...line} stroke-width="1.8" d="M8 7.4v3.8" />, <circle cx="8" cy="4.8" r="1" fill="currentColor" />],
  wait: [<circle {...line} cx="8" cy="8" r="6" stroke-width="1.6" />, <path {...line} stroke-width="1.6" d="M8 4.6V8l2.4 1.6" />],
  none: <path {...line} stroke-width="1.8" d="M4.4 8h7.2" />,
  plus: <path {...line} stroke-width="1.8" d="M8 3v10M3 8h10" />,
  play: <path d="M4.5 2.8v10.4L13 8z" fill="currentColor" />,
  stop: <rect x="3.5" y="3.5" width="9" height="9" rx="1.4" fill="currentColor" />,
  find: [<circle {...line} cx="7" cy="7" r="4.4" stroke-width="1.6" />, <path {...line} stroke-width="1.6" d="M10.4 10.4L14 14" />],
  table: [<rect {...line} x="1.8" y="2.6" width="12.4" height="10.8" rx="1.6" stroke-width="1.4" />, <path {...line} stroke-width="1.4" d="M2 6.4h12M6.4 6.4v7" />],
  columns: [<rect {...line} x="1.8" y="2.6" width="12.4" height="10.8" rx="1.6" stroke-width="1.4" />, <path {...line} stroke-width="1.4" d="M6 2.6v10.8M10 2.6v10.8" />],
  more: [<circle cx="3" cy="8" r="1.4" fill="currentColor" />, <circle cx="8" cy="8" r="1.4" fill="currentColor" />, <circle cx="13" cy="8" r="1.4" fill="currentColor" />],
  lock: [<rect {...line} x="3" y="7" width="10" height="7" rx="1.4" stroke-width="1.5" />, <path {...line} stroke-width="1.5" d="M5.4 7V5a2.6 2.6 0 015.2 0v2" />],
  undo: <path {...line} stroke-width="1.6" d="M6 3L2.6 6.4 6 9.8M3 6.4h6.2a3.6 3.6 0 010 7.2H7" />,
  down: <path {...line} stroke-width="1.7" d="M4 6l4 4 4-4" />,
  up: <path {...line} stroke-width="1.7" d="M4 10l4-4 4 4" />,
  copy: [<rect {...line} x="5.4" y="5.4" width="8" height="8" rx="1.4" stroke-width="1.4" />, <path {...line} stroke-width="1.4" d="M3 10.6V3.8c0-.7.5-1.2 1.2-1.2h6.4" />],
  yes: <circle cx="8" cy="8" r="6.2" fill="currentColor" />,
  code: <path {...line} stroke-width="1.8" d="M5.6 4L1.8 8l3.8 4M10.4 4l3.8 4-3.8 4" />,
  loss: [<circle {...line} cx="8" cy="8" r="5.6" stroke-width="1.5" />, <path d="M8 2.4a5.6 5.6 0 010 11.2z" fill="currentColor" />],
  dash: <path {...line} stroke-width="1.8" d="M4.4 8h7.2" />,
  file: [<path {...line} stroke-width="1.4" d="M4 1.8h5.4L13 5.4v8.8H4z" />, <path {...line} stroke-width="1.4" d="M9.2 2v3.6h3.6" />],
  pen: <path {...line} stroke-width="1.5" d="M2.6 13.4l.7-3L10.6 3l2.4 2.4-7.4 7.3z" />,
  right: <path {...line} stroke-width="1.6" d="M3 8h10M9 4l4 4-4 4" />,
  save: <path {...line} stroke-width="1.6" d="M8 2.4v7.4M4.8 6.8L8 10l3.2-3.2M3 13.4h10" />,
  enlarge: <path {...line} stroke-width="1.6" d="M9.4 3H13v3.6M13 3L9 7M6.6 13H3V9.4M3 13l4-4" />,
  shrink: <path {...line} stroke-width="1.6" d="M12.6 7H9V3.4M9 7l4-4M3.4 9H7v3.6M7 9l-4 4" />,
  swap: <path {...line} stroke-width="1.6" d="M2.5 5.5h11M10.5 2.5l3 3M13.5 10.5h-11M5.5 13.5l-3-3" />,
} satisfies Record<string, JSX.Element | JSX.Element[]>;

export type IconName = keyof typeof DRAWINGS;

const COLOURS: Record<Shape, string> = {
  good: "c-good", bad: "c-bad", unsettled: "faint", failed: "c-failed", skipped: "c-skipped", note: "faint", wait: "faint", none: "faint",
};

/** Hidden from screen readers, because adjacent text states the meaning. */
export function Icon({ name, class: kind = "", small = false }: { name: IconName; class?: string; small?: boolean }) {
  return (
    <svg class={`${small ? "s" : "i"} ${kind}`} viewBox="0 0 16 16" aria-hidden="true">
      {DRAWINGS[name]}
    </svg>
  );
}

/** The icon of a meaning in its colour. */
export function Meaning({ shape, small = false }: { shape: Shape; small?: boolean }) {
  return <Icon name={shape} class={COLOURS[shape]} small={small} />;
}
