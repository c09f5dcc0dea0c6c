/** A button that opens a small panel: a menu, or a few settings. Esc, a click elsewhere or Tab out of it closes it. */

import type { ComponentChildren } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { focusOf, onLeaving, STOPS } from "./focus.ts";

interface PopoverProps {
  label: string; // of the panel
  button: ComponentChildren;
  class?: string; // of the button
  name?: string; // of the button, if its content does not contain it
  around?: string; // class of the element around the button and the panel
  side?: "left" | "right"; // which edge of the button the panel is aligned with
  disabled?: boolean;
  children: (close: () => void) => ComponentChildren;
}

export function Popover(props: PopoverProps) {
  const { label, button, name, side = "left" } = props;
  const [open, setOpen] = useState(false);
  const root = useRef<HTMLSpanElement>(null);
  const close = () => {
    setOpen(false);
    root.current?.querySelector<HTMLElement>("button")?.focus();
  };
  useEffect(() => (open ? onLeaving(() => root.current, () => setOpen(false)) : undefined), [open]);
  const onKeyDown = (event: KeyboardEvent) => {
    if (!open) return;
    if (event.key === "Escape") close();
    else if (!moveFocus(event, root.current)) return;
    event.preventDefault();
    event.stopPropagation();
  };
  return (
    <span class={`pop ${props.around ?? ""}`} ref={root} onKeyDown={onKeyDown}>
      <button type="button" class={props.class ?? "btn plain"} aria-label={name} title={name} disabled={props.disabled} aria-haspopup="dialog" aria-expanded={open} onClick={() => setOpen(!open)}>
        {button}
      </button>
      {open && <Panel label={label} side={side}>{props.children(close)}</Panel>}
    </span>
  );
}

function Panel({ label, side, children }: { label: string; side: string; children: ComponentChildren }) {
  const panel = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    const inside = panel.current;
    if (inside && !inside.contains(focusOf(inside))) (inside.querySelector<HTMLElement>(STOPS) ?? inside).focus();
  }, []);
  useFitting(panel);
  return (
    <div ref={panel} class={`panel ${side}`} role="dialog" aria-label={label} tabIndex={-1}>
      {children}
    </div>
  );
}

/** Maximum width of a panel in pixels. */
const WIDEST = 320;
/** Maximum height of a panel in pixels. */
const HIGHEST = 560;
/** Pixels between a panel and the edge of the view. */
const MARGIN = 6;

/** Keep a panel inside the view, also when its content changes: the view hides what is outside it. */
function useFitting(panel: { current: HTMLDivElement | null }): void {
  useLayoutEffect(() => {
    const inside = panel.current;
    const frame = inside?.closest("main");
    if (!inside || !frame) return;
    const fit = () => {
      inside.style.translate = "";
      inside.style.maxWidth = `${Math.min(WIDEST, frame.clientWidth - 2 * MARGIN)}px`;
      const [box, around] = [inside.getBoundingClientRect(), frame.getBoundingClientRect()];
      const left = Math.max(around.left + MARGIN, Math.min(box.left, around.right - MARGIN - box.width));
      inside.style.translate = `${Math.round(left - box.left)}px 0`;
      inside.style.maxHeight = `${Math.max(160, Math.min(HIGHEST, around.bottom - MARGIN - box.top))}px`;
    };
    fit();
    const observer = typeof ResizeObserver === "undefined" ? null : new ResizeObserver(fit);
    observer?.observe(inside);
    observer?.observe(frame);
    return () => observer?.disconnect();
  }, []);
}

/** Entries in a column; arrow keys move between them. */
export function Menu({ label, children }: { label: string; children: ComponentChildren }) {
  return <div class="menu" role="menu" aria-label={label}>{children}</div>;
}

/** One entry of a menu. */
export function Item({ act, children, disabled }: { act: () => void; children: ComponentChildren; disabled?: boolean }) {
  return (
    <button type="button" class="item" role="menuitem" disabled={disabled} onClick={act}>
      {children}
    </button>
  );
}

/** Arrow keys, Home and End move through the entries of a list; returns whether it was such a key. */
export function moveFocus(event: KeyboardEvent, root: HTMLElement | null, what = ".item:not(:disabled)", keys = ["ArrowUp", "ArrowDown"]): boolean {
  const items = [...(root?.querySelectorAll<HTMLElement>(what) ?? [])];
  const at = items.indexOf(event.target as HTMLElement);
  const last = items.length - 1;
  const places: Record<string, number> = { [keys[0] as string]: at <= 0 ? last : at - 1, [keys[1] as string]: at >= last ? 0 : at + 1, Home: 0, End: last };
  const place = places[event.key];
  if (place === undefined || event.target instanceof HTMLInputElement) return false;
  items[place]?.focus();
  return true;
}
