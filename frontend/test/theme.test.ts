import { afterEach, describe, expect, it, vi } from "vitest";
import { themeOf } from "../src/theme.ts";

afterEach(() => {
  vi.restoreAllMocks();
  document.body.replaceChildren();
});

/** An element on a page of some colour, as a browser computes it. */
function on(colour: string): Element {
  const page = document.body.appendChild(document.createElement("div"));
  const element = page.appendChild(document.createElement("div"));
  const computed = (each: Element) => ({ backgroundColor: each === page ? colour : "rgba(0, 0, 0, 0)", colorScheme: "normal" });
  vi.spyOn(window, "getComputedStyle").mockImplementation((each) => computed(each) as unknown as CSSStyleDeclaration);
  return element;
}

/** A canvas on which everything has one colour. */
function drawing(...pixel: number[]): void {
  const context = { fillRect: () => undefined, getImageData: () => ({ data: pixel }) };
  vi.spyOn(HTMLCanvasElement.prototype, "getContext").mockImplementation(() => context as unknown as null);
}

describe("the theme", () => {
  it("is that of the first colour below the view", () => {
    expect(themeOf(on("rgb(255, 255, 255)"))).toBe("light");
    expect(themeOf(on("rgb(17, 17, 17)"))).toBe("dark");
    expect(themeOf(on("rgba(17, 17, 17, 0.1)"))).toBe("light");
  });

  it("is found in any colour space: small numbers are not dark", () => {
    drawing(252, 252, 253, 255);
    expect(themeOf(on("oklch(0.99 0.002 247)"))).toBe("light");
    drawing(20, 20, 22, 255);
    expect(themeOf(on("oklch(0.2 0.002 247)"))).toBe("dark");
    drawing(0, 0, 0, 0);
    expect(themeOf(on("color(srgb 0 0 0 / 0)"))).toBe("light");
  });
});
