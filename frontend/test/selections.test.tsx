import { fireEvent } from "@testing-library/preact";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { Picked } from "../src/protocol.ts";
import { flaws } from "./modes/fake.tsx";
import { settle, showApp } from "./helpers.tsx";
import { HOSTILE, tableData } from "./rows.ts";
import { chosenData, counts, manyScores } from "./state.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const PICKED: Picked = { graders: { contains_number: counts({ good_accepted: 30, bad_refused: 12 }) }, scores: [[30, 0], [0, 12]], origin: [7, 0, 5] };
const FILTERS = [{ id: "a", text: "known bad" }];
const selected = (picked: Picked = PICKED) => ({ table: tableData({ filters: FILTERS, picked }) });

describe("the selected rows", () => {
  it("are a share of the graders' bars, the scores and the origin", () => {
    const { container, getAllByRole } = showApp(selected());
    expect(container.querySelectorAll(".picked-bar")).toHaveLength(1);
    const shares = getAllByRole("img").map((each) => each.getAttribute("aria-label")).filter((name) => name?.endsWith(" selected"));
    expect(shares).toEqual(["30 selected", "12 selected", "7 selected", "0 selected", "5 selected"]);
  });

  it("are a line in each bar of many scores, above and below the axis", () => {
    const scores = manyScores();
    const picked = { ...PICKED, scores: scores.bins.map((_, at): [number, number] => (at ? [0, 0] : [5, 9])) };
    const { container } = showApp({ ...selected(picked), chosen: chosenData({ scores }) });
    const lines = [...container.querySelectorAll(".picked line")].map((line) => Number(line.getAttribute("y2")) - Number(line.getAttribute("y1")));
    expect(lines.map(Math.sign)).toEqual([-1, 1]);
  });

  it("are not drawn if all rows are shown, or while another mode is open", () => {
    for (const state of [{}, { ...selected(), mode: "history" as const }]) {
      const { container, unmount } = showApp(state);
      expect(container.querySelectorAll(".picked-bar, .picked-share, .picked")).toHaveLength(0);
      unmount();
    }
  });

  it("are narrowed by a click with Shift, and replaced without", () => {
    const { model, container } = showApp(selected());
    const bar = container.querySelector(".two-val .bar button") as Element;
    fireEvent.click(bar, { shiftKey: true });
    fireEvent.click(bar);
    expect(model.done("filter")).toHaveLength(1);
    expect(model.done("look")).toHaveLength(1);
    fireEvent.click(container.querySelector(".fr") as Element, { shiftKey: true });
    expect(model.done("filter")).toHaveLength(2);
  });

  it("are all rows again by x", () => {
    const { model, container } = showApp(selected());
    fireEvent.keyDown(container.querySelector("main") as Element, { key: "x" });
    expect(model.done("look")[0]?.where).toEqual([]);
    expect(model.done("search")[0]?.text).toBe("");
  });
});

describe("the menu of selections", () => {
  it("opens by v, saves by name, and lists what is saved", async () => {
    const { model, container, getByRole, getByLabelText } = showApp(selected());
    await settle(() => fireEvent.keyDown(container.querySelector("main") as Element, { key: "v" }));
    await settle(() => model.answer(model.asked("selections")[0]!, [{ name: HOSTILE, count: 12 }, { name: "of before", count: -1 }]));
    expect(container.querySelector(".panel :is(img, script)")).toBeNull();
    expect(getByRole("menuitem", { name: /of before/ }).hasAttribute("disabled")).toBe(true);
    fireEvent.click(getByLabelText("delete the selection of before"));
    expect(model.done("delete_selection")[0]?.name).toBe("of before");
    await settle(() => fireEvent.click(getByRole("menuitem", { name: "Save these rows as…" })));
    const field = getByLabelText("name of the selection");
    fireEvent.input(field, { target: { value: " hard maths " } });
    fireEvent.submit(field.closest("form") as Element);
    expect(model.done("save_selection")[0]?.name).toBe("hard maths");
  });

  it("opens a saved one", async () => {
    const { model, getByRole } = showApp(selected());
    await settle(() => fireEvent.click(getByRole("button", { name: "Selections" })));
    await settle(() => model.answer(model.asked("selections")[0]!, [{ name: "hard maths", count: 12 }]));
    fireEvent.click(getByRole("menuitem", { name: /hard maths/ }));
    expect(model.done("open_selection")[0]?.name).toBe("hard maths");
  });

  it("saves nothing if all rows are shown", async () => {
    const { getByRole } = showApp({ table: tableData({ filters: [], search: "" }) });
    await settle(() => fireEvent.click(getByRole("button", { name: "Selections" })));
    expect(getByRole("menuitem", { name: "Save these rows as…" }).hasAttribute("disabled")).toBe(true);
  });

  it("has no flaw for a screen reader", async () => {
    vi.useRealTimers();
    const { container, getByRole } = showApp(selected());
    fireEvent.click(getByRole("button", { name: "Selections" }));
    expect(await flaws(container as HTMLElement)).toEqual([]);
  });
});
