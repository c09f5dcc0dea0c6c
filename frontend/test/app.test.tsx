import { fireEvent, within } from "@testing-library/preact";
import axe from "axe-core";
import { describe, expect, it, vi } from "vitest";
import { figureText } from "../src/download.ts";
import { tokens } from "../src/python.ts";
import type { State } from "../src/protocol.ts";
import { set, settle, show, showApp } from "./helpers.tsx";
import { Foot } from "../src/Foot.tsx";
import { chosenData, counts, fullState, HOSTILE, line, manyScores } from "./state.ts";
import { readerData, tableData, turn } from "./rows.ts";

async function problemsOf(container: Element): Promise<string[]> {
  const { violations } = await axe.run(container, { rules: { "color-contrast": { enabled: false } } });
  return violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(" ")}`);
}

const head = (part: Partial<State["head"]>) => ({ head: { ...fullState().head, ...part } });
const empty: Partial<State> = { rail: { ...fullState().rail, lines: [], drafts: [], chosen: "" }, chosen: chosenData({ name: "", scores: null, finding: null, from: null }), reader: null };

describe("the whole view", () => {
  const states: Record<string, Partial<State>> = {
    "with all parts": {},
    "with many scores and a running job": { chosen: chosenData({ scores: manyScores({ skipped: 3 }) }), progress: { running: true, done: 1, total: 2, failed: 0, text: "1 of 2" } },
    "with a problem": head({ problem: { what: "w", where: "x", trace: "t" }, warning: "careful", notes: ["stopped"] }),
    "without a grader": empty,
    "with rows alone": { part: "rows" },
    "with graders alone": { part: "graders" },
  };
  for (const [name, state] of Object.entries(states)) {
    it(`has nothing that a screen reader stumbles over: ${name}`, async () => {
      const { container } = showApp(state);
      expect(await problemsOf(container)).toEqual([]);
    });
  }

  for (const name of [/500 of 960/, /Add a grader/, /more for/, "Filter", "columns", /more: save/, "keys and terms"]) {
    it(`has no such thing in what opens by ${name}`, async () => {
      const { container, getByRole } = showApp();
      fireEvent.click(getByRole("button", { name }));
      expect(getByRole("dialog")).toBeTruthy();
      expect(await problemsOf(container)).toEqual([]);
    });
  }

  it("shows hostile texts as texts in every part", () => {
    const bad = line(HOSTILE, { say: HOSTILE });
    const { container } = showApp({
      ...head({ dataset: HOSTILE, warning: HOSTILE, notes: [HOSTILE], problem: { what: HOSTILE, where: HOSTILE, trace: HOSTILE } }),
      rail: { ...fullState().rail, lines: [bad, line("b", { counts: counts({ failed: 1 }), verdict: { shape: "bad", words: HOSTILE, tip: HOSTILE } })], removed: HOSTILE },
      chosen: chosenData({ title: HOSTILE, say: HOSTILE, changed: { sentence: HOSTILE, back: HOSTILE, pills: [{ shape: "bad", text: HOSTILE, where: [], on: false }] }, source: { ...chosenData().source, text: HOSTILE, error: { line: 1, message: HOSTILE } } }),
      table: tableData({ title: HOSTILE, note: HOSTILE, filters: [{ id: "x", text: HOSTILE }] }),
      reader: readerData({ id: HOSTILE, turns: [turn(HOSTILE, HOSTILE)], labelled_by: HOSTILE }),
      code: HOSTILE,
    });
    expect(container.querySelector("img:not(.cm-widgetBuffer)")).toBeNull();
    expect(container.textContent?.split(HOSTILE).length).toBeGreaterThan(15);
  });

  it("opens only the requested part", () => {
    const { container } = showApp({ part: "rows" });
    expect(container.querySelector(".rail")).toBeNull();
    expect(container.querySelector(".modes")).toBeNull();
    expect(container.querySelector(".grid")).toBeTruthy();
  });
});

describe("the head", () => {
  it("runs, and stops while it runs", async () => {
    const { model, getByRole } = showApp();
    fireEvent.click(getByRole("button", { name: "Run" }));
    await set(model, { progress: { running: true, done: 320, total: 500, failed: 0, text: "320 of 500 · 12 s left" } });
    expect(getByRole("progressbar").getAttribute("aria-valuenow")).toBe("64");
    fireEvent.click(getByRole("button", { name: "Stop" }));
    expect(model.sent.filter(({ do: what }) => what).map(({ do: what }) => what)).toEqual(["run", "stop"]);
  });

  it("draws other rows, with a budget only where judges take part", async () => {
    const { model, getByRole, getByLabelText, queryByLabelText } = showApp();
    fireEvent.click(getByRole("button", { name: /500 of 960/ }));
    expect(queryByLabelText(/Budget/)).toBeNull();
    await settle(() => fireEvent.input(getByLabelText(/^Rows ?of/), { target: { value: "100" } }));
    await settle(() => fireEvent.change(getByLabelText(/^Evenly by/), { target: { value: "writer" } }));
    fireEvent.submit(getByLabelText(/^Rows ?of/).closest("form") as HTMLFormElement);
    expect(model.done("draw")[0]?.draw).toEqual({ n: 100, seed: 0, by: "writer", repeats: 1, budget: "" });
  });

  it("shows that the kernel does not respond", async () => {
    const { link, findByText } = showApp();
    await settle(() => (link.line.value = "lost"));
    expect(await findByText(/The kernel does not respond/)).toBeTruthy();
  });

  it("opens a mode by g and its number, and saves and opens views", async () => {
    const { model, container, getByRole, getByLabelText } = showApp();
    const app = container.querySelector("main") as Element;
    fireEvent.keyDown(app, { key: "g" });
    fireEvent.keyDown(app, { key: "3" });
    expect(model.done("mode")[0]).toMatchObject({ mode: "label" });
    fireEvent.click(getByRole("button", { name: /more: save/ }));
    fireEvent.click(getByRole("menuitem", { name: "Save this view as…" }));
    await settle(() => fireEvent.input(getByLabelText("name of the view"), { target: { value: "mine" } }));
    fireEvent.submit(getByLabelText("name of the view").closest("form") as HTMLFormElement);
    expect(model.done("save_view")[0]).toMatchObject({ name: "mine" });
  });

  it("lists the saved views, opens and deletes them, and copies the open one as code", async () => {
    const { model, getByRole, queryByRole, container } = showApp();
    const open = async () => {
      fireEvent.click(getByRole("button", { name: /more: save/ }));
      await settle(() => model.answer(model.asked("views").at(-1)!, [HOSTILE, "mine"]));
    };
    await open();
    expect(container.querySelector("img:not(.cm-widgetBuffer)")).toBeNull();
    fireEvent.click(getByRole("menuitem", { name: "Open “mine”" }));
    expect(model.done("open_view")[0]).toMatchObject({ name: "mine" });
    await open();
    await settle(() => fireEvent.click(getByRole("button", { name: "delete the saved view mine" })));
    expect(model.done("delete_view")[0]).toMatchObject({ name: "mine" });
    expect(queryByRole("menuitem", { name: "Open “mine”" })).toBeNull();
    const writeText = vi.fn(async () => undefined);
    vi.stubGlobal("navigator", { ...navigator, clipboard: { writeText } });
    fireEvent.click(getByRole("menuitem", { name: "Copy this view as code" }));
    await settle(() => model.answer(model.asked("view_code")[0]!, "app.open_view({})"));
    expect(writeText).toHaveBeenCalledWith("app.open_view({})");
    vi.unstubAllGlobals();
  });

  it("lets a problem with a folded traceback be dismissed", () => {
    const { model, getByRole } = showApp(head({ problem: { what: "KeyError", where: "line 6", trace: "Traceback" } }));
    const alert = getByRole("alert");
    expect(alert.querySelector("details pre")?.textContent).toBe("Traceback");
    fireEvent.click(within(alert).getByRole("button", { name: "dismiss" }));
    expect(model.done("forget")[0]).toMatchObject({ what: "problem" });
  });
});

describe("help", () => {
  it("opens by ?, keeps the focus, and gives it back by Esc", async () => {
    const { container, getByRole, queryByRole } = showApp();
    const grid = getByRole("grid");
    grid.focus();
    await settle(() => fireEvent.keyDown(grid, { key: "?" }));
    const dialog = getByRole("dialog", { name: "Keys and terms" });
    expect(dialog.contains(container.ownerDocument.activeElement)).toBe(true);
    for (let press = 0; press < 3; press += 1) fireEvent.keyDown(container.ownerDocument.activeElement as Element, { key: "Tab" });
    expect(dialog.contains(container.ownerDocument.activeElement)).toBe(true);
    await settle(() => fireEvent.keyDown(dialog, { key: "Escape" }));
    expect(queryByRole("dialog")).toBeNull();
    expect(container.ownerDocument.activeElement).toBe(grid);
  });
});

describe("the empty view", () => {
  it("starts with the text that is shown", () => {
    const { model, getByRole } = showApp(empty);
    fireEvent.click(getByRole("button", { name: "Start with this text" }));
    expect(model.done("add")[0]).toMatchObject({ name: "my_grader" });
  });
});

describe("the same in code", () => {
  it("copies all of it, and shows further lines on demand", async () => {
    const writeText = vi.fn(async () => undefined);
    vi.stubGlobal("navigator", { ...navigator, clipboard: { writeText } });
    const { getByRole, container } = show(<Foot />, { code: "a = 1\nb = 2" });
    fireEvent.click(getByRole("button", { name: /1 more/ }));
    expect(container.querySelector(".whole")?.textContent).toBe("a = 1\nb = 2");
    await settle(() => fireEvent.click(getByRole("button", { name: "Copy" })));
    expect(writeText).toHaveBeenCalledWith("a = 1\nb = 2");
    vi.unstubAllGlobals();
  });

  it("distinguishes tokens of Python and loses none", () => {
    const code = 'x = f("a", 1) if y else None  # why';
    expect(tokens(code).map(([text]) => text).join("")).toBe(code);
    expect(tokens(code).filter(([, kind]) => kind).map(([, kind]) => kind)).toEqual(["fn", "str", "nr", "kw", "kw", "kw", "com"]);
  });
});

describe("a figure to take along", () => {
  it("is a separate drawing, with the finding as text", () => {
    const root = document.body.appendChild(document.createElement("main"));
    for (const scores of [manyScores(), chosenData().scores]) {
      const text = figureText(chosenData({ scores }), root);
      expect(text.startsWith("<?xml")).toBe(true);
      expect(text).toContain("Too lenient: it accepts 50 of 290 known-bad answers.");
      expect(new DOMParser().parseFromString(text, "image/svg+xml").querySelector("parsererror")).toBeNull();
    }
    expect(root.childElementCount).toBe(0);
    root.remove();
  });
});
