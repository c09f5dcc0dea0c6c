/** A model as anywidget gives it, with what the page sends written down and traits that a test can set. */

import { Link, type Model } from "../src/link.ts";
import type { State } from "../src/protocol.ts";

type Callback = (...values: never[]) => void;

export interface Sent {
  id: number;
  page: string;
  do?: string;
  ask?: string;
  [name: string]: unknown;
}

export class FakeModel implements Model {
  readonly sent: Sent[] = [];
  private readonly callbacks = new Map<string, Set<Callback>>();

  constructor(private state: State) {}

  get(name: string): unknown {
    return this.state[name as keyof State];
  }

  on(event: string, callback: Callback): void {
    this.callbacks.set(event, (this.callbacks.get(event) ?? new Set()).add(callback));
  }

  off(event: string, callback?: Callback): void {
    if (callback) this.callbacks.get(event)?.delete(callback);
    else this.callbacks.delete(event);
  }

  send(content: unknown): void {
    this.sent.push(content as Sent);
  }

  /** Set traits as one message of the kernel does: all are there before the first is announced. */
  set(traits: Partial<State>): void {
    this.state = { ...this.state, ...traits };
    for (const name of Object.keys(traits)) this.emit(`change:${name}`);
  }

  /** Change parts of one trait. */
  update<Name extends keyof State>(name: Name, part: Partial<NonNullable<State[Name]>>): void {
    this.set({ [name]: { ...(this.state[name] as object), ...part } } as Partial<State>);
  }

  message(content: unknown): void {
    this.emit("msg:custom", content);
  }

  answer(message: Sent, value: unknown): void {
    this.message({ page: message.page, heard: message.id, reply: message.id, value });
  }

  /** What was done, by its name. */
  done(name: string): Sent[] {
    return this.sent.filter((message) => message.do === name);
  }

  asked(name: string): Sent[] {
    return this.sent.filter((message) => message.ask === name);
  }

  listeners(): number {
    return [...this.callbacks.values()].reduce((sum, each) => sum + each.size, 0);
  }

  private emit(event: string, ...values: unknown[]): void {
    for (const callback of [...(this.callbacks.get(event) ?? [])]) callback(...(values as never[]));
  }
}

export function linked(state: State): { model: FakeModel; link: Link } {
  const model = new FakeModel(state);
  return { model, link: new Link(model) };
}
