import { fireEvent } from "@testing-library/preact";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { colourOf, inBox, layers, namesOf, nearest, type Placed } from "../src/map.ts";
import { flaws } from "./modes/fake.tsx";
import { settle, showApp } from "./helpers.tsx";
import { HOSTILE, tableData } from "./rows.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => {
  vi.useRealTimers();
  localStorage.clear();
});

const MAP: Placed = {
  busy: false, problem: "", side: 100, note: "by words", rows: [4, 7, 9, 12], x: [0, 100, 50, 50], y: [0, 100, 50, 52], clusters: [0, 0, 1, 1], names: ["danube vienna", HOSTILE],
};
const SIZE = { width: 120, height: 120 };

describe("a map", () => {
  it("has the rows in a box, drawn in any direction", () => {
    expect(inBox(MAP, { from: [50, 50], to: [70, 80] }, SIZE)).toEqual([9, 12]);
    expect(inBox(MAP, { from: [40, 40], to: [0, 0] }, SIZE)).toEqual([4]);
    expect(inBox(MAP, { from: [0, 0], to: [120, 120] }, SIZE)).toEqual([4, 7, 9, 12]);
  });

  it("finds the point next to a click, and none far away", () => {
    expect(nearest(MAP, [60, 66], SIZE)).toBe(9);
    expect(nearest(MAP, [60, 71], SIZE)).toBe(12);
    expect(nearest(MAP, [30, 90], SIZE)).toBeNull();
  });

  it("draws the selected rows last, and errors in their colours", () => {
    const state = { parts: "0236", scores: "90-5", picked: "0110" };
    expect(layers(MAP, state, "verdict").map(([key]) => key)).toEqual(["0 --failed 1 ", "0 --good 1 ", "1 --bad 1 ", "1 --bad 1 ring"]);
    expect(colourOf("error", "2", "-")[0]).toBe("--bad");
    expect(colourOf("error", "0", "-")[0]).toBe("--ink-3");
    expect(colourOf("score", "0", "9")[1]).toBeGreaterThan(colourOf("score", "0", "0")[1]);
  });

  it("names its clusters at their points, none over another", () => {
    const [first, second] = namesOf({ ...MAP, x: [50, 50, 50, 50], y: [50, 50, 50, 50], names: ["danube vienna old", "rome"] }, SIZE);
    expect([first?.[0], second?.[0]]).toEqual(["danube vienna", "rome"]);
    expect(Math.abs((first?.[2] ?? 0) - (second?.[2] ?? 0))).toBeGreaterThanOrEqual(13);
  });

  it("groups 10,000 points in a few milliseconds", () => {
    vi.useRealTimers();
    const many = Array.from({ length: 10_000 }, (_, at) => at);
    const map = { ...MAP, rows: many, x: many.map((at) => at % 100), y: many.map((at) => (at * 7) % 100), clusters: many.map(() => 0) };
    const state = { parts: many.map((at) => "01236789"[at % 8]).join(""), scores: "5".repeat(10_000), picked: "" };
    expect(layers(map, state, "verdict").reduce((total, [, points]) => total + points.length, 0)).toBe(10_000);
  });
});

async function opened() {
  const shown = showApp({ table: tableData({ filters: [], search: "" }) });
  await settle(() => fireEvent.keyDown(shown.container.querySelector("main") as Element, { key: "p" }));
  return shown;
}

describe("the map above the table", () => {
  it("opens by p, shows that it waits, and asks until it is there", async () => {
    const { model, getByText, queryByText, getByRole } = await opened();
    expect(getByText(/placing the rows/)).toBeTruthy();
    await settle(() => model.answer(model.asked("map")[0]!, { busy: true, problem: "" }));
    await settle(() => vi.advanceTimersByTime(400));
    expect(model.asked("map")).toHaveLength(2);
    await settle(() => model.answer(model.asked("map")[1]!, MAP));
    expect(queryByText(/placing the rows/)).toBeNull();
    expect(model.asked("map_state")).toHaveLength(1);
    expect(getByRole("img", { name: /4 rows, similar ones near each other, in 2 clusters/ })).toBeTruthy();
  });

  it("selects a cluster, a box and a point", async () => {
    const { model, container, getByRole } = await opened();
    await settle(() => model.answer(model.asked("map")[0]!, MAP));
    fireEvent.click(getByRole("button", { name: /danube vienna/ }));
    expect(model.done("look").at(-1)?.where).toEqual([{ rows: [4, 7] }]);
    const canvas = container.querySelector("canvas") as HTMLCanvasElement;
    canvas.setPointerCapture = () => undefined;
    canvas.getBoundingClientRect = () => ({ left: 0, top: 0, width: 380, height: 230 }) as DOMRect;
    fireEvent.pointerDown(canvas, { clientX: 0, clientY: 0, pointerId: 1 });
    fireEvent.pointerMove(canvas, { clientX: 100, clientY: 60 });
    await settle();
    expect(container.querySelector(".points .box")).toBeTruthy();
    fireEvent.pointerUp(canvas, { clientX: 100, clientY: 60, shiftKey: true });
    expect(model.done("filter").at(-1)?.where).toEqual([{ rows: [4] }]);
    await settle();
    fireEvent.pointerDown(canvas, { clientX: 371, clientY: 221, pointerId: 1 });
    await settle();
    fireEvent.pointerUp(canvas, { clientX: 371, clientY: 221 });
    expect(model.done("select").at(-1)?.row).toBe(7);
  });

  it("names a failure, and has no flaw for a screen reader", async () => {
    const failed = await opened();
    await settle(() => failed.model.answer(failed.model.asked("map")[0]!, { busy: false, problem: HOSTILE }));
    expect(failed.getByRole("alert").textContent).toBe(`No map: ${HOSTILE}`);
    failed.unmount();
    localStorage.clear();
    const { model, container } = await opened();
    await settle(() => model.answer(model.asked("map")[0]!, MAP));
    vi.useRealTimers();
    expect(await flaws(container as HTMLElement)).toEqual([]);
    expect(container.querySelector(".row-map :is(img, script)")).toBeNull();
  });
});
