import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { afterPaint } from "../src/after_paint.ts";

describe("after the first picture", () => {
  let frames: FrameRequestCallback[] = [];
  beforeEach(() => {
    vi.useFakeTimers();
    frames = [];
    vi.stubGlobal("requestAnimationFrame", (callback: FrameRequestCallback) => frames.push(callback));
  });
  afterEach(() => {
    vi.useRealTimers();
    vi.unstubAllGlobals();
  });
  const frame = () => frames.splice(0).forEach((callback) => callback(0));

  it("acts once, in the second frame", () => {
    const action = vi.fn();
    afterPaint(action);
    frame();
    expect(action).not.toHaveBeenCalled();
    frame();
    vi.advanceTimersByTime(1_000);
    expect(action).toHaveBeenCalledTimes(1);
  });

  it("acts where no frame is drawn", () => {
    const action = vi.fn();
    afterPaint(action);
    vi.advanceTimersByTime(1_000);
    expect(action).toHaveBeenCalledTimes(1);
  });

  it("is left undone", () => {
    const action = vi.fn();
    afterPaint(action)();
    frame();
    frame();
    vi.advanceTimersByTime(1_000);
    expect(action).not.toHaveBeenCalled();
  });
});
