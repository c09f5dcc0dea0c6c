import { render } from "@testing-library/preact";
import { describe, expect, it } from "vitest";
import { Breakable } from "../src/Breakable.tsx";

const pieces = (text: string, sentence: boolean) => render(<Breakable text={text} sentence={sentence} />).container.innerHTML.split("<wbr>");

describe("where a text may break", () => {
  it("is after the signs inside a name", () => {
    expect(pieces("last_number.v2-b", false)).toEqual(["last_", "number.", "v2-", "b"]);
  });

  it("is only after the underscores of names in a sentence", () => {
    expect(pieces("only last_number: 0.5 of -3", true)).toEqual(["only last_", "number: 0.5 of -3"]);
  });
});
