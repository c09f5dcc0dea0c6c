/** A button that opens a small panel: a menu, or a few settings. Esc, a click elsewhere or losing the focus closes it. */

import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";

interface PopoverProps {
  label: string; // of the panel
  button: ComponentChildren;
  class?: string; // of the button
  name?: string; // of the button, if its content does not contain it
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
  useLeaving(root, open, () => setOpen(false));
  const onKeyDown = (event: KeyboardEvent) => {
    if (!open) return;
    if (event.key === "Escape") close();
    else if (!moveFocus(event, root.current)) return;
    event.preventDefault();
    event.stopPropagation();
  };
  return (
    <span class="pop" ref={root} onKeyDown={onKeyDown}>
      <button type="button" class={props.class ?? "btn plain"} aria-label={name} title={name} disabled={props.disabled} aria-haspopup="dialog" aria-expanded={open} onClick={() => setOpen(!open)}>
        {button}
      </button>
      {open && <Panel label={label} side={side}>{props.children(close)}</Panel>}
    </span>
  );
}

const STOPS = "input:not([hidden]), select, button:not(:disabled)";

function Panel({ label, side, children }: { label: string; side: string; children: ComponentChildren }) {
  const panel = useRef<HTMLDivElement>(null);
  // Also after entries were replaced, which would lose the focus.
  useEffect(() => {
    const inside = panel.current;
    const focused = (inside?.getRootNode() as Document | ShadowRoot | undefined)?.activeElement;
    if (inside && !inside.contains(focused ?? null)) (inside.querySelector<HTMLElement>(STOPS) ?? inside).focus();
  });
  return (
    <div ref={panel} class={`panel ${side}`} role="dialog" aria-label={label} tabIndex={-1}>
      {children}
    </div>
  );
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

/** Call back when something outside is pressed or gets the focus. */
function useLeaving(root: { current: HTMLElement | null }, open: boolean, leave: () => void): void {
  useEffect(() => {
    const document = root.current?.ownerDocument;
    if (!open || !document) return;
    const look = (event: Event) => {
      if (root.current && !event.composedPath().includes(root.current)) leave();
    };
    document.addEventListener("pointerdown", look, true);
    document.addEventListener("focusin", look, true);
    return () => {
      document.removeEventListener("pointerdown", look, true);
      document.removeEventListener("focusin", look, true);
    };
  }, [open]);
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
