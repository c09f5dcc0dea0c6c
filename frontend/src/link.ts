/** The page's connection to the kernel: traits as signals, actions, requests with replies. */

import { batch, signal, type Signal } from "@preact/signals";
import type { Action, Question, State } from "./protocol.ts";

/** The widget model that anywidget provides. */
export interface Model {
  get(name: string): unknown;
  on(event: string, callback: (...values: never[]) => void): void;
  off(event: string, callback?: (...values: never[]) => void): void;
  send(content: unknown): void;
}

export type Signals = { readonly [Name in keyof State]: Signal<State[Name]> };

export const TRAITS: readonly (keyof State)[] = [
  "head", "progress", "rail", "chosen", "table", "reader", "mode", "columns", "files", "part", "code", "starters",
  "try_out", "label", "compare", "export", "history", "turn",
];

/** Milliseconds without a reply after which a page shows that it waits. */
export const SLOW = 200;
/** Milliseconds after which it shows that the kernel does not respond. */
export const LOST = 4_000;

interface Waiting {
  resolve: (value: unknown) => void;
  reject: (problem: Error) => void;
}

export class Link {
  readonly state: Signals;
  /** "" if nothing is pending, else "busy" or "lost". */
  readonly line = signal<"" | "busy" | "lost">("");
  /** Id of this page: several pages may show one model. */
  readonly page = Math.random().toString(36).slice(2, 10);

  private count = 0;
  private readonly waiting = new Map<number, Waiting>();
  private readonly unheard = new Map<number, number>();
  private timer: ReturnType<typeof setTimeout> | undefined;
  private scheduled = false;
  private readonly onChange = () => this.schedule();
  private readonly onMessage = (message: unknown) => this.hear(message);

  constructor(private readonly model: Model) {
    this.state = Object.fromEntries(TRAITS.map((name) => [name, signal(model.get(name))])) as unknown as Signals;
    for (const name of TRAITS) model.on(`change:${name}`, this.onChange);
    model.on("msg:custom", this.onMessage);
  }

  /** Send an action; its effect appears in the state. */
  tell(action: Action): void {
    this.model.send({ ...action, id: this.note(), page: this.page });
  }

  /** Send a request, which gets one reply. */
  ask<Answer>(question: Question): Promise<Answer> {
    const id = this.note();
    const answer = new Promise<Answer>((resolve, reject) => {
      this.waiting.set(id, { resolve: resolve as (value: unknown) => void, reject });
    });
    this.model.send({ ...question, id, page: this.page });
    return answer;
  }

  close(): void {
    for (const name of TRAITS) this.model.off(`change:${name}`, this.onChange);
    this.model.off("msg:custom", this.onMessage);
    clearTimeout(this.timer);
    for (const { reject } of this.waiting.values()) reject(new Error("the view was closed"));
    this.waiting.clear();
  }

  /** All traits of one message are read together, so that parts change at the same time. */
  private schedule(): void {
    if (this.scheduled) return;
    this.scheduled = true;
    queueMicrotask(() => {
      this.scheduled = false;
      batch(() => {
        for (const name of TRAITS) (this.state[name] as Signal<unknown>).value = this.model.get(name);
      });
    });
  }

  private note(): number {
    this.count += 1;
    this.unheard.set(this.count, Date.now());
    this.watch();
    return this.count;
  }

  private hear(message: unknown): void {
    if (typeof message !== "object" || message === null) return;
    const { heard, page, reply, value, problem } = message as Record<string, unknown>;
    if (page !== this.page) return;
    if (typeof heard === "number") {
      this.unheard.delete(heard);
      this.watch();
    }
    if (typeof reply !== "number") return;
    this.unheard.delete(reply);
    this.watch();
    const waiting = this.waiting.get(reply);
    this.waiting.delete(reply);
    if (typeof problem === "string") waiting?.reject(new Error(problem));
    else waiting?.resolve(value);
  }

  /** Mark the connection as busy once something has waited for long, and as free when nothing is pending. */
  private watch(): void {
    clearTimeout(this.timer);
    const oldest = Math.min(...this.unheard.values());
    const age = this.unheard.size ? Date.now() - oldest : 0;
    this.line.value = !this.unheard.size || age < SLOW ? "" : age < LOST ? "busy" : "lost";
    if (this.unheard.size && age < LOST) {
      this.timer = setTimeout(() => this.watch(), (age < SLOW ? SLOW : LOST) - age + 5);
    }
  }
}
