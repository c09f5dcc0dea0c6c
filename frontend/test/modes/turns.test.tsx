import { describe, expect, it } from "vitest";
import { withCompletion } from "../../src/modes/parts/Turns.tsx";
import type { Turn } from "../../src/protocol.ts";

const turn = (role: string): Turn => ({ role, text: [["text", ""]], part: role, more: 0, calls: [] });

describe("the turns of a row", () => {
  it("end with its completion, an empty one if it has none", () => {
    expect(withCompletion([turn("prompt")]).map(({ role, text }) => [role, text.length])).toEqual([["prompt", 1], ["completion", 0]]);
    const whole = [turn("prompt"), turn("completion")];
    expect(withCompletion(whole)).toBe(whole);
  });
});
