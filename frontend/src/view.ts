/** What only this page knows: what is being typed, what is open, what a key should reach. Nothing of it is kept. */

import { computed, signal } from "@preact/signals";
import { useLink } from "./context.ts";
import type { Link } from "./link.ts";
import type { Action } from "./protocol.ts";
import { Typing } from "./editor/typing.ts";
import { recall, remember } from "./remember.ts";

const TALL = "tall editor";
const DENSE = "one line a row";

export class View {
  readonly typing: Typing;
  readonly help = signal(false);
  /** Whether the view has been on the screen: what takes long to draw, and may come a frame later, waits for that. */
  readonly painted = signal(true);
  /** Whether the editor is as high as its text, at the cost of what stands below it. */
  readonly tall = signal(recall(TALL) === "yes");
  /** Whether a row of the table is one line high rather than two. */
  readonly dense = signal(recall(DENSE) === "yes");
  /** The app's element, below which styles hold. */
  root: HTMLElement | null = null;
  /** Moves the chosen row; set by the table while it is in sight. */
  step: ((by: number) => void) | null = null;
  /** Moves the pass mark; set by the scores while they have one. */
  nudge: ((by: number) => void) | null = null;
  /** Texts that the page saw as kept, by grader: what an edit is compared with. */
  readonly kept = new Map<string, string>();
  /** Whether what is shown of the chosen grader answers an older text than the one in the editor. */
  readonly old = computed(() => {
    const { name, seq } = this.link.state.chosen.value;
    const { name: typed, sent, dirty } = this.typing.state.value;
    return typed === name && (dirty || seq < sent);
  });

  constructor(readonly link: Link) {
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

  /** Do something after what was typed before it. */
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

/** The way to act: what is being typed is sent first, so that nothing overtakes it. */
export function useTell(): (action: Action) => void {
  return useView().tell;
}
