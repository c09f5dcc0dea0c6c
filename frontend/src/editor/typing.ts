/** Sends typed text to the kernel after a pause, each text with a number, so that outdated replies are recognised. */

import { signal } from "@preact/signals";
import type { Action } from "../protocol.ts";

/** Milliseconds after the last key. */
export const PAUSE = 300;

export interface Typed {
  name: string; // of the grader
  sent: number; // number of the last text that was sent
  dirty: boolean; // there is a text that was not sent yet
}

export class Typing {
  readonly state = signal<Typed>({ name: "", sent: 0, dirty: false });
  private last = 0; // number of the last text of any grader
  private waiting: { name: string; text: string } | null = null;
  private timer: ReturnType<typeof setTimeout> | undefined;

  constructor(
    private readonly tell: (action: Action) => void,
    private readonly answered: () => number,
  ) {}

  type(name: string, text: string): void {
    if (this.waiting && this.waiting.name !== name) this.flush();
    this.waiting = { name, text };
    this.state.value = { ...this.state.peek(), ...this.of(name), dirty: true };
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.flush(), PAUSE);
  }

  /** Send a pending text immediately. */
  flush(): void {
    clearTimeout(this.timer);
    if (!this.waiting) return;
    const { name, text } = this.waiting;
    this.waiting = null;
    // Another page may have used higher numbers: a reply to it does not refer to this text.
    this.last = Math.max(this.last, this.answered()) + 1;
    this.state.value = { name, sent: this.last, dirty: false };
    this.tell({ do: "edit", name, text, seq: this.last });
  }

  private of(name: string): Partial<Typed> {
    return this.state.peek().name === name ? {} : { name, sent: 0 };
  }
}
