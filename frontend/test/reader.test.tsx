import { fireEvent } from "@testing-library/preact";
import { describe, expect, it } from "vitest";
import { LongText } from "../src/LongText.tsx";
import { NODE, Pieces } from "../src/Pieces.tsx";
import { Rows } from "../src/Rows.tsx";
import { settle, show, showApp } from "./helpers.tsx";
import { HOSTILE, readerData, turn } from "./rows.ts";

describe("the reader", () => {
  it("shows turns with their roles, the reference, and marks in the completion", () => {
    const { container } = show(<Rows />);
    const text = container.querySelector(".reader .text") as Element;
    expect([...text.querySelectorAll(".role")].map((each) => each.textContent)).toEqual(["prompt", "completion", "expected", "metadata"]);
    expect(text.querySelector("mark")?.textContent).toBe("212");
  });

  it("shows tool calls with their arguments", () => {
    const call = { name: "search", arguments: [['{"q": 1}', ""]] as [string, ""][], part: "call", more: 0 };
    const { getByText } = show(<Rows />, { reader: readerData({ turns: [turn("assistant", "", { calls: [call] })] }) });
    expect(getByText("search")).toBeTruthy();
    expect(getByText('{"q": 1}')).toBeTruthy();
  });

  it("labels the row by its buttons, and a second press takes the label away", () => {
    const { model, getByRole } = show(<Rows />);
    fireEvent.click(getByRole("button", { name: "good" }));
    fireEvent.click(getByRole("button", { name: "bad" }));
    expect(model.done("label_row").map(({ row, value }) => [row, value])).toEqual([[102, true], [102, null]]);
  });

  it("labels the row by the keys 1 and 0, and not while the user types", () => {
    const { model, container, getByRole } = showApp();
    fireEvent.keyDown(getByRole("searchbox"), { key: "1" });
    fireEvent.keyDown(container.querySelector(".cm-content") as Element, { key: "1" });
    expect(model.done("label_row")).toHaveLength(0);
    fireEvent.keyDown(getByRole("grid"), { key: "1" });
    fireEvent.keyDown(container.querySelector(".reader .text") as Element, { key: "0" });
    expect(model.done("label_row").map(({ value }) => value)).toEqual([true, false]);
  });

  it("goes to the next row", async () => {
    const { model, getByRole } = show(<Rows />);
    await settle(() => fireEvent.click(getByRole("button", { name: "next row" })));
    expect(model.done("select")[0]).toMatchObject({ row: 103 });
  });

  it("folds a judge's whole reply, as text", () => {
    const { container } = show(<Rows />);
    expect(container.querySelector("details.raw .words")?.textContent).toBe(HOSTILE);
  });
});

describe("a long text", () => {
  const long = <LongText row={1} part="answer" text={[["😀".repeat(5), ""]]} more={20} />;

  it("shows its next piece from where the kernel counts, once", async () => {
    const { model, getByRole, container } = show(long);
    const next = getByRole("button", { name: /next piece/ });
    fireEvent.click(next);
    expect(model.asked("piece")[0]).toMatchObject({ row: 1, part: "answer", start: 5 });
    await settle(() => model.answer(model.asked("piece")[0]!, { text: [["second", ""]], start: 5, stop: 25, total: 25 }));
    expect(container.textContent).toContain("second");
    expect(container.querySelector(".next-piece")).toBeNull();
  });

  it("finds words inside, and moves to the next match", async () => {
    const { model, getByRole, getByText } = show(long);
    const field = getByRole("textbox");
    fireEvent.input(field, { target: { value: "x" } });
    fireEvent.keyDown(field, { key: "Enter" });
    expect(model.asked("find")[0]).toMatchObject({ text: "x", nth: 0 });
    await settle(() => model.answer(model.asked("find")[0]!, { text: [["x", "found"]], start: 3, stop: 9, total: 25, count: 2, nth: 0 }));
    expect(getByText("1 of 2")).toBeTruthy();
    fireEvent.click(getByRole("button", { name: "next match" }));
    expect(model.asked("find")[1]).toMatchObject({ nth: 1 });
  });

  it("shows that a piece could not be read", async () => {
    const { model, getByRole } = show(long);
    fireEvent.click(getByRole("button", { name: /next piece/ }));
    const [message] = model.asked("piece");
    await settle(() => model.message({ page: message!.page, reply: message!.id, problem: "gone" }));
    expect(getByRole("alert").textContent).toContain("Could not read");
  });

  it("is never one node of more than 8,000 characters", () => {
    const { container } = show(<Pieces pieces={[["a".repeat(3 * NODE + 1), ""]]} />);
    const lengths = [...container.querySelectorAll("span")].map((each) => each.textContent?.length);
    expect(lengths).toEqual([NODE, NODE, NODE, 1]);
  });
});

describe("pieces", () => {
  it("show line ends in a cell as a quiet sign, and what is gone and new as such", () => {
    const { container } = show(<Pieces quiet pieces={[["a\n\nb", ""], ["c", "gone"], ["d", "new"]]} />);
    expect(container.textContent).toBe("a ↵ bcd");
    expect(container.querySelector(".d-del")?.textContent).toBe("c");
    expect(container.querySelector(".d-add")?.textContent).toBe("d");
  });

  it("changes the tags of the row", async () => {
    const { model, getByLabelText, getByRole } = show(<Rows />, { reader: readerData({ tags: ["rude"] }) });
    const field = getByLabelText("add a tag") as HTMLInputElement;
    fireEvent.focus(field);
    fireEvent.input(field, { target: { value: " too long " } });
    fireEvent.submit(field.form as HTMLFormElement);
    expect(model.done("tag_row")[0]).toMatchObject({ row: 102, tags: ["rude", "too long"] });
    fireEvent.click(getByRole("button", { name: "remove the tag rude" }));
    expect(model.done("tag_row")[1]).toMatchObject({ tags: [] });
  });
});
