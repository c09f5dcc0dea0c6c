import { fireEvent, render } from "@testing-library/preact";
import { useEffect, useState } from "preact/hooks";
import { describe, expect, it } from "vitest";
import { foldedRanges } from "@codemirror/language";
import { EditorState } from "@codemirror/state";
import { folding, headerOf } from "../src/editor/fold.ts";
import { keepFocus } from "../src/focus.ts";
import { Item, Menu, Popover } from "../src/Popover.tsx";

const tick = () => new Promise((done) => setTimeout(done, 0));

function Nested({ picked }: { picked: (what: string) => void }) {
  return (
    <Popover label="Ways" button="Open">
      {(close) => <Levels picked={(what) => { picked(what); close(); }} />}
    </Popover>
  );
}

function Levels({ picked }: { picked: (what: string) => void }) {
  const [level, setLevel] = useState(0);
  if (level) return <Menu label="second"><Item act={() => picked("inner")}>inner</Item></Menu>;
  return <Menu label="first"><Item act={() => setLevel(1)}>deeper</Item></Menu>;
}

function Root(props: { picked: (what: string) => void; gone?: boolean }) {
  let root: HTMLElement | null = null;
  useEffect(() => (root ? keepFocus(root) : undefined), []);
  return <main tabIndex={-1} ref={(element) => void (root = element)}><Nested picked={props.picked} />{!props.gone && <button type="button">here</button>}</main>;
}

describe("the focus", () => {
  it("moves to the entries that replace the pressed one, and a notebook that takes it closes no menu", async () => {
    const picked: string[] = [];
    const { getByText, getByRole, container } = render(<><div tabIndex={0} id="notebook" /><Root picked={(what) => picked.push(what)} /></>);
    fireEvent.click(getByRole("button", { name: "Open" }));
    await tick();
    fireEvent.pointerDown(getByText("deeper"));
    container.querySelector<HTMLElement>("#notebook")?.focus(); // as JupyterLab does on a press
    fireEvent.click(getByText("deeper"));
    await tick();
    expect(getByText("inner")).toBeTruthy();
    fireEvent.pointerDown(getByText("inner"));
    fireEvent.click(getByText("inner"));
    expect(picked).toEqual(["inner"]);
  });

  it("goes to the closest part that remains", async () => {
    const { getByText, container, rerender } = render(<Root picked={() => {}} />);
    getByText("here").focus();
    rerender(<Root picked={() => {}} gone />);
    await tick();
    expect(document.activeElement).toBe(container.querySelector("main"));
  });

  it("is left alone once the user has pressed elsewhere", async () => {
    const { getByText, container, rerender } = render(<><div id="else" /><Root picked={() => {}} /></>);
    getByText("here").focus();
    fireEvent.pointerDown(container.querySelector("#else")!);
    rerender(<><div id="else" /><Root picked={() => {}} gone /></>);
    await tick();
    expect(document.activeElement).toBe(document.body);
  });
});

describe("the folded header", () => {
  const body = '    return 1.0 if "a" in thread.completion() else 0.0\n';
  it.each([
    ["from __future__ import annotations\n\nimport re\n\nasync def grade(thread):\n", "grade"],
    ["import re\n\n\ndef rule(\n    thread,\n    x=1,\n) -> float:  # one\n", "rule"],
  ])("is everything above the body", (header, name) => {
    expect(headerOf(header + body)).toEqual({ to: header.length - 1, name });
  });

  it.each(["async def grade(thread):\n", "import re\nX = 1\nasync def grade(thread):\n", "import re\n\n\n\n", "{\n\n\n}\n"])("is nothing in %j", (header) => {
    expect(headerOf(header + body)).toBeNull();
  });

  it.each([
    ["at the end of it", (text: string) => text.length, 1],
    ["in its header", () => 3, 0],
  ])("is folded in a pasted text whose cursor is %s", (_, cursor, folds) => {
    const text = `from __future__ import annotations\n\nimport re\n\nasync def grade(thread):\n${body}`;
    const before = EditorState.create({ doc: "old", extensions: [folding] });
    const after = before.update({ changes: { from: 0, to: 3, insert: text }, selection: { anchor: cursor(text) } }).state;
    expect(foldedRanges(after).size).toBe(folds);
  });
});
