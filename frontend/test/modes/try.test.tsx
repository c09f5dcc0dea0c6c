import { cleanup, fireEvent, screen } from "@testing-library/preact";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { Try } from "../../src/modes/Try.tsx";
import type { TryData } from "../../src/protocol.ts";
import { flaws, settled, show } from "./fake.tsx";
import { HOSTILE, tried, turn } from "./fixtures.ts";

beforeEach(() => void vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] }));
afterEach(() => {
  cleanup();
  vi.useRealTimers();
});

const open = (data: TryData | null) => show(Try, { try_out: data });
const answer = () => screen.getByLabelText("your completion") as HTMLTextAreaElement;
const type = (text: string) => fireEvent.input(answer(), { target: { value: text } });

describe("typing", () => {
  it("is sent once, 300 ms after the last key", () => {
    const { model } = open(tried());
    for (const text of ["a", "ab", "abc"]) {
      type(text);
      vi.advanceTimersByTime(299);
    }
    expect(model.done("try")).toHaveLength(0);
    vi.advanceTimersByTime(1);
    expect(model.done("try").map(({ text }) => text)).toEqual(["abc"]);
  });

  it("has numbers that rise, also when the mode was left and opened again", () => {
    const first = open(tried());
    type("a");
    vi.advanceTimersByTime(300);
    fireEvent.input(screen.getByLabelText("reference"), { target: { value: "7" } });
    vi.advanceTimersByTime(300);
    expect(first.model.done("try").map(({ seq, text, expected }) => [seq, text, expected])).toEqual([[1, "a", undefined], [2, undefined, "7"]]);
  });

  it("remains while the kernel replies with the same revision", async () => {
    const { model } = open(tried());
    type("mine");
    model.set({ try_out: tried({ yours: "older", lines: [] }) });
    await settled();
    expect(answer().value).toBe("mine");
  });

  it("is replaced, and not sent, when the kernel has a text of another row", async () => {
    const { model } = open(tried());
    type("mine");
    model.set({ try_out: tried({ yours: "theirs", expected: "9", revision: 2 }) });
    await settled();
    vi.advanceTimersByTime(300);
    expect(answer().value).toBe("theirs");
    expect((screen.getByLabelText("reference") as HTMLTextAreaElement).value).toBe("9");
    expect(model.done("try")).toHaveLength(0);
  });

  it("is sent before the row changes, before it is saved, and when the mode is closed", () => {
    const { model } = open(tried());
    type("one");
    fireEvent.click(screen.getByText("Another row"));
    type("two");
    fireEvent.click(screen.getByText("Save completion"));
    type("three");
    cleanup();
    expect(model.sent.map((message) => message.text ?? message.do)).toEqual(["one", "try_random", "two", "try_keep", "three"]);
  });
});

describe("saved completions", () => {
  const kept = [
    { number: 2, text: HOSTILE, label: false, note: "contains accepts it", errs: true, grades: [{ grader: "contains", said: { score: "1", part: "bad_accepted" as const } }] },
    { number: 1, text: "", label: null, note: "1 of 1 accept it", errs: false, grades: [] },
  ];

  it("are listed as texts with what is wrong, opened again and dropped", () => {
    const { model, root } = open(tried({ kept }));
    expect(root.querySelector("img")).toBeNull();
    expect(screen.getByText("a grader errs on 1 of 2")).toBeTruthy();
    fireEvent.click(screen.getByText(HOSTILE));
    expect(model.done("try_saved")[0]).toMatchObject({ number: 2 });
    fireEvent.click(screen.getByLabelText("Remove: an empty completion"));
    expect(model.done("try_drop")[0]).toMatchObject({ number: 1 });
  });

  it("have no flaw for a screen reader", async () => {
    vi.useRealTimers();
    const { root } = open(tried({ kept }));
    expect(await flaws(root)).toEqual([]);
  });
});

describe("rows", () => {
  it("are found by id or words, and Enter again goes to the next", () => {
    const { model } = open(tried());
    const field = screen.getByLabelText("Find a row by its id or text");
    fireEvent.input(field, { target: { value: " euros " } });
    fireEvent.submit(field);
    fireEvent.submit(field);
    expect(model.done("try_row").map(({ query, next }) => [query, next])).toEqual([["euros", undefined], ["euros", true]]);
  });

  it("may be a pasted conversation", async () => {
    const { model } = open(null);
    fireEvent.click(screen.getByText("Paste a conversation"));
    await settled();
    fireEvent.input(screen.getByLabelText("Conversation as JSON"), { target: { value: "[]" } });
    await settled();
    fireEvent.click(screen.getByText("Use it"));
    expect(model.done("try_paste")[0]?.text).toBe("[]");
  });

  it("read the rest of a long turn", async () => {
    const { model, root } = open(tried({ turns: [turn("prompt", "ab", "turn 0", 2)] }));
    fireEvent.click(screen.getByText("show the next piece"));
    expect(model.asked("piece")[0]).toMatchObject({ row: 7, part: "turn 0", start: 2 });
    model.answer(model.asked("piece")[0] as never, { text: [["cd", ""]], start: 2, stop: 4, total: 4 });
    await settled();
    expect(root.querySelector(".turns .words")?.textContent).toBe("abcd");
  });

  it("with a very long completion show it piece by piece", async () => {
    const { root } = open(tried({ answer: "x".repeat(20_000) }));
    const shown = () => root.querySelector(".row-answer > span")?.textContent?.length;
    expect(shown()).toBe(8_000);
    fireEvent.click(screen.getByText("show the next piece"));
    await settled();
    expect(root.querySelectorAll(".row-answer > span:not(.more-text)")).toHaveLength(2);
  });
});

describe("the grades", () => {
  it("are shown before and after, with the change", () => {
    const { root } = open(tried());
    const line = [...root.querySelectorAll("tbody tr")].find((row) => row.textContent?.includes("closeness"));
    expect(line?.textContent).toBe("closeness00.996now accepted");
    expect(root.textContent).toContain("Two of four accept this answer.");
  });

  it("of a judge waits for Run", () => {
    const { model } = open(tried());
    fireEvent.click(screen.getByLabelText("Run shows_working"));
    expect(model.done("try_ask")[0]?.grader).toBe("shows_working");
  });

  it("is compared with the label, which can be removed", () => {
    const { model } = open(tried({ yours_label: false }));
    fireEvent.click(screen.getByText("good"));
    fireEvent.click(screen.getByText("bad"));
    expect(model.done("try").map(({ label }) => label)).toEqual([true, null]);
  });
});

it("hostile texts stay texts", () => {
  const [line] = tried().lines;
  const { root } = open(tried({ answer: HOSTILE, turns: [turn("prompt", HOSTILE)], lines: [{ ...line!, why: HOSTILE, printed: HOSTILE }] }));
  expect(root.querySelector("img, script")).toBeNull();
  expect(root.querySelector(".row-answer")?.textContent).toBe(HOSTILE);
});

it.each([["a row", tried()], ["no grader", tried({ lines: [], verdict: null })], ["nothing", null]])("no flaw for a screen reader with %s", async (_, data) => {
  vi.useRealTimers();
  const { root } = open(data);
  expect(await flaws(root)).toEqual([]);
});
