import { fireEvent } from "@testing-library/preact";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { Rows } from "../src/Rows.tsx";
import { DENSE_ROW, ROW, RowStore, scrollTo, sightOf, WINDOW } from "../src/rows.ts";
import { SEARCH_PAUSE } from "../src/RowsTools.tsx";
import { linked } from "./fake.ts";
import { set, settle, show } from "./helpers.tsx";
import { rowsAt, tableData } from "./rows.ts";
import { fullState } from "./state.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

function stored(count = 1_000, revision = 1) {
  const { model, link } = linked(fullState());
  const store = new RowStore(link);
  store.show(tableData({ count, revision }));
  return { model, store };
}

describe("windows of rows", () => {
  it("are requested once, and not if the rows came with the table", async () => {
    const { model, store } = stored();
    store.need(0, 20);
    store.need(90, 130);
    store.need(100, 125);
    expect(model.asked("rows").map(({ start, stop }) => [start, stop])).toEqual([[60, 120], [120, 180]]);
  });

  it("are not requested if all rows are loaded", () => {
    const { model, store } = stored(30);
    store.need(0, 30);
    expect(model.asked("rows")).toHaveLength(0);
  });

  it("end with the table", () => {
    const { model, store } = stored(70);
    store.need(60, 300);
    expect(model.asked("rows").map(({ start, stop }) => [start, stop])).toEqual([[60, 70]]);
  });

  it("of an older state of the table are dropped", async () => {
    const { model, store } = stored();
    store.need(60, 90);
    store.show(tableData({ count: 1_000, revision: 2 }));
    await settle(() => model.answer(model.asked("rows")[0]!, rowsAt(60, 120)));
    expect(store.at(60)).toBeNull();
    store.need(60, 90);
    expect(model.asked("rows")[1]).toMatchObject({ revision: 2 });
    await settle(() => model.answer(model.asked("rows")[1]!, rowsAt(60, 120)));
    expect(store.at(60)).toMatchObject({ old: false });
  });

  it("are shown as old ones while those of the same order come", async () => {
    const { model, store } = stored();
    store.need(60, 90);
    await settle(() => model.answer(model.asked("rows")[0]!, rowsAt(60, 120)));
    store.show(tableData({ count: 1_000, revision: 2 }));
    expect(store.at(60)).toMatchObject({ old: true });
    store.show(tableData({ count: 1_000, revision: 3, search: "other" }));
    expect(store.at(60)).toBeNull();
  });

  it("are requested again after a failed reply", async () => {
    const { model, store } = stored();
    store.need(60, 90);
    const [message] = model.asked("rows");
    await settle(() => model.message({ page: message!.page, reply: message!.id, problem: "no" }));
    store.need(60, 90);
    expect(model.asked("rows")).toHaveLength(2);
  });
});

describe("what is in sight", () => {
  it("is a few rows of many", () => {
    expect(sightOf(100_000, 42_000, 420)).toEqual({ height: 100_000 * ROW, first: 994, last: 1016, offset: 994 * ROW });
  });

  it("reaches the last of more rows than a browser can scroll", () => {
    const { height } = sightOf(1_000_000, 0, 420);
    expect(sightOf(1_000_000, height - 420, 420).last).toBe(1_000_000);
    expect(scrollTo(999_999, 1_000_000, 0, 420)).toBeCloseTo(height - 420);
  });

  it("is scrolled no further than needed", () => {
    expect(scrollTo(3, 100, 0, 420)).toBeNull();
    expect(scrollTo(10, 100, 0, 420)).toBe(ROW);
    expect(scrollTo(0, 100, 420, 420)).toBe(0);
    expect(WINDOW).toBe(60);
  });
});

describe("the grid", () => {
  it("draws only visible rows and shows their number", () => {
    const { getByRole, getAllByRole } = show(<Rows />, { table: tableData({ count: 100_000 }) });
    expect(getByRole("grid").getAttribute("aria-rowcount")).toBe("100001");
    expect(getAllByRole("row").length).toBeLessThan(40);
  });

  it("moves the selected row by keys and sends the last move to the kernel", async () => {
    const { model, getByRole } = show(<Rows />);
    const grid = getByRole("grid");
    await settle(() => fireEvent.keyDown(grid, { key: "ArrowDown" }));
    await settle(() => fireEvent.keyDown(grid, { key: "ArrowDown" }));
    await settle(() => fireEvent.keyDown(grid, { key: "ArrowDown" }));
    expect(getByRole("row", { selected: true }).getAttribute("aria-rowindex")).toBe("7");
    await settle(() => vi.advanceTimersByTime(100));
    expect(model.done("select").map(({ row }) => row)).toEqual([103, 105]);
  });

  it("requests a missing row before it selects it", async () => {
    const { model, getByRole } = show(<Rows />, { table: tableData({ count: 1_000 }) });
    await settle(() => fireEvent.keyDown(getByRole("grid"), { key: "End" }));
    const message = model.asked("rows").find(({ start }) => start === 960);
    await settle(() => model.answer(message!, rowsAt(960, 1_000)));
    expect(model.done("select").at(-1)).toMatchObject({ row: 1099 });
  });

  it("gives the focus to the reader and takes it back", () => {
    const { getByRole, container } = show(<Rows />);
    const grid = getByRole("grid");
    grid.focus();
    fireEvent.keyDown(grid, { key: "Enter" });
    expect(container.ownerDocument.activeElement).toBe(container.querySelector(".reader .text"));
    fireEvent.keyDown(container.querySelector(".reader .text") as Element, { key: "Escape" });
    expect(container.ownerDocument.activeElement).toBe(grid);
  });

  it("sorts by a click: up, down, and back", async () => {
    const { model, getByRole } = show(<Rows />);
    const click = () => fireEvent.click(getByRole("button", { name: "score" }));
    click();
    await set(model, { table: tableData({ sort: { key: "score", descending: false }, revision: 2 }) });
    expect(getByRole("columnheader", { name: "score" }).getAttribute("aria-sort")).toBe("ascending");
    click();
    await set(model, { table: tableData({ sort: { key: "score", descending: true }, revision: 3 }) });
    click();
    expect(model.done("sort").map(({ key, descending }) => [key, descending])).toEqual([["score", false], ["score", true], ["", false]]);
  });

  it("widens a column by keys", () => {
    const { model, getByRole } = show(<Rows />);
    fireEvent.keyDown(getByRole("button", { name: "label" }), { key: "ArrowRight", shiftKey: true });
    expect(model.done("columns")[0]?.columns).toContainEqual({ key: "label", shown: true, width: 68 });
  });
});

describe("rows of one line", () => {
  it("are selected in the menu of columns, and are closer", async () => {
    const { container, getByRole, getByLabelText, view } = show(<Rows />, { table: tableData({ count: 500 }) });
    const before = container.querySelectorAll(".tr").length;
    fireEvent.click(getByRole("button", { name: "columns" }));
    await settle(() => fireEvent.click(getByLabelText("one line per row")));
    expect(container.querySelector(".grid.dense")).toBeTruthy();
    expect(container.querySelectorAll(".tr").length).toBeGreaterThan(before);
    expect((container.querySelector(".grid .rows") as HTMLElement).style.height).toBe(`${500 * DENSE_ROW}px`);
    view.condense(false);
  });
});

describe("filters and search", () => {
  it("sends a search after a pause", async () => {
    const { model, getByRole } = show(<Rows />);
    const field = getByRole("searchbox");
    await settle(() => fireEvent.input(field, { target: { value: "eur" } }));
    await settle(() => fireEvent.input(field, { target: { value: "euro" } }));
    vi.advanceTimersByTime(SEARCH_PAUSE);
    expect(model.done("search").map(({ text }) => text)).toEqual(["euro"]);
  });

  it("keeps what is typed while another table arrives", async () => {
    const { model, getByRole } = show(<Rows />, { table: tableData({ search: "", revision: 1 }) });
    const field = getByRole("searchbox") as HTMLInputElement;
    model.set({ table: tableData({ search: "", revision: 2 }) });
    fireEvent.input(field, { target: { value: "a" } });
    await settle();
    model.set({ table: tableData({ search: "", revision: 3 }) });
    await settle();
    expect(field.value).toBe("a");
    vi.advanceTimersByTime(SEARCH_PAUSE);
    expect(model.done("search").map(({ text }) => text)).toEqual(["a"]);
  });

  it("removes a filter by its cross", () => {
    const { model, getByRole } = show(<Rows />);
    fireEvent.click(getByRole("button", { name: "remove the filter known bad" }));
    expect(model.done("unfilter")[0]).toMatchObject({ chip: "label" });
  });

  it("filters by a value of a column", async () => {
    const { model, getByRole } = show(<Rows />);
    fireEvent.click(getByRole("button", { name: "Filter" }));
    fireEvent.click(getByRole("menuitem", { name: "writer…" }));
    await settle(() => model.answer(model.asked("values")[0]!, { kind: "values", values: [{ text: "gamer", count: 51, where: [{ column: "writer", is: "gamer" }] }], lo: 0, hi: 0 }));
    fireEvent.click(getByRole("menuitem", { name: "gamer51" }));
    expect(model.done("filter")[0]?.where).toEqual([{ column: "writer", is: "gamer" }]);
  });

  it("filters by a range of numbers", async () => {
    const { model, getByRole, getByLabelText } = show(<Rows />);
    fireEvent.click(getByRole("button", { name: "Filter" }));
    fireEvent.click(getByRole("menuitem", { name: "length…" }));
    await settle(() => model.answer(model.asked("values")[0]!, { kind: "numbers", column: "length", values: [], lo: 1, hi: 400 }));
    await settle(() => fireEvent.input(getByLabelText("from"), { target: { value: "10" } }));
    fireEvent.submit(getByLabelText("from").closest("form") as HTMLFormElement);
    expect(model.done("filter")[0]?.where).toEqual([{ column: "length", between: [10, 400] }]);
  });

  it("shows a column that was hidden", () => {
    const { model, getByRole } = show(<Rows />);
    fireEvent.click(getByRole("button", { name: "columns" }));
    fireEvent.click(getByRole("checkbox", { name: "writer" }));
    expect(model.done("columns")[0]?.columns).toContainEqual({ key: "field writer", shown: true, width: 120 });
  });
});
