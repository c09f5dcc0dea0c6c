/** Draws the app, or a part of it, over a fake model. */

import { act, render } from "@testing-library/preact";
import type { ComponentChild } from "preact";
import { App } from "../src/App.tsx";
import { LinkContext } from "../src/context.ts";
import type { State } from "../src/protocol.ts";
import { viewOf } from "../src/view.ts";
import { linked, type FakeModel } from "./fake.ts";
import { fullState } from "./state.ts";

export function show(part: ComponentChild, state: Partial<State> = {}) {
  const { model, link } = linked(fullState(state));
  const drawn = render(<LinkContext.Provider value={link}>{part}</LinkContext.Provider>);
  return { ...drawn, model, link, view: viewOf(link) };
}

export function showApp(state: Partial<State> = {}) {
  return show(<App />, state);
}

/** Let the kernel set traits, and draw what comes of it. */
export async function set(model: FakeModel, traits: Partial<State>): Promise<void> {
  await act(async () => {
    model.set(traits);
    await Promise.resolve();
  });
}

/** Trigger something whose reply arrives later. */
export async function settle(what: () => unknown = () => undefined): Promise<void> {
  await act(async () => {
    await what();
    for (let turn = 0; turn < 10; turn += 1) await Promise.resolve();
  });
}
