/** State of this page only: what is being typed, what is open, the targets of keys. None of it is saved. */

import { computed, signal } from "@preact/signals";
import { useLink } from "./context.ts";
import type { Link } from "./link.ts";
import type { Action, Condition } from "./protocol.ts";
import { FileSender } from "./files.ts";
import { Typing } from "./editor/typing.ts";
import { recall, remember } from "./remember.ts";

const TALL = "tall editor";
const DENSE = "one line a row";
const RAW = "raw texts";
const MAP = "map of rows";

export class View {
  readonly typing: Typing;
  readonly files: FileSender;
  readonly help = signal(false);
  /** Whether the view has been painted: slow drawing that may come a frame later waits for that. */
  readonly painted = signal(true);
  /** Whether the editor is as high as its text, at the cost of the parts below it. */
  readonly tall = signal(recall(TALL) === "yes");
  /** Whether a row of the table is one line high rather than two. */
  readonly dense = signal(recall(DENSE) === "yes");
  /** Whether the map of rows is shown above the table. */
  readonly map = signal(recall(MAP) === "yes");
  /** Whether Markdown and JSON are rendered. */
  readonly rendered = signal(recall(RAW) !== "yes");
  /** Whether the last click was with Shift: it narrows the selection rather than replacing it. */
  narrows = false;
  /** The app's element, which scopes the styles. */
  root: HTMLElement | null = null;
  /** Moves the selected row; set by the table while it is visible. */
  step: ((by: number) => void) | null = null;
  /** Moves the pass threshold; set by the scores while they have one. */
  nudge: ((by: number) => void) | null = null;
  /** Last saved texts, by grader: an edit is compared with them. */
  readonly kept = new Map<string, string>();
  /** Whether the shown results of the selected grader belong to an older text than the one in the editor. */
  readonly old = computed(() => {
    const { name, seq } = this.link.state.chosen.value;
    const { name: typed, sent, dirty } = this.typing.state.value;
    return typed === name && (dirty || seq < sent);
  });

  constructor(readonly link: Link) {
    this.files = new FileSender(link);
    this.typing = new Typing((action) => link.tell(action), () => link.state.chosen.peek().seq);
  }

  readonly stretch = (tall: boolean): void => {
    this.tall.value = tall;
    remember(TALL, tall ? "yes" : "");
  };

  readonly condense = (dense: boolean): void => {
    this.dense.value = dense;
    remember(DENSE, dense ? "yes" : "");
  };

  readonly showMap = (map: boolean): void => {
    this.map.value = map;
    remember(MAP, map ? "yes" : "");
  };

  readonly render = (rendered: boolean): void => {
    this.rendered.value = rendered;
    remember(RAW, rendered ? "" : "yes");
  };

  /** Select rows: those that meet these conditions, or with Shift those of the selection that also do. */
  readonly look = (...where: Condition[]): void => this.tell({ do: this.narrows ? "filter" : "look", where });

  /** The selected rows in other parts; null if all are shown, or another mode is open. */
  readonly picked = computed(() => (this.link.state.mode.value === "grade" && !this.link.state.part.value ? this.link.state.table.value.picked : null));

  /** Do something after sending what was typed before it. */
  readonly tell = (action: Action): void => {
    this.typing.flush();
    this.link.tell(action);
  };
}

const views = new WeakMap<Link, View>();

export function viewOf(link: Link): View {
  const known = views.get(link);
  if (known) return known;
  const view = new View(link);
  views.set(link, view);
  return view;
}

export function useView(): View {
  return viewOf(useLink());
}

/** Send an action after any typed text, so that their order is preserved. */
export function useTell(): (action: Action) => void {
  return useView().tell;
}
