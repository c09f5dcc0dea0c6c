import { EditorView } from "@codemirror/view";
import { undo } from "@codemirror/commands";
import { fireEvent } from "@testing-library/preact";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { newLines } from "../src/editor/lines.ts";
import { PAUSE } from "../src/editor/typing.ts";
import type { Chosen } from "../src/protocol.ts";
import { set, settle, showApp } from "./helpers.tsx";
import { chosenData } from "./state.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

function editorOf(container: Element): EditorView {
  return EditorView.findFromDOM(container.querySelector(".cm-editor") as HTMLElement) as EditorView;
}

async function type(container: Element, text: string): Promise<void> {
  const view = editorOf(container);
  await settle(() => view.dispatch({ changes: { from: view.state.doc.length, insert: text } }));
}

const source = (part: Partial<Chosen["source"]>) => ({ ...chosenData().source, ...part });
const shown = (container: Element) => editorOf(container).state.doc.toString();

describe("typing", () => {
  it("sends one text after a pause, with a number that rises", async () => {
    const { model, container } = showApp();
    await type(container, "#a");
    vi.advanceTimersByTime(PAUSE - 1);
    await type(container, "b");
    expect(model.done("edit")).toHaveLength(0);
    await settle(() => vi.advanceTimersByTime(PAUSE));
    await type(container, "c");
    await settle(() => vi.advanceTimersByTime(PAUSE));
    const texts = model.done("edit");
    expect(texts.map(({ seq }) => seq)).toEqual([1, 2]);
    expect(String(texts[0]?.text).endsWith("#ab")).toBe(true);
    expect(String(texts[1]?.text).endsWith("#abc")).toBe(true);
  });

  it("numbers the texts of all graders in one row", async () => {
    const { model, container } = showApp();
    await type(container, "#a");
    await set(model, { chosen: chosenData({ name: "other", source: source({ text: "other text", revision: 7 }) }) });
    await type(container, "#b");
    await settle(() => vi.advanceTimersByTime(PAUSE));
    expect(model.done("edit").map(({ name, seq }) => [name, seq])).toEqual([["contains_number", 1], ["other", 2]]);
  });

  it("is sent before anything that is done after it", async () => {
    const { model, container, getByRole } = showApp();
    await type(container, "#a");
    fireEvent.click(getByRole("button", { name: "Run" }));
    expect(model.sent.map(({ do: what }) => what).filter(Boolean)).toEqual(["edit", "run"]);
  });

  it("dims the old result, and does not blank it, until the result of the last text arrives", async () => {
    const { model, container, getByText } = showApp();
    await type(container, "#a");
    expect(container.querySelector(".answer.old")).toBeTruthy();
    expect(getByText("Too lenient:")).toBeTruthy();
    await settle(() => vi.advanceTimersByTime(PAUSE));
    await type(container, "#b");
    await settle(() => vi.advanceTimersByTime(PAUSE));
    await set(model, { chosen: chosenData({ seq: 1 }) });
    expect(container.querySelector(".answer.old")).toBeTruthy();
    await set(model, { chosen: chosenData({ seq: 2 }) });
    expect(container.querySelector(".answer.old")).toBeNull();
  });
});

describe("another text than the one in the editor", () => {
  const act = { do: "back" as const, name: "contains_number" };
  const notice = { text: "This text is not graded <b>.", link: "Restore version 1", act };

  it("is shown, with its link, above a dimmed result", async () => {
    const { model, container, getByRole } = showApp({ chosen: chosenData({ refused: true, notice }) });
    expect(container.querySelector(".other-text")?.textContent).toContain(notice.text);
    expect(container.querySelector(".answer.old")).toBeTruthy();
    fireEvent.click(getByRole("button", { name: notice.link }));
    expect(model.sent.at(-1)).toMatchObject(act);
  });

  it("may have no link, and does not dim a result of the current text", () => {
    const { container } = showApp({ chosen: chosenData({ notice: { ...notice, link: "" } }) });
    expect(container.querySelector(".other-text button")).toBeNull();
    expect(container.querySelector(".answer.old")).toBeNull();
  });
});

describe("the kernel's text", () => {
  it("is left alone while its revision is the same", async () => {
    const { model, container } = showApp();
    await type(container, "#mine");
    await set(model, { chosen: chosenData({ source: source({ text: "theirs" }) }) });
    expect(shown(container).endsWith("#mine")).toBe(true);
  });

  it("replaces the editor's at another revision, which can be undone, and is not sent back", async () => {
    const { model, container } = showApp();
    const before = shown(container);
    await set(model, { chosen: chosenData({ source: source({ text: "theirs", revision: 2 }) }) });
    expect(shown(container)).toBe("theirs");
    vi.advanceTimersByTime(PAUSE);
    expect(model.done("edit")).toHaveLength(0);
    await settle(() => undo(editorOf(container)));
    expect(shown(container)).toBe(before);
  });

  it("does not replace a text that was not sent yet", async () => {
    const { model, container } = showApp();
    await type(container, "#mine");
    await set(model, { chosen: chosenData({ source: source({ text: "theirs", revision: 2 }) }) });
    expect(shown(container).endsWith("#mine")).toBe(true);
    await settle(() => vi.advanceTimersByTime(PAUSE));
    expect(String(model.done("edit")[0]?.text).endsWith("#mine")).toBe(true);
  });

  it("changes with the selected grader, and is restored on the way back", async () => {
    const { model, container } = showApp();
    await type(container, "#mine");
    await set(model, { chosen: chosenData({ name: "other", source: source({ text: "other text", revision: 7 }) }) });
    expect(shown(container)).toBe("other text");
    expect(model.done("edit")).toMatchObject([{ name: "contains_number" }]);
    await set(model, { chosen: chosenData() });
    expect(shown(container).endsWith("#mine")).toBe(true);
  });
});

describe("the editor", () => {
  it("shows an error below its line as text", async () => {
    const { model, container } = showApp();
    await set(model, { chosen: chosenData({ source: source({ error: { line: 4, message: "<b>wrong</b>" } }) }) });
    expect(container.querySelector(".editor-problem")?.textContent).toBe("<b>wrong</b>");
    expect(container.querySelector(".editor-wrong")?.textContent).toContain("async def grade");
  });

  it("cannot be changed where the source is not editable", () => {
    const { container } = showApp({ chosen: chosenData({ source: source({ editable: false }) }) });
    expect(editorOf(container).state.readOnly).toBe(true);
  });

  it("keeps the version by Ctrl s, after the text", async () => {
    const { model, container } = showApp();
    await type(container, "#a");
    fireEvent.keyDown(container.querySelector(".cm-content") as Element, { key: "s", code: "KeyS", keyCode: 83, ctrlKey: true });
    expect(model.sent.map(({ do: what }) => what).filter(Boolean)).toEqual(["edit", "keep"]);
  });
});

describe("new lines", () => {
  it("are those that the saved text does not have", () => {
    expect([...newLines("a\nb\nc", "a\nx\nb\nc\ny")]).toEqual([2, 5]);
    expect([...newLines("a\nb", "a\nb")]).toEqual([]);
  });

  it("mark the place where something is gone", () => {
    expect([...newLines("a\nb\nc", "a\nc")]).toEqual([2]);
  });
});
