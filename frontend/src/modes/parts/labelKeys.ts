/** Keys of the Label mode. */

import type { LabelData } from "../../protocol.ts";
import type { LabelQueue } from "./labelQueue.ts";

export type LabelAction = keyof LabelData["keys"];

/** Defaults until the kernel has sent the keys. */
export const NO_KEYS: LabelData["keys"] = { good: "1", bad: "0", skip: "s", defer: "d", undo: "u", note: "n", tag: "t" };

const ACTIONS: readonly LabelAction[] = ["good", "bad", "skip", "defer", "undo", "note", "tag"];
const FIELDS = "input, textarea, select, [contenteditable='true']";

let prefix = false; // the previous key was g, which selects another mode

/** The action of a key; undefined for keys of fields, of the browser and of the view. */
export function keyAction(event: KeyboardEvent, keys: LabelData["keys"]): LabelAction | undefined {
  if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return undefined;
  if (event.target instanceof Element && event.target.matches(FIELDS)) return undefined;
  const leads = prefix;
  prefix = event.key === "g";
  if (leads) return undefined;
  return ACTIONS.find((action) => keys[action].toLowerCase() === event.key.toLowerCase());
}

export function actOn(queue: LabelQueue, action: LabelAction): void {
  if (action === "note") queue.startNote();
  else if (action === "tag") queue.startTag();
  else if (action === "undo") queue.undo();
  else queue.decide(action);
}
