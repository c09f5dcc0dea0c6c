import { render } from "@testing-library/preact";
import { describe, expect, it } from "vitest";
import { renderable } from "../src/Rendered.tsx";

const drawn = (text: string, more = 0) => render(<div>{renderable([[text, ""]], more)}</div>).container.firstElementChild as HTMLElement;

describe("a rendered text", () => {
  it("has headings, lists, tables, code and emphasis", () => {
    const root = drawn("# One\n\n**two** `three`\n\n- four\n- [x] five\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n```py\nx = 1\n```\n");
    expect(root.querySelector(".h1")?.textContent).toBe("One");
    expect(root.querySelector("strong")?.textContent).toBe("two");
    expect([...root.querySelectorAll("li")].map((item) => item.textContent)).toEqual(["four", "☑ five"]);
    expect(root.querySelectorAll("td")).toHaveLength(2);
    expect(root.querySelector("pre")?.textContent).toBe("x = 1");
  });

  it.each([
    "**a** <img src=x onerror=alert(1)><script>alert(1)</script>",
    "# h\n\n<svg/onload=alert(1)>\n\n<iframe src=javascript:alert(1)></iframe>",
    "[click](javascript:alert(1)) **b** ![i](http://elsewhere/x.png)",
    "`<b>` **c** <a href=javascript:alert(1)>d</a>",
  ])("contains no markup of the text: %s", (text) => {
    const root = drawn(text);
    expect(root.querySelector("img, script, svg, iframe, a, [onerror], [onload], [href], [src]")).toBeNull();
    expect(root.textContent).toContain(text.includes("<") ? "<" : "click");
  });

  it("is indented JSON, unless a number would change", () => {
    expect(drawn('{"a": [1, 2]}').querySelector("pre")?.textContent).toBe('{\n  "a": [\n    1,\n    2\n  ]\n}');
    expect(drawn('{"a": 12345678901234567890}').innerHTML).toBe("");
  });

  it.each(["plain text", "2 * 3 * 4", "{not json", "a_b_c", "5 - 3"])("stays as it is: %s", (text) => {
    expect(drawn(text).innerHTML).toBe("");
  });

  it("stays as it is if it is incomplete, marked or long", () => {
    expect(drawn("**a**", 5).innerHTML).toBe("");
    expect(renderable([["**a**", "new"]], 0)).toBeNull();
    expect(renderable([["**a** ".repeat(5_000), ""]], 0)).toBeNull();
  });

  it("keeps the marks of what was found", () => {
    const root = render(<div>{renderable([["# Sum\n\n**", ""], ["12", "found"], ["** of `", ""], ["12", "found"], ["`", ""]], 0)}</div>).container;
    expect([...root.querySelectorAll("mark")].map((mark) => mark.textContent)).toEqual(["12", "12"]);
    expect(root.querySelector("strong mark")).not.toBeNull();
  });

  it.each([
    '{"role": "assistant", "content": "One moment", "tool_calls": [{"id": "1", "type": "function", "function": {"name": "add", "arguments": "{\\"a\\": 1}"}}]}',
    '[{"type": "tool_use", "id": "1", "name": "add", "input": {"a": 1}}]',
    '{"name": "add", "arguments": {"a": 1}}',
  ])("shows calls of tools by name: %s", (text) => {
    const root = drawn(text);
    expect(root.querySelector(".called b")?.textContent).toBe("add");
    expect(root.querySelector(".called pre")?.textContent).toBe('{\n  "a": 1\n}');
    expect(root.textContent?.includes("One moment")).toBe(text.includes("One moment"));
  });

  it("is JSON if a part of it is no call", () => {
    expect(drawn('[{"name": "add", "arguments": {}}, {"name": "Ann"}]').querySelector(".called")).toBeNull();
    expect(drawn('{"total": 3, "tool_calls": [{"name": "add", "arguments": {}}]}').querySelector(".json")).not.toBeNull();
  });

  it.each([
    '{"name": "Ann", "arguments": "pro and con", "verdict": "accept"}',
    '{"name": "Ann", "arguments": "pro and con", "id": 7}',
    '{"type": "person", "name": "Ann", "arguments": "pro and con"}',
    '{"name": "Ann", "arguments": "pro", "input": "con"}',
    '{"name": "Ann", "function": {"name": "add", "arguments": "{}"}}',
    '{"function": {"name": "add", "arguments": "{}", "note": "why"}}',
    '[{"type": "tool_use", "id": "1", "name": "add", "input": {}, "note": "why"}]',
    '{"content": [{"type": "text", "text": "I refuse"}], "tool_calls": [{"name": "add", "arguments": {}}]}',
    '{"refusal": "I cannot", "tool_calls": [{"name": "add", "arguments": {}}]}',
    '{"content": {"text": "I refuse"}, "tool_calls": [{"name": "add", "arguments": {}}]}',
  ])("is JSON if a field would not be shown with the call: %s", (text) => {
    const root = drawn(text);
    expect(root.querySelector(".called")).toBeNull();
    expect(JSON.parse(root.querySelector(".json")?.textContent ?? "")).toEqual(JSON.parse(text));
  });

  it.each(["null", '""'])("shows calls of a message whose refusal and content are %s", (empty) => {
    const call = '{"index": 0, "id": "1", "type": "function", "function": {"name": "add", "arguments": "{}"}}';
    const root = drawn(`{"role": "assistant", "content": ${empty}, "refusal": ${empty}, "tool_calls": [${call}]}`);
    expect(root.querySelector(".called b")?.textContent).toBe("add");
  });

  it("shows the headers of an e-mail apart from its body", () => {
    const root = drawn("From: a@example.org\nBetreff: Invoice\n\nDear Ann,\n\nall is well.");
    expect([...root.querySelectorAll("dt")].map((name) => name.textContent)).toEqual(["From", "Betreff"]);
    expect(root.querySelector(".words")?.textContent).toBe("Dear Ann,\n\nall is well.");
    expect(drawn("To: be or not\nthat is the question").innerHTML).toBe("");
  });

  it("of many nested lists and quotes is drawn to a depth", () => {
    expect(drawn("> ".repeat(4_900)).innerHTML).toBe("");
    expect(drawn(`${"> ".repeat(200)}**deep**`).textContent).toContain("deep");
  });
});
