/** A fake kernel: messages of the page are recorded, traits are set by hand, requests get replies from a function. */

import { render } from "@testing-library/preact";
import axe from "axe-core";
import type { ComponentType } from "preact";
import { LinkContext } from "../../src/context.ts";
import { Link, type Model } from "../../src/link.ts";
import type { Action, Question, State } from "../../src/protocol.ts";
import { counts } from "./fixtures.ts";

type Listener = (...values: unknown[]) => void;
export type Message = { [Name in string]: unknown } & { id: number; page: string };

export class FakeModel implements Model {
  readonly sent: Message[] = [];
  private readonly listeners = new Map<string, Set<Listener>>();

  constructor(private readonly traits: Partial<State>) {}

  get(name: string): unknown {
    return this.traits[name as keyof State] ?? null;
  }

  on(event: string, callback: (...values: never[]) => void): void {
    const known = this.listeners.get(event) ?? new Set();
    this.listeners.set(event, known.add(callback as Listener));
  }

  off(event: string, callback?: (...values: never[]) => void): void {
    if (callback) this.listeners.get(event)?.delete(callback as Listener);
    else this.listeners.delete(event);
  }

  send(content: unknown): void {
    this.sent.push(content as Message);
  }

  /** Traits as one message of the kernel. */
  set(traits: Partial<State>): void {
    Object.assign(this.traits, traits);
    for (const name of Object.keys(traits)) this.emit(`change:${name}`);
  }

  answer(question: Message, value: unknown): void {
    this.emit("msg:custom", { reply: question.id, page: question.page, value });
  }

  refuse(question: Message, problem: string): void {
    this.emit("msg:custom", { reply: question.id, page: question.page, problem });
  }

  /** What was sent of one action. */
  done<Name extends Action["do"]>(name: Name): (Extract<Action, { do: Name }> & Message)[] {
    return this.sent.filter((message) => message.do === name) as (Extract<Action, { do: Name }> & Message)[];
  }

  asked<Name extends Question["ask"]>(name: Name): (Extract<Question, { ask: Name }> & Message)[] {
    return this.sent.filter((message) => message.ask === name) as (Extract<Question, { ask: Name }> & Message)[];
  }

  private emit(event: string, ...values: unknown[]): void {
    for (const listener of this.listeners.get(event) ?? []) listener(...values);
  }
}

const REST: Partial<State> = {
  chosen: {
    name: "contains_number", title: "Python function", version: 3, kept: true, can_keep: false, stored: 3, draft: false,
    source: { text: "", language: "python", editable: true, revision: 1, error: null, file: "" }, checks: [],
    isolation: { word: "isolated", tip: "" }, seq: 0, changed: null, finding: null, more: [], scores: null, from: null, say: "", waits: "", refused: false, undiagnosed: false, notice: null,
  },
  head: {
    dataset: "arithmetic", total: 960, drawn: 500, draw: { n: 500, seed: 0, by: "", repeats: 1, budget: "" }, strata: [], modes: [],
    state: { shape: "ok", text: "up to date" }, can_map: true, can_run: true, judges: 0, plan: "", cost: "", problem: null, warning: "", notes: [],
  },
  rail: {
    lines: ["contains_number", "last_number"].map((name) => ({
      name, kind: "Python function", ticked: true, validation: "validated", counts: counts(), was: null, verdict: null, mean: null, say: "", stale: false, undiagnosed: false, letter: "",
    })),
    drafts: [], in_run: 2, has_labels: true, chosen: "contains_number", removed: "",
  },
};

export interface Shown {
  model: FakeModel;
  link: Link;
  root: HTMLElement;
}

/** A mode inside a view, with some traits. */
export function show(Mode: ComponentType, traits: Partial<State>): Shown {
  const model = new FakeModel({ ...REST, ...traits });
  const link = new Link(model);
  const { container } = render(
    <LinkContext.Provider value={link}>
      <main class="gwb"><Mode /></main>
    </LinkContext.Provider>,
  );
  return { model, link, root: container.querySelector(".gwb") as HTMLElement };
}

/** A kernel's message, and the page's reply to it, are delivered. */
export async function settled(): Promise<void> {
  for (let at = 0; at < 5; at += 1) await Promise.resolve();
  await new Promise<void>((resolve) => {
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = () => resolve(port1.close());
    port2.postMessage(null);
  });
}

HTMLCanvasElement.prototype.getContext = () => null; // axe needs one, jsdom has none

/** What axe finds; colours need a browser. */
export async function flaws(root: HTMLElement): Promise<string[]> {
  const { violations } = await axe.run(root, { rules: { "color-contrast": { enabled: false } } });
  return violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(" ")}`);
}
