import { fireEvent } from "@testing-library/preact";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { lengthOf, plotOf, ticks } from "../src/axes.ts";
import { Finding } from "../src/Finding.tsx";
import { Scores } from "../src/Scores.tsx";
import { REST } from "../src/slider.ts";
import { settle, show, showApp } from "./helpers.tsx";
import { chosenData, counts, fullState, manyScores, twoScores } from "./state.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

describe("a finding", () => {
  it("leads to its rows by its number", () => {
    const finding = chosenData().finding!;
    const { model, getByRole } = show(<Finding finding={finding} />);
    fireEvent.click(getByRole("button", { name: "50 of 290 known-bad answers" }));
    expect(model.done("look")[0]?.where).toEqual(finding.where);
  });

  it("gives its interval and limit to a screen reader", () => {
    const { getByRole } = show(<Finding finding={chosenData().finding!} />);
    expect(getByRole("img").getAttribute("aria-label")).toBe("17.2 %, 95 % interval 13.3 to 22.1 %, limit 5 %");
  });

  it("names a one-sided bound as such", () => {
    const finding = chosenData().finding!;
    const { container } = show(<Finding finding={{ ...finding, strip: { ...finding.strip!, interval_name: "95 % bound", interval_text: "3.1 %" } }} />);
    expect(container.querySelector(".val")?.textContent).toBe("17.2 %, 95 % bound 3.1 %");
    expect(container.querySelector(".val .term")?.getAttribute("title")).toContain("one-sided");
  });

  it("has no link without evidence rows", () => {
    const { queryByRole } = show(<Finding finding={{ ...chosenData().finding!, where: null, strip: null }} />);
    expect(queryByRole("button")).toBeNull();
  });

  it("lets its limit be moved by keys, sent once they rest", async () => {
    const { model, getByRole } = show(<Finding finding={chosenData().finding!} />);
    const limit = getByRole("slider", { name: "limit" });
    await settle(() => fireEvent.keyDown(limit, { key: "ArrowRight" }));
    await settle(() => fireEvent.keyDown(limit, { key: "ArrowRight" }));
    expect(model.done("limit")).toHaveLength(0);
    vi.advanceTimersByTime(REST);
    expect(model.done("limit")).toMatchObject([{ kind: "lenient", value: 0.07 }]);
  });
});

describe("scores with few values", () => {
  it("lead to their rows by label and score", () => {
    const { model, getByRole } = show(<Scores scores={twoScores()} grader="g" />);
    fireEvent.click(getByRole("button", { name: "50 known bad: show them" }));
    expect(model.done("look")[0]?.where).toEqual([{ label: false }, { grader: "g", score: [1, 1] }]);
  });

  it("lead by score alone where nothing is labelled", () => {
    const scores = twoScores({ has_labels: false, values: [{ value: 1, counts: counts({ accepted: 5 }) }] });
    const { model, getByRole } = show(<Scores scores={scores} grader="g" />);
    fireEvent.click(getByRole("button", { name: "5 unlabelled: show them" }));
    expect(model.done("look")[0]?.where).toEqual([{ grader: "g", score: [1, 1] }]);
  });

  it("put the pass threshold between what is accepted and what is rejected", () => {
    const { container } = show(<Scores scores={twoScores()} grader="g" />);
    const order = [...container.querySelectorAll(".lab, .pass")].map((each) => each.textContent);
    expect(order).toEqual(["1 accepted", "threshold 0.5", "0 rejected"]);
  });

  it("have no pass threshold if the grader returns a verdict itself", () => {
    const { queryByRole } = show(<Scores scores={twoScores({ pass_threshold: null })} grader="g" />);
    expect(queryByRole("slider")).toBeNull();
  });

  it("lead to failed rows, and not where there are none", () => {
    const { model, getByRole } = show(<Scores scores={twoScores({ failed: 3 })} grader="g" />);
    fireEvent.click(getByRole("button", { name: "3 failed" }));
    expect(model.done("look")[0]?.where).toEqual([{ grader: "g", status: "failed" }]);
    expect((getByRole("button", { name: "0 skipped" }) as HTMLButtonElement).disabled).toBe(true);
  });
});

describe("scores with many values", () => {
  it("draw good above and bad below the axis, as long as their rows", () => {
    const scores = manyScores();
    const { container } = show(<Scores scores={scores} grader="g" />);
    const plot = plotOf(scores, 398, 208);
    const heights = (part: string) => [...container.querySelectorAll(`rect.mark.${part}`)].map((each) => Number(each.getAttribute("height")));
    expect(heights("good_accepted")).toHaveLength(3);
    expect(heights("bad_accepted").at(-1)).toBeCloseTo(lengthOf(plot, 52));
    const [first] = container.querySelectorAll("rect.mark.bad_refused");
    expect(Number(first?.getAttribute("y"))).toBe(plot.zero);
  });

  it("lead from a bar to its rows", () => {
    const { model, getByRole } = show(<Scores scores={manyScores()} grader="g" />);
    fireEvent.click(getByRole("button", { name: "52 known bad with a score of 0.95 to 1: show them" }));
    expect(model.done("look")[0]?.where).toEqual([{ label: false }, { grader: "g", score: [0.95, 1] }]);
  });

  it("have one place for Tab, and arrow keys between the bars", () => {
    const { getByRole, container } = show(<Scores scores={manyScores()} grader="g" />);
    const bars = [...getByRole("group", { name: "Bars" }).querySelectorAll<HTMLElement>("[role=button]")];
    expect(bars.filter((each) => each.getAttribute("tabindex") === "0")).toHaveLength(1);
    bars[0]?.focus();
    fireEvent.keyDown(bars[0] as Element, { key: "ArrowRight" });
    expect(container.ownerDocument.activeElement).toBe(bars[1]);
  });

  it("show failed rows next to them on the same scale", () => {
    const scores = manyScores();
    const { container, model, getByRole } = show(<Scores scores={scores} grader="g" />);
    expect(Number(container.querySelector("rect.mark.failed")?.getAttribute("height"))).toBeCloseTo(lengthOf(plotOf(scores, 398, 208), 65));
    fireEvent.click(getByRole("button", { name: "65 failed: show them" }));
    expect(model.done("look")[0]?.where).toEqual([{ grader: "g", status: "failed" }]);
  });

  it("rise from the foot in one hue where nothing is labelled", () => {
    const scores = manyScores({ has_labels: false, failed: 0, failed_bad: 0, log: false, bins: [{ lo: 0, hi: 1, counts: counts({ accepted: 7 }) }] });
    const { container } = show(<Scores scores={scores} grader="g" />);
    expect(container.querySelectorAll("rect.mark")).toHaveLength(1);
    expect(container.querySelector("rect.mark.accepted")).toBeTruthy();
  });

  it("flip from hatched to solid while the pass threshold moves, which is sent when it rests", async () => {
    const state = fullState({ chosen: chosenData({ scores: manyScores() }) });
    const { model, container, getByRole } = showApp(state);
    const app = container.querySelector("main") as Element;
    for (let press = 0; press < 9; press += 1) await settle(() => fireEvent.keyDown(app, { key: "]" }));
    expect(getByRole("slider", { name: "pass threshold" }).getAttribute("aria-valuenow")).toBe("0.95");
    expect(container.querySelectorAll("rect.mark.bad_accepted")).toHaveLength(1);
    expect(model.done("pass_threshold")).toHaveLength(0);
    vi.advanceTimersByTime(REST);
    expect(model.done("pass_threshold")).toMatchObject([{ value: 0.95 }]);
  });
});

describe("the axis of rows", () => {
  it("is logarithmic or in round steps", () => {
    expect(ticks(plotOf(manyScores(), 400, 208))).toEqual([1, 10, 100]);
    expect(ticks(plotOf(manyScores({ log: false }), 400, 208))).toEqual([100]);
  });
});
