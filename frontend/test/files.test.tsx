import { act, fireEvent } from "@testing-library/preact";
import axe from "axe-core";
import { describe, expect, it, vi } from "vitest";
import { PIECE } from "../src/files.ts";
import type { Opened } from "../src/protocol.ts";
import type { FakeModel } from "./fake.ts";
import { settle, set, showApp } from "./helpers.tsx";
import { HOSTILE } from "./state.ts";

const opened = (part: Partial<Opened> = {}): Opened => ({
  reading: "", files: [{ name: "rows.csv", text: "rows.csv: rows", notes: ["8 rows"], problem: "" }], hidden: "",
  offer: { rows: 8, now: 960, extends: true, why: "" }, used: "", undo: "", ...part,
});

/** The kernel takes every piece that arrives. */
async function takePieces(model: FakeModel): Promise<void> {
  const taken = new Set<number>();
  await vi.waitFor(async () => {
    for (const message of model.asked("file_piece")) {
      if (taken.has(message.id)) continue;
      taken.add(message.id);
      await act(async () => model.answer(message, 1));
    }
    expect(model.done("open_files")).toHaveLength(1);
  }, { timeout: 10_000 });
}

const drag = (files: unknown[]) => ({ dataTransfer: { types: ["Files"], files, dropEffect: "" } });

describe("files", () => {
  it("are sent in pieces in base64, then opened", async () => {
    const { model, container } = showApp();
    const app = container.querySelector("main") as HTMLElement;
    const text = "x".repeat(PIECE + 3);
    fireEvent.drop(app, drag([new File([text], "long.txt"), new File(["a,b"], "b.csv")]));
    await takePieces(model);
    const pieces = model.asked("file_piece");
    expect(pieces.map(({ name, start }) => [name, start])).toEqual([["long.txt", 0], ["long.txt", PIECE], ["b.csv", 0]]);
    expect(atob(String(pieces[1]?.data))).toBe("xxx");
    expect(model.done("open_files")[0]).toMatchObject({ upload: pieces[0]?.upload, files: [{ name: "long.txt", size: PIECE + 3, problem: "" }, { name: "b.csv", size: 3, problem: "" }] });
  });

  it("show where they can be dropped, and drops of other things are left alone", () => {
    const { container } = showApp();
    const app = container.querySelector("main") as HTMLElement;
    expect(fireEvent.dragEnter(app, drag([]))).toBe(false);
    expect(container.querySelector(".drop-here")).not.toBeNull();
    fireEvent.dragLeave(app, drag([]));
    expect(container.querySelector(".drop-here")).toBeNull();
    expect(fireEvent.drop(app, { dataTransfer: { types: ["text/plain"], files: [] } })).toBe(true);
  });

  it("that the browser cannot read are told as such", async () => {
    const { model, container } = showApp();
    const folder = { name: "folder", size: 4096, slice: () => { throw new DOMException("no", "NotFoundError"); } };
    fireEvent.drop(container.querySelector("main") as HTMLElement, drag([folder]));
    await takePieces(model);
    expect(model.done("open_files")[0]).toMatchObject({ files: [{ name: "folder", problem: "NotFoundError" }] });
  });

  it("that are too large are not sent, and the kernel says so", async () => {
    const { model, container } = showApp();
    fireEvent.drop(container.querySelector("main") as HTMLElement, drag([{ name: "big", size: 2e8, slice: () => new Blob() }]));
    await takePieces(model);
    expect(model.asked("file_piece")).toHaveLength(0);
    expect(model.done("open_files")[0]).toMatchObject({ files: [{ name: "big", size: 2e8 }] });
  });

  it("stop being sent on Cancel", async () => {
    const { model, view, getByText } = showApp();
    void view.files.send([new File(["x".repeat(PIECE * 2)], "long.txt")]);
    await vi.waitFor(() => expect(model.asked("file_piece")).toHaveLength(1));
    await settle();
    fireEvent.click(getByText("Cancel"));
    expect(model.done("cancel_files")).toHaveLength(1);
    await act(async () => model.answer(model.asked("file_piece")[0]!, 1));
    await settle();
    expect(model.asked("file_piece")).toHaveLength(1);
    expect(model.done("open_files")).toHaveLength(0);
  });

  it("chosen in the dialog are sent, too", async () => {
    const { model, getByLabelText } = showApp();
    const field = getByLabelText("files of graders or rows") as HTMLInputElement;
    Object.defineProperty(field, "files", { value: [new File(["{}"], "g.json")] });
    fireEvent.change(field);
    await takePieces(model);
    expect(model.done("open_files")[0]).toMatchObject({ files: [{ name: "g.json", size: 2 }] });
  });

  it("offer their rows, with the focus on the choice", async () => {
    const { model, getByRole } = showApp({ files: opened() });
    expect(document.activeElement).toBe(getByRole("button", { name: "Replace the rows" }));
    fireEvent.click(getByRole("button", { name: "Add the rows" }));
    expect(model.done("use_rows")[0]).toMatchObject({ how: "extend" });
    await set(model, { files: opened({ offer: null, used: "extend", undo: "restore the 960 rows before" }) });
    fireEvent.click(getByRole("button", { name: "Undo" }));
    expect(model.done("undo_opening")).toHaveLength(1);
    fireEvent.click(getByRole("button", { name: "dismiss the opened files" }));
    expect(model.done("close_opening")).toHaveLength(1);
  });

  it("that cannot be used say why", () => {
    const bad = { name: "x", text: HOSTILE, notes: [], problem: HOSTILE };
    const { container } = showApp({ files: opened({ files: [bad], offer: { rows: 0, now: 0, extends: false, why: "not here" } }) });
    expect(container.querySelector(".opened")?.textContent).toContain("not here");
    expect(container.querySelector(".opened img")).toBeNull();
    expect(container.querySelector(".opened .btn.main")).toBeNull();
  });

  it("have nothing that a screen reader stumbles over", async () => {
    const { container } = showApp({ files: opened({ undo: "remove 1 grader of the file" }) });
    const { violations } = await axe.run(container, { rules: { "color-contrast": { enabled: false } } });
    expect(violations).toEqual([]);
  });
});
