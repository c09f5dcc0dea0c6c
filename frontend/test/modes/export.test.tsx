import { cleanup, fireEvent, screen } from "@testing-library/preact";
import { afterEach, describe, expect, it, vi } from "vitest";
import { Export } from "../../src/modes/Export.tsx";
import { beyondEdge } from "../../src/modes/parts/FitTable.tsx";
import { highlight, LINES } from "../../src/modes/parts/highlight.ts";
import type { ExportData } from "../../src/protocol.ts";
import { flaws, settled, show } from "./fake.tsx";
import { exported, HOSTILE } from "./fixtures.ts";

afterEach(cleanup);

const open = (data: ExportData | null) => show(Export, { export: data });

describe("the fit table", () => {
  it("gives each cell its text and its note", () => {
    open(exported());
    const cell = screen.getByLabelText("contains_number to Python: code: its description is not exported");
    expect(cell.title).toBe("its description is not exported");
    expect(cell.textContent).toBe("code*");
    expect(screen.getByLabelText("contains_number to Workbench: yes").textContent).toBe("yes");
  });

  it("shows a cell's note below while it is pointed at or has the focus", async () => {
    const { root } = open(exported());
    const note = root.querySelector(".fit-note");
    expect(note?.textContent).toContain("* something without effect on scores");
    const cell = screen.getByLabelText(/^exact_match to vLLora: with loss/);
    fireEvent.pointerOver(cell);
    await settled();
    expect(note?.textContent).toContain("exact_match, vLLora:");
    fireEvent.pointerLeave(root.querySelector("tbody") as Element);
    screen.getByLabelText(/^shows_working to Letta/).focus();
    await settled();
    expect(note?.textContent).toBe("shows_working, Letta: it cannot run Python");
  });

  it("is one stop of Tab, and the arrows go from cell to cell", () => {
    const { root } = open(exported());
    const first = screen.getByLabelText("contains_number to Workbench: yes");
    first.focus();
    fireEvent.keyDown(first, { key: "ArrowRight" });
    fireEvent.keyDown(document.activeElement as Element, { key: "ArrowDown" });
    expect(document.activeElement?.getAttribute("aria-label")).toMatch(/^last_number to Python/);
    expect(root.querySelectorAll(".fit-cell[tabindex='0']")).toHaveLength(1);
  });

  it("chooses a platform by its head and ticks a grader", () => {
    const { model } = open(exported());
    fireEvent.click(screen.getByText("Letta"));
    fireEvent.click(screen.getByLabelText("shows_working"));
    expect(model.done("export")[0]?.platform).toBe("letta");
    expect(model.done("tick")[0]).toMatchObject({ name: "shows_working", on: true });
  });

  it("puts trainers after platforms under separate headers, in any order", () => {
    const data = exported();
    const { root } = open({ ...data, platforms: [...data.platforms].reverse(), graders: data.graders.map((line) => ({ ...line, fits: [...line.fits].reverse() })) });
    expect([...root.querySelectorAll(".groups th")].map((head) => head.textContent)).toEqual(["platforms", "trainers and evaluators"]);
    expect(root.querySelector(".names button")?.textContent).toBe("vLLora");
    expect(screen.getByLabelText("contains_number to Workbench: yes")).toBeTruthy();
  });

  it("names drafts apart, without a tick", () => {
    const { root } = open(exported());
    expect(root.querySelector(".draft")?.textContent).toBe("same_as_referencea draft: exported once its five checks pass");
    expect(root.querySelector(".draft input")).toBeNull();
  });
});

describe("the settings", () => {
  it("send what is changed", () => {
    const { model } = open(exported());
    fireEvent.change(screen.getByLabelText("unsupported"), { target: { value: "warn" } });
    fireEvent.change(screen.getByLabelText("no score"), { target: { value: "zero" } });
    fireEvent.change(screen.getByLabelText("reference field"), { target: { value: "gold" } });
    fireEvent.click(screen.getByLabelText("export without validation"));
    fireEvent.change(screen.getByLabelText("file"), { target: { value: "mine.py" } });
    expect(model.done("export_settings").map(({ settings }) => settings)).toEqual([
      { on_loss: "warn" }, { on_error: "zero" }, { reference: "gold" }, { allow_unvalidated: true }, { file: "mine.py" },
    ]);
  });

  it("are left out where there is nothing to choose", () => {
    open(exported({ choices: { on_loss: [], on_error: ["fail"], has_reference: false, not_validated: [] } }));
    expect(screen.queryByLabelText("unsupported")).toBeNull();
    expect(screen.queryByLabelText("no score")).toBeNull();
    expect(screen.queryByLabelText("reference field")).toBeNull();
    expect(screen.queryByText("export without validation")).toBeNull();
  });

  it("validate graders, and write under the name in the field", () => {
    const { model } = open(exported());
    fireEvent.click(screen.getByText("Validate it"));
    fireEvent.input(screen.getByLabelText("file"), { target: { value: "other.py" } });
    fireEvent.click(screen.getByText("Write the files"));
    expect(model.sent.slice(-3).map((message) => message.do)).toEqual(["validate_all", "export_settings", "write"]);
    expect(model.done("export_settings")[0]?.settings).toEqual({ file: "other.py" });
  });

  it("save the whole file where the page is, as the kernel has it", async () => {
    const { model } = open(exported());
    const saved = vi.spyOn(URL, "createObjectURL").mockReturnValue("blob:x");
    const clicked = vi.spyOn(HTMLAnchorElement.prototype, "click").mockImplementation(() => {});
    const name = exported().files[0]?.name as string;
    fireEvent.click(screen.getByLabelText(`Download ${name}`));
    const question = model.asked("export_file")[0];
    expect(question).toMatchObject({ name });
    model.answer(question as never, "all of it");
    await vi.waitFor(() => expect(clicked).toHaveBeenCalled());
    expect(await (saved.mock.calls[0]?.[0] as Blob).text()).toBe("all of it");
    vi.restoreAllMocks();
  });

  it("show what is lost, and by the button a problem, what was written, or what is replaced", () => {
    const { root } = open(exported({ losses: ["what it prints"], problem: ["nothing ticked", "Tick one."], written: "graders.py written" }));
    for (const text of ["what it prints", "exact_match: its extractor's name", "nothing ticked"]) expect(screen.getByText(text)).toBeTruthy();
    expect((screen.getByText("Write the files") as HTMLButtonElement).disabled).toBe(true);
    expect(root.querySelectorAll(".notice")).toHaveLength(1);
    cleanup();
    open(exported({ written: "graders.py written" }));
    expect(screen.getByText("graders.py written")).toBeTruthy();
    cleanup();
    expect(open(exported()).root.querySelector(".notice")?.textContent).toBe("graders.py");
  });
});

describe("the files", () => {
  it("are chosen by tabs, also by the arrows", async () => {
    const { root } = open(exported());
    const [first] = screen.getAllByRole("tab");
    fireEvent.keyDown(first as Element, { key: "ArrowRight" });
    await settled();
    expect(screen.getByRole("tab", { selected: true }).textContent).toBe("suite.json");
    expect(root.querySelector(".source")?.textContent).toContain('"arithmetic"');
  });

  it("are copied unchanged", async () => {
    const copied: string[] = [];
    vi.stubGlobal("navigator", { ...navigator, clipboard: { writeText: async (text: string) => void copied.push(text) } });
    open(exported());
    fireEvent.click(screen.getByText("Copy"));
    await settled();
    expect(copied).toEqual([exported().files[0]?.text]);
    expect(screen.getByText("Copied")).toBeTruthy();
    vi.unstubAllGlobals();
  });

  it("are cut if they are long, with a note", () => {
    const text = "x = 1\n".repeat(LINES + 5);
    const { root } = open(exported({ files: [{ name: "long.py", text, language: "python", lines: LINES + 5 }] }));
    expect(root.querySelectorAll(".ln")).toHaveLength(LINES);
    expect(screen.getByText(/the first 2,000 of 2,005 lines/)).toBeTruthy();
  });

  it("have quiet colours that change no character", () => {
    const text = exported().files[0]?.text ?? "";
    const lines = highlight(text, "python");
    expect(lines.map((line) => line.map(([part]) => part).join("")).join("\n")).toBe(text);
    const kinds = new Map(lines.flat().map(([part, kind]) => [part, kind]));
    expect([kinds.get("async"), kinds.get("grade"), kinds.get("'contains_number'"), kinds.get("1.0")]).toEqual(["kw", "fn", "str", "nr"]);
    expect(highlight('{"a": "b", "n": 1}', "json")[0]?.filter(([, kind]) => kind)).toEqual([['"a"', "fn"], ['"b"', "str"], ['"n"', "fn"], ["1", "nr"]]);
  });

  it.each(['"""'.repeat(20_000), '"'.repeat(50_000), "`".repeat(50_001), "a(".repeat(30_000), "/*".repeat(30_000)])("are coloured quickly for any content", (text) => {
    const start = performance.now();
    for (const language of ["python", "javascript", "json", "yaml", "toml"]) highlight(text, language);
    expect(performance.now() - start).toBeLessThan(20_000); // what looks again from each character takes minutes, a busy machine seconds
  });
});

it("shows the next step without a grader, and without a platform", () => {
  open(exported({ graders: [] }));
  expect(screen.getByText(/Add a grader on the left/)).toBeTruthy();
  cleanup();
  open(exported({ chosen: "" }));
  expect(screen.getByText(/Select a platform in the/)).toBeTruthy();
});

it("hostile texts stay texts", () => {
  const files = [{ name: HOSTILE, text: `x = 1\n${HOSTILE}`, language: "python", lines: 2 }];
  const { root } = open(exported({ files, problem: [HOSTILE, HOSTILE], losses: [HOSTILE], sentence: HOSTILE }));
  expect(root.querySelector("img, script")).toBeNull();
  expect(root.querySelector(".source")?.textContent).toContain(HOSTILE);
});

it.each([["all", exported({ problem: ["p"], losses: ["l"], written: "w" })], ["one file", exported({ files: exported().files.slice(0, 1) })], ["nothing", null]])("no flaw for a screen reader with %s", async (_, data) => {
  const { root } = open(data);
  expect(await flaws(root)).toEqual([]);
});

it.each([[22, 0, 0, 0], [22, 800, 0, 14], [22, 800, 500, 7], [22, 800, 1_058, 0], [4, 800, 0, 0]])("of %i platforms in %i pixels, %i scrolled, %i are beyond the edge", (platforms, width, left, beyond) => {
  expect(beyondEdge(platforms, width, left)).toBe(beyond);
});
