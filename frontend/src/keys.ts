/** Keys of the whole view. They are ignored while the user types text. */

import type { View } from "./view.ts";
import type { Mode } from "./protocol.ts";

/** Milliseconds within which a second key belongs to `g`. */
const PAIR = 1_500;

const WRITING = "input:not([type=checkbox]):not([type=range]), textarea, select, [contenteditable=true], .cm-editor, [role=dialog], [role=menu]";

export function isWriting(target: EventTarget | null): boolean {
  return target instanceof Element && target.closest(WRITING) !== null;
}

const FIELD = "input:not([type=checkbox]):not([type=range]):not([type=file])";

/** Enter in a field submits its form, or the field's text if it has none: inside JupyterLab the browser does neither. */
function submit(event: KeyboardEvent): boolean {
  const field = event.target;
  if (event.isComposing || !(field instanceof HTMLInputElement) || !field.matches(FIELD)) return false;
  event.preventDefault();
  event.stopPropagation();
  if (field.form) field.form.requestSubmit();
  else field.dispatchEvent(new Event("change", { bubbles: true }));
  return true;
}

/** Escape leaves a field, so that the keys of the view work again; a panel closes by it and keeps it. */
function leave(event: KeyboardEvent, root: HTMLElement | null): boolean {
  const field = event.target;
  if (!(field instanceof HTMLElement) || !field.matches(`${FIELD}, textarea`) || field.closest("[role=dialog], [role=menu]")) return false;
  event.preventDefault();
  event.stopPropagation();
  root?.focus({ preventScroll: true });
  return true;
}

export class Keys {
  private since = 0; // when `g` was pressed

  constructor(private readonly view: View) {}

  readonly press = (event: KeyboardEvent): void => {
    if (event.key === "Enter" && !event.defaultPrevented && submit(event)) return;
    if (event.key === "Escape" && !event.defaultPrevented && leave(event, this.view.root)) return;
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || isWriting(event.target)) return;
    const act = this.second(event.key) ?? this.action(event);
    if (!act) return;
    event.preventDefault();
    event.stopPropagation();
    act();
  };

  /** The key after `g`. */
  private second(key: string): (() => void) | null {
    const follows = Date.now() - this.since < PAIR;
    this.since = 0;
    const { head, part } = this.view.link.state;
    const mode: Mode | undefined = follows && !part.peek() ? head.peek().modes[Number(key) - 1]?.[0] : undefined;
    return mode ? () => this.view.tell({ do: "mode", mode }) : null;
  }

  private action(event: KeyboardEvent): (() => void) | null {
    const { view } = this;
    switch (event.key) {
      case "?": return () => (view.help.value = !view.help.peek());
      case "m": return () => view.render(!view.rendered.peek());
      case "/": return this.searching();
      case "g": return () => (this.since = Date.now());
      case "r": return this.running();
      case "x": return this.showingAll();
      case "p": return () => view.showMap(!view.map.peek());
      case "v": return this.pressing(".selections > button");
      case "[": return view.nudge && (() => view.nudge?.(-1));
      case "]": return view.nudge && (() => view.nudge?.(1));
      case "ArrowUp": return this.stepping(event, -1);
      case "ArrowDown": return this.stepping(event, 1);
      case "1": return this.labelling(true);
      case "0": return this.labelling(false);
      default: return null;
    }
  }

  private searching(): (() => void) | null {
    const field = this.view.root?.querySelector<HTMLInputElement>("input[type=search]");
    return field ? () => field.focus() : null;
  }

  private showingAll(): (() => void) | null {
    const { filters, search } = this.view.link.state.table.peek();
    if (!filters.length && !search) return null;
    return () => {
      this.view.tell({ do: "search", text: "" });
      this.view.tell({ do: "look", where: [] });
    };
  }

  private pressing(button: string): (() => void) | null {
    const found = this.view.root?.querySelector<HTMLElement>(button);
    return found ? () => found.click() : null;
  }

  private running(): (() => void) | null {
    const { head, progress } = this.view.link.state;
    if (!head.peek().can_run || progress.peek().running) return null;
    return () => this.view.tell({ do: "run" });
  }

  /** Arrows move the row if they move nothing else in focus. */
  private stepping(event: KeyboardEvent, by: number): (() => void) | null {
    const free = event.target instanceof Element && event.target.matches("main, .grid");
    return free && this.view.step ? () => this.view.step?.(by) : null;
  }

  private labelling(value: boolean): (() => void) | null {
    const { reader, mode, part } = this.view.link.state;
    const row = reader.peek()?.row;
    const inSight = part.peek() === "rows" || (part.peek() || mode.peek()) === "grade";
    return row !== undefined && inSight ? () => this.view.tell({ do: "label_row", row, value }) : null;
  }
}
