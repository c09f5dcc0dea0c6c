import { cleanup, fireEvent, screen } from "@testing-library/preact";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { Compare } from "../../src/modes/Compare.tsx";
import { layout } from "../../src/modes/parts/pairPages.ts";
import type { CompareData } from "../../src/protocol.ts";
import { flaws, settled, show, type FakeModel } from "./fake.tsx";
import { compare, HOSTILE, pair } from "./fixtures.ts";

beforeEach(() => void vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] }));
afterEach(() => {
  cleanup();
  vi.useRealTimers();
});

const open = (data: CompareData | null) => show(Compare, { compare: data });

function answer(model: FakeModel, at: number, from = 0): void {
  const question = model.asked("pairs")[at];
  if (!question) throw new Error(`no question ${at}`);
  const { start, stop } = question;
  model.answer(question, Array.from({ length: Math.min(stop, 56) - start }, (_, each) => pair(from + start + each)));
}

describe("the list of disagreements", () => {
  it("is requested in windows of 30", async () => {
    const { model, root } = open(compare());
    expect(model.asked("pairs").map(({ start, stop, revision }) => [start, stop, revision])).toEqual([[0, 30, 1]]);
    answer(model, 0);
    await settled();
    expect(root.querySelectorAll("article")).toHaveLength(30);
    expect(model.asked("pairs").map(({ start }) => start)).toEqual([0, 30]);
  });

  it("says which row is here only to compare with", async () => {
    const { model, root } = open(compare());
    answer(model, 0);
    await settled();
    const sides = [...(root.querySelector("article")?.querySelectorAll(".who") ?? [])].map((who) => who.textContent ?? "");
    expect(sides.map((text) => text.startsWith("most similar:"))).toEqual([false, true]);
  });

  it("requests each window once", async () => {
    const { model, root } = open(compare());
    answer(model, 0);
    await settled();
    answer(model, 1);
    await settled();
    fireEvent.scroll(root.querySelector(".pairs") as Element);
    await settled();
    expect(root.querySelectorAll("article")).toHaveLength(56);
    expect(model.asked("pairs")).toHaveLength(2);
  });

  it("keeps the old rows, dimmed, until those of a new revision are here", async () => {
    const { model, root } = open(compare());
    answer(model, 0);
    await settled();
    model.set({ compare: compare({ revision: 2 }) });
    await settled();
    expect(root.querySelector(".pairs")?.getAttribute("aria-busy")).toBe("true");
    expect(root.querySelectorAll("article")).toHaveLength(30);
    const last = model.asked("pairs").length - 1;
    expect(model.asked("pairs")[last]).toMatchObject({ start: 0, revision: 2 });
    answer(model, last, 500);
    await settled();
    expect(root.querySelector("article")?.getAttribute("aria-label")).toBe("Row row-500");
  });

  it("drops a reply of an older revision", async () => {
    const { model, root } = open(compare());
    model.set({ compare: compare({ revision: 2 }) });
    await settled();
    answer(model, 0);
    await settled();
    expect(root.querySelectorAll("article")).toHaveLength(0);
    answer(model, 1, 500);
    await settled();
    expect(root.querySelector("article")?.getAttribute("aria-label")).toBe("Row row-500");
  });

  it("shows that rows could not be read, and retries", async () => {
    const { model } = open(compare());
    model.refuse(model.asked("pairs")[0] as never, "busy");
    await settled();
    fireEvent.click(screen.getByText("Try again"));
    await settled();
    expect(model.asked("pairs")).toHaveLength(2);
  });

  it("draws the windows in sight and one on each side", () => {
    const heights = new Map([[0, 2000], [1, 3000]]);
    expect(layout(300, heights, 100, 0, 600)).toEqual({ first: 0, last: 1, above: 0, below: 8 * 3000 });
    expect(layout(300, heights, 100, 6000, 600)).toEqual({ first: 1, last: 3, above: 2000, below: 6 * 3000 });
    expect(layout(10, new Map(), 100, 0, 600)).toEqual({ first: 0, last: 0, above: 0, below: 0 });
  });

  it("marks what is gone and what is new, and shows a row alone where nothing is like it", async () => {
    const { model, root } = open(compare());
    answer(model, 0);
    await settled();
    expect(root.querySelector(".d-del")?.textContent).toBe("3");
    expect(root.querySelector(".d-add")?.textContent).toBe(".");
    expect(root.querySelectorAll("article")[4]?.querySelectorAll(".who")).toHaveLength(1);
  });

  it("shows the whole texts of a pair on demand", async () => {
    const { model, root } = open(compare());
    answer(model, 0);
    await settled();
    fireEvent.click(screen.getByLabelText("Whole texts of row-0"));
    await settled();
    expect(root.querySelector("article")?.classList.contains("open")).toBe(true);
  });
});

describe("choices", () => {
  it("send a quadrant, only good or bad, and a search after a pause", () => {
    const { model } = open(compare());
    fireEvent.click(screen.getByText("Both accept"));
    fireEvent.click(screen.getByLabelText("35 bad, show only these"));
    fireEvent.input(screen.getByLabelText("Search these rows"), { target: { value: "euro" } });
    expect(model.done("quadrant")).toHaveLength(2);
    vi.advanceTimersByTime(300);
    expect(model.done("quadrant").map(({ key, only, search }) => [key, only, search])).toEqual([["both", "", ""], ["a", "bad", ""], ["a", "", "euro"]]);
  });

  it("keep typed text while the kernel replies to an earlier search", async () => {
    const { model } = open(compare());
    const field = screen.getByLabelText("Search these rows") as HTMLInputElement;
    fireEvent.input(field, { target: { value: "eu" } });
    vi.advanceTimersByTime(300);
    fireEvent.input(field, { target: { value: "euro" } });
    model.set({ compare: compare({ list: { ...compare().list, search: "eu" } }) });
    await settled();
    expect(field.value).toBe("euro");
    vi.advanceTimersByTime(300);
    expect(model.done("quadrant").at(-1)?.search).toBe("euro");
  });

  it("swap the two, also where one is chosen twice", () => {
    const { model } = open(compare());
    fireEvent.click(screen.getByLabelText("Swap A and B"));
    fireEvent.change(screen.getByLabelText("Grader A"), { target: { value: "last_number" } });
    fireEvent.change(screen.getByLabelText("Grader B"), { target: { value: "exact_match" } });
    expect(model.done("compare").map(({ a, b }) => [a, b])).toEqual([
      ["last_number", "contains_number"], ["last_number", "contains_number"], ["contains_number", "exact_match"],
    ]);
  });

  it("show the next step if two cannot be compared", () => {
    const { model } = open(compare({ why_not: "Only one grader has run: tick a second one and press Run.", b: "" }));
    expect(screen.getByText(/tick a second one/)).toBeTruthy();
    fireEvent.click(screen.getByText("Run"));
    expect(model.done("run")).toHaveLength(1);
    expect(model.asked("pairs")).toHaveLength(0);
  });
});

it("hostile texts stay texts", async () => {
  const { model, root } = open(compare({ lead: HOSTILE }));
  const hostile = { ...pair(1, [[HOSTILE, "gone"]]), prompt: HOSTILE };
  model.answer(model.asked("pairs")[0] as never, [hostile]);
  await settled();
  expect(root.querySelector("img, script")).toBeNull();
  expect(root.querySelector(".d-del")?.textContent).toBe(HOSTILE);
});

it.each([["rows", compare()], ["nothing to compare", compare({ why_not: "no run yet" })], ["an empty group", compare({ chosen: "b", list: { ...compare().list, count: 0 } })], ["no reply yet", null]])("no flaw for a screen reader with %s", async (_, data) => {
  vi.useRealTimers();
  const { model, root } = open(data);
  if (model.asked("pairs").length) answer(model, 0);
  await settled();
  expect(await flaws(root)).toEqual([]);
});

describe("more than two graders", () => {
  const all: NonNullable<CompareData["all"]> = {
    names: ["contains_number", "last_number", HOSTILE],
    pairs: [[], [{ same: 0.888, kappa: 0.7, n: 500 }], [{ same: 0.4, kappa: null, n: 480 }, null]],
    groups: [{ text: `only ${HOSTILE} rejects`, count: 56, good: 21, bad: 30 }, { text: "only last_number accepts", count: 4, good: 4, bad: 0 }], n_groups: 5,
  };

  it("are a matrix whose cells compare two", () => {
    const { model, root } = open(compare({ all }));
    expect([...root.querySelectorAll(".matrix td button")].map((each) => each.textContent)).toEqual(["89", "40", "–"]);
    expect([...root.querySelectorAll(".matrix .in-matrix")].map((each) => each.textContent)).toEqual(["1 contains_number", "2 last_number", `3 ${HOSTILE}`]);
    const [first, second, none] = root.querySelectorAll<HTMLButtonElement>(".matrix td button");
    expect(first?.getAttribute("aria-pressed")).toBe("true");
    expect(none?.disabled).toBe(true);
    second?.click();
    expect(model.done("compare")[0]).toMatchObject({ a: "contains_number", b: HOSTILE, differing: true });
    first?.focus();
    fireEvent.keyDown(first as Element, { key: "ArrowRight" });
    expect(document.activeElement).toBe(second);
  });

  it("are grouped by who differs; a click shows the rows", () => {
    const { model, root } = open(compare({ all }));
    expect(root.querySelector("img, script")).toBeNull();
    expect(screen.getByText("first 2 of 5")).toBeTruthy();
    fireEvent.click(screen.getByText("only last_number accepts"));
    expect(model.done("compare_group")[0]?.number).toBe(1);
    expect(model.done("mode")[0]?.mode).toBe("grade");
  });

  it("have no flaw for a screen reader", async () => {
    vi.useRealTimers();
    const { root } = open(compare({ all }));
    expect(await flaws(root)).toEqual([]);
  });
});
