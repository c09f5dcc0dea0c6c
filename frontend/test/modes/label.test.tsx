import { cleanup, fireEvent, screen } from "@testing-library/preact";
import { afterEach, describe, expect, it } from "vitest";
import { Label } from "../../src/modes/Label.tsx";
import type { Card, LabelData } from "../../src/protocol.ts";
import { flaws, settled, show, type Shown } from "./fake.tsx";
import { card, HOSTILE, label, turn } from "./fixtures.ts";

afterEach(cleanup);

const cards = (from: number, count: number): Card[] => Array.from({ length: count }, (_, at) => card(from + at));

function open(data: LabelData | null): Shown & { key: (key: string, more?: object) => void } {
  const shown = show(Label, { label: data });
  const key = (name: string, more = {}) => fireEvent.keyDown(shown.root.ownerDocument.activeElement as Element, { key: name, ...more });
  return { ...shown, key };
}

const front = (root: HTMLElement) => root.querySelector(".label-card b.mono")?.textContent;

describe("keys", () => {
  it("have the focus as soon as the mode opens", () => {
    const { root } = open(label(cards(1, 3)));
    expect(document.activeElement).toBe(root.querySelector(".label-card"));
  });

  it("sixty in a row without a pause are all sent once and in order", async () => {
    const { model, key } = open(label(cards(1, 80)));
    for (let at = 0; at < 60; at += 1) key("10s"[at % 3] as string);
    await settled();
    const sent = model.done("label");
    expect(sent.map(({ seq }) => seq)).toEqual(Array.from({ length: 60 }, (_, at) => at + 1));
    expect(sent.map(({ turn: count }) => count)).toEqual(Array.from({ length: 60 }, (_, at) => at + 1));
    expect(sent.slice(0, 4).map(({ action }) => action)).toEqual(["good", "bad", "skip", "good"]);
    expect(screen.getByText("60 to store")).toBeTruthy();
  });

  it("are sent once and in order while the kernel replies late", async () => {
    const { model, link, key } = open(label(cards(1, 12)));
    for (let at = 1; at <= 60; at += 1) {
      key("1");
      const stored = Math.max(0, at - 7); // the kernel lags by seven keys
      model.set({ label: label(cards(stored + 1, 12), { heard: { page: link.page, seq: stored, turn: stored } }) });
      await settled();
    }
    expect(model.done("label").map(({ seq }) => seq)).toEqual(Array.from({ length: 60 }, (_, at) => at + 1));
    expect(screen.getByText("7 to store")).toBeTruthy();
  });

  it("of a repeating key count once", () => {
    const { model, key } = open(label(cards(1, 9)));
    key("1");
    key("1", { repeat: true });
    expect(model.done("label")).toHaveLength(1);
  });

  it("in a field, with Ctrl, and after g are ignored", () => {
    const { model, key, root } = open(label(cards(1, 9)));
    key("1", { ctrlKey: true });
    key("g");
    key("1");
    fireEvent.keyDown(root.querySelector(".labeller") as Element, { key: "1" });
    expect(model.done("label")).toHaveLength(0);
  });

  it("come from the kernel", () => {
    const { model, key } = open(label(cards(1, 9), { keys: { good: "f", bad: "j", skip: " ", defer: "x", undo: "z", note: "m", tag: "q" } }));
    key("j");
    expect(model.done("label")[0]?.action).toBe("bad");
  });

  it("still work after the focus was in a removed card", () => {
    const { model, key, root } = open(label(cards(1, 9)));
    root.querySelector<HTMLElement>(".texts")?.focus();
    key("1");
    key("0");
    expect(model.done("label").map(({ action }) => action)).toEqual(["good", "bad"]);
  });
});

describe("the end of the local queue", () => {
  it("shows that it reads, and handles keys visibly", async () => {
    const { model, key } = open(label(cards(1, 2)));
    for (const name of "111") key(name);
    await settled();
    expect(screen.getByText("reading the next rows")).toBeTruthy();
    expect(screen.getByText(/no card yet/)).toBeTruthy();
    expect(model.done("label")).toHaveLength(2);
  });

  it("continues with the kernel's next cards", async () => {
    const { model, link, key, root } = open(label(cards(1, 2)));
    for (const name of "11") key(name);
    model.set({ label: label(cards(3, 3), { heard: { page: link.page, seq: 2, turn: 2 } }) });
    await settled();
    expect(front(root)).toBe("arit-003");
    key("0");
    expect(model.done("label").at(-1)).toMatchObject({ seq: 3, action: "bad" });
  });

  it("is distinguished from the end of all rows", () => {
    open(label([], { done: 500 }));
    expect(screen.getByText("Every row of this queue is decided")).toBeTruthy();
  });
});

describe("the kernel's cards", () => {
  it("leave the card that is read in its place", async () => {
    const { model, root } = open(label(cards(5, 3)));
    model.set({ label: label([card(4), ...cards(5, 3)]) });
    await settled();
    expect(front(root)).toBe("arit-005");
  });

  it("replace it where another order is chosen", async () => {
    const { model, root } = open(label(cards(5, 3)));
    model.set({ label: label([card(4), ...cards(5, 3)], { order: "class-balanced" }) });
    await settled();
    expect(front(root)).toBe("arit-004");
  });

  it("show a card whose decision the kernel refused again, with the reason", async () => {
    const { model, link, key, root } = open(label(cards(1, 3)));
    key("1");
    model.set({ label: label(cards(1, 3), { heard: { page: link.page, seq: 1, turn: 1 }, message: "the store is read-only" }) });
    await settled();
    expect(front(root)).toBe("arit-002");
    expect(root.querySelector(".ahead")?.textContent).toBe("answer 1");
    expect(screen.getByText("the store is read-only")).toBeTruthy();
  });

  it("that another page heard leave what is to store", async () => {
    const { model, key } = open(label(cards(1, 3)));
    key("1");
    model.set({ label: label(cards(1, 3), { heard: { page: "other", seq: 9, turn: 9 } }) });
    await settled();
    expect(screen.getByText("1 to store")).toBeTruthy();
  });
});

describe("undo", () => {
  it("steps back immediately, with the counts", async () => {
    const { model, key, root } = open(label(cards(1, 5)));
    for (const name of "10u") key(name);
    await settled();
    expect(front(root)).toBe("arit-002");
    expect(model.done("label").at(-1)).toMatchObject({ action: "undo", seq: 2 });
    expect(root.textContent).toContain("25 of 500: 10 good, 14 bad");
    key("s");
    expect(model.done("label").at(-1)).toMatchObject({ action: "skip", seq: 2, turn: 4 });
  });

  it("of a decision of before waits for the kernel's card, and takes no key meanwhile", async () => {
    const { model, link, key, root } = open(label(cards(1, 5)));
    key("u");
    key("1");
    await settled();
    expect(model.done("label").map(({ action }) => action)).toEqual(["undo"]);
    expect(screen.getByText("reading the previous row")).toBeTruthy();
    model.set({ label: label([card(900), ...cards(1, 4)], { heard: { page: link.page, seq: 900, turn: 1 } }) });
    await settled();
    expect(front(root)).toBe("arit-900");
  });

  it("with nothing before shows this", async () => {
    const { model, key } = open(label(cards(1, 5), { past: [] }));
    key("u");
    await settled();
    expect(screen.getByText("nothing to undo")).toBeTruthy();
    expect(model.done("label")).toHaveLength(0);
  });
});

describe("defer", () => {
  it("shows the next card immediately, is counted, and is undone like a decision", async () => {
    const { model, key, root } = open(label(cards(1, 5)));
    key("d");
    await settled();
    expect(front(root)).toBe("arit-002");
    expect(model.done("label")[0]).toMatchObject({ action: "defer", seq: 1 });
    expect(root.textContent).toContain("24 of 500: 9 good, 14 bad, 1 skipped, 1 deferred");
    key("u");
    await settled();
    expect(front(root)).toBe("arit-001");
    expect(root.textContent).not.toContain("deferred");
  });

  it("can be undone after the kernel has put the row at the end", async () => {
    const { model, link, key, root } = open(label(cards(1, 3)));
    key("d");
    model.set({ label: label([card(2), card(3), card(1)], { deferred: 1, heard: { page: link.page, seq: 1, turn: 1 } }) });
    await settled();
    expect(front(root)).toBe("arit-002");
    key("u");
    await settled();
    expect(front(root)).toBe("arit-001");
  });
});

describe("tags", () => {
  const KNOWN = [
    { name: "wrong unit", count: 4, good: 0, bad: 3, skipped: 1, differ: 2, where: [{ tag: "wrong unit" }] },
    { name: "rude", count: 1, good: 0, bad: 1, skipped: 0, differ: 0, where: [{ tag: "rude" }] },
  ];
  const field = () => screen.getByLabelText<HTMLInputElement>("Tag for this row");

  it("are chosen by number, and sent with the decision", async () => {
    const { model, key, root } = open(label(cards(1, 5), { tags: KNOWN }));
    key("t");
    await settled();
    expect(document.activeElement).toBe(field());
    key("2");
    await settled();
    expect(document.activeElement).toBe(root.querySelector(".label-card"));
    key("t");
    await settled();
    key("1"); // what the row has is not offered again
    key("0");
    expect(model.done("label").map(({ action, tags }) => [action, tags])).toEqual([["tag", ["rude"]], ["tag", ["rude", "wrong unit"]], ["bad", ["rude", "wrong unit"]]]);
  });

  it("are typed, in the spelling that is known, and the keys go on", async () => {
    const { model, key } = open(label(cards(1, 5), { tags: KNOWN }));
    for (const text of ["made up", "Wrong Unit"]) {
      key("t");
      await settled();
      fireEvent.input(field(), { target: { value: text } });
      key("Enter");
      await settled();
    }
    expect(model.done("label").at(-1)?.tags).toEqual(["made up", "wrong unit"]);
    fireEvent.click(screen.getByLabelText("remove the tag made up"));
    key("1");
    expect(model.done("label").at(-1)).toMatchObject({ action: "good", tags: ["wrong unit"] });
  });

  it("offer those that contain what is typed, chosen by arrows; Esc leaves", async () => {
    const { model, key } = open(label(cards(1, 5), { tags: KNOWN }));
    key("t");
    await settled();
    fireEvent.input(field(), { target: { value: "ru" } });
    expect([...document.querySelectorAll(".offered button")].map((each) => each.textContent)).toEqual(["rude"]);
    key("ArrowDown");
    key("Enter");
    key("t");
    await settled();
    key("Escape");
    await settled();
    expect(screen.queryByLabelText("Tag for this row")).toBeNull();
    expect(model.done("label").map(({ tags }) => tags)).toEqual([["rude"]]);
  });

  it("are drawn, and a click shows their rows", () => {
    const { model } = open(label(cards(1, 5), { tags: KNOWN }));
    fireEvent.click(screen.getByLabelText("wrong unit: 3 bad, 1 skipped; the grader differs on 2: show them"));
    expect(model.done("look")[0]?.where).toEqual([{ tag: "wrong unit" }]);
    expect(model.done("mode")[0]?.mode).toBe("grade");
  });

  it("have no flaw for a screen reader, and are shown as text", async () => {
    const hostile = { name: HOSTILE, count: 1, good: 1, bad: 0, skipped: 0, differ: 0, where: [] };
    const { key, root } = open(label([{ ...card(1), tags: [HOSTILE] }, card(2)], { tags: [...KNOWN, hostile] }));
    key("t");
    await settled();
    expect(await flaws(root)).toEqual([]);
    expect(root.querySelector("img, script")).toBeNull();
  });
});

describe("a note", () => {
  it("is saved by Enter and sent with the decision", async () => {
    const { model, key, root } = open(label(cards(1, 5)));
    key("n");
    await settled();
    const field = screen.getByLabelText("Note to this row");
    expect(document.activeElement).toBe(field);
    fireEvent.input(field, { target: { value: "1 euro short" } });
    fireEvent.keyDown(field, { key: "1" });
    fireEvent.keyDown(field, { key: "Enter" });
    expect(model.done("label")[0]).toMatchObject({ action: "note", seq: 1, note: "1 euro short" });
    expect(document.activeElement).toBe(root.querySelector(".label-card"));
    key("1");
    expect(model.done("label")[1]).toMatchObject({ action: "good", seq: 1, note: "1 euro short" });
  });

  it("is left by Esc", async () => {
    const { model, key } = open(label(cards(1, 5)));
    key("n");
    await settled();
    const field = screen.getByLabelText("Note to this row");
    fireEvent.input(field, { target: { value: "no" } });
    fireEvent.keyDown(field, { key: "Escape" });
    key("0");
    expect(model.done("label").map(({ action, note }) => [action, note])).toEqual([["bad", ""]]);
  });

  it("that is typed stays while the kernel speaks", async () => {
    const { model, key } = open(label(cards(1, 5)));
    key("n");
    await settled();
    fireEvent.input(screen.getByLabelText("Note to this row"), { target: { value: "half" } });
    model.set({ label: label(cards(1, 5), { good: 10 }) });
    await settled();
    expect((screen.getByLabelText("Note to this row") as HTMLInputElement).value).toBe("half");
  });
});

describe("the card and its panel", () => {
  it("shows the rest of a long text piece by piece", async () => {
    const long = { ...card(1), turns: [turn("answer", "ab", "turn 1", 3)] };
    const { model, root } = open(label([long, card(2)]));
    fireEvent.click(screen.getByText("show the next piece"));
    const [question] = model.asked("card_piece");
    expect(question).toMatchObject({ row: 101, part: "turn 1", start: 2 });
    model.answer(question as never, { text: [["cde", ""]], start: 2, stop: 5, total: 5 });
    await settled();
    expect(root.querySelector(".texts .words")?.textContent).toBe("abcde");
    expect(screen.queryByText("show the next piece")).toBeNull();
  });

  it("shows a dash and the reason if there is no interval", () => {
    open(label(cards(1, 3)));
    expect(screen.getByText("– no interval holds below 10 rows")).toBeTruthy();
  });

  it("puts what is not yet stored before the kernel's last decisions", async () => {
    const { key, root } = open(label(cards(1, 3)));
    key("1");
    await settled();
    expect([...root.querySelectorAll(".past .cut")].map((each) => each.textContent).slice(0, 2)).toEqual(["answer 1", "101"]);
  });

  it("sends the order, the grader, the labeller, and the use of the labels", () => {
    const { model } = open(label(cards(1, 3)));
    fireEvent.change(screen.getByLabelText("Order of the rows"), { target: { value: "class-balanced" } });
    fireEvent.change(screen.getByLabelText("Grader to compare with"), { target: { value: "last_number" } });
    fireEvent.change(screen.getByLabelText("labelling as"), { target: { value: " Ada " } });
    fireEvent.click(screen.getByText("Use the labels"));
    const { done } = model;
    expect(done.call(model, "label_order")[0]?.order).toBe("class-balanced");
    expect(done.call(model, "label_grader")[0]?.name).toBe("last_number");
    expect(done.call(model, "labeller")[0]?.name).toBe("Ada");
    expect(done.call(model, "use_labels")).toHaveLength(1);
  });

  it("shows hostile texts as text", () => {
    const past = [{ seq: 1, id: HOSTILE, text: HOSTILE, value: true, same: true }];
    const { root } = open(label([card(1, HOSTILE), card(2, HOSTILE)], { message: HOSTILE, past }));
    expect(root.querySelector("img, script")).toBeNull();
    expect(root.textContent).toContain(HOSTILE);
  });

  it.each([["cards", label(cards(1, 4))], ["no card", label([], { done: 500, stats: [], past: [] })], ["no reply yet", null]])("has no flaw for a screen reader with %s", async (_, data) => {
    const { root } = open(data);
    expect(await flaws(root)).toEqual([]);
  });
});
