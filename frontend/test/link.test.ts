import { effect } from "@preact/signals";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { LOST, SLOW } from "../src/link.ts";
import { linked } from "./fake.ts";
import { fullState } from "./state.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

describe("the line to the kernel", () => {
  it("shows all traits of one message together", async () => {
    const { model, link } = linked(fullState());
    const seen: string[] = [];
    const stop = effect(() => void seen.push(`${link.state.code.value} ${link.state.turn.value}`));
    model.set({ code: "new", turn: 2 });
    await Promise.resolve();
    stop();
    expect(seen).toHaveLength(2);
    expect(seen[1]).toBe("new 2");
  });

  it("numbers what it sends and names its page", () => {
    const { model, link } = linked(fullState());
    link.tell({ do: "run" });
    link.tell({ do: "stop" });
    expect(model.sent.map(({ id, page, do: what }) => [id, page, what])).toEqual([[1, link.page, "run"], [2, link.page, "stop"]]);
  });

  it("shows that it waits, then that the kernel does not respond, and nothing once all replies have arrived", () => {
    const { model, link } = linked(fullState());
    link.tell({ do: "run" });
    vi.advanceTimersByTime(SLOW - 10);
    expect(link.line.value).toBe("");
    vi.advanceTimersByTime(20);
    expect(link.line.value).toBe("busy");
    vi.advanceTimersByTime(LOST);
    expect(link.line.value).toBe("lost");
    model.message({ page: link.page, heard: 1 });
    expect(link.line.value).toBe("");
  });

  it("gives a request its own reply, and not that of another page", async () => {
    const { model, link } = linked(fullState());
    const answer = link.ask<string>({ ask: "csv" });
    model.message({ page: "another", reply: 1, value: "theirs" });
    model.message({ page: link.page, reply: 1, value: "mine" });
    await expect(answer).resolves.toBe("mine");
  });

  it("rejects a request that the kernel could not handle", async () => {
    const { model, link } = linked(fullState());
    const answer = link.ask<string>({ ask: "csv" });
    model.message({ page: link.page, reply: 1, problem: "no rows" });
    await expect(answer).rejects.toThrow("no rows");
  });

  it("cleans up when it is closed", async () => {
    const { model, link } = linked(fullState());
    const answer = link.ask({ ask: "csv" });
    link.close();
    expect(model.listeners()).toBe(0);
    await expect(answer).rejects.toThrow("closed");
  });
});
