import { fireEvent } from "@testing-library/preact";
import { describe, expect, it } from "vitest";
import { Bar } from "../src/Bar.tsx";
import { GraderLine } from "../src/GraderLine.tsx";
import { Rail } from "../src/Rail.tsx";
import { set, show } from "./helpers.tsx";
import { counts, fullState, HOSTILE, line } from "./state.ts";

describe("a bar", () => {
  it("gives its counts as text and draws a segment for each that is not zero", () => {
    const { getByRole, container } = show(<Bar counts={counts({ good_accepted: 210, bad_accepted: 50, bad_refused: 240 })} />);
    expect(getByRole("img").getAttribute("aria-label")).toBe("210 known good, accepted, 50 known bad, accepted, 240 known bad, rejected");
    expect([...container.querySelectorAll(".seg")].map((each) => each.className)).toEqual(["seg good_accepted", "seg bad_accepted", "seg bad_refused"]);
  });

  it("gives each segment the width of its rows", () => {
    const { container } = show(<Bar counts={counts({ good_accepted: 3, good_refused: 1, failed: 2 })} />);
    expect([...container.querySelectorAll<HTMLElement>(".bar > span")].map((each) => each.style.flex)).toEqual(["4 1 0px", "2 1 0px"]);
    expect([...container.querySelectorAll<HTMLElement>(".seg")].map((each) => each.style.flexGrow)).toEqual(["3", "1", "2"]);
  });
});

describe("a grader's line", () => {
  const full = fullState().rail.lines[0] ?? line("none");

  it("shows the verdict with its tip and the mean with its interval", () => {
    const { getByText, container } = show(<GraderLine line={full} chosen={false} />);
    expect(getByText("too lenient").closest("[title]")?.getAttribute("title")).toBe("Accepts 50 of 290 known-bad rows.");
    expect(container.querySelector(".mean")?.textContent).toBe("0.52 0.48–0.56");
  });

  it("shows why there is no verdict", () => {
    const { container } = show(<GraderLine line={line("judge", { say: "judge, waits for Run" })} chosen={false} />);
    expect(container.querySelector(".say")?.textContent).toBe("judge, waits for Run");
    expect(container.querySelector(".bar")).toBeNull();
  });

  it("keeps the bar of before an edit as a thin one", () => {
    const { container } = show(<GraderLine line={{ ...full, was: counts({ good_accepted: 1 }) }} chosen />);
    expect(container.querySelectorAll(".bar.was .seg")).toHaveLength(1);
  });

  it("shows the mean without an interval if there is none", () => {
    const { container } = show(<GraderLine line={{ ...full, mean: { value: 1, lo: null, hi: null } }} chosen={false} />);
    expect(container.querySelector(".mean")?.textContent).toBe("1.00");
  });

  it("is chosen by a click on it, and its tick does not choose it", () => {
    const { model, getByRole, container } = show(<GraderLine line={full} chosen={false} />);
    fireEvent.click(getByRole("checkbox"));
    expect(model.done("choose")).toHaveLength(0);
    expect(model.done("tick")[0]).toMatchObject({ name: "contains_number", on: false });
    fireEvent.click(container.querySelector(".bar") as Element);
    expect(model.done("choose")[0]).toMatchObject({ name: "contains_number" });
  });
});

describe("the rail", () => {
  it("keeps drafts apart, which cannot be ticked", () => {
    const { getByText, getByRole } = show(<Rail />);
    expect(getByText("Drafts: never run, never exported")).toBeTruthy();
    expect((getByRole("checkbox", { name: "same_as_reference: part of the run" }) as HTMLInputElement).disabled).toBe(true);
  });

  it("goes to the next grader by an arrow key", () => {
    const { model, getByRole } = show(<Rail />);
    const first = getByRole("button", { name: "contains_number" });
    first.focus();
    fireEvent.keyDown(first, { key: "ArrowDown" });
    expect(model.done("choose")[0]).toMatchObject({ name: "last_number" });
  });

  it("offers to put back what was removed", async () => {
    const { model, getByRole } = show(<Rail />);
    await set(model, { rail: { ...fullState().rail, removed: "old" } });
    fireEvent.click(getByRole("button", { name: "Restore old" }));
    expect(model.done("restore")).toHaveLength(1);
  });

  it("adds a template by two clicks", () => {
    const { model, getByRole } = show(<Rail />);
    fireEvent.click(getByRole("button", { name: "Add a grader" }));
    fireEvent.click(getByRole("menuitem", { name: "A template…" }));
    fireEvent.click(getByRole("menuitem", { name: `A pattern${HOSTILE}` }));
    expect(model.done("add")[0]).toMatchObject({ name: "pattern", text: "import re\n" });
  });

  it("opens the browser's dialog for files", () => {
    const { view, getByRole } = show(<Rail />);
    let opened = 0;
    view.files.choose = () => void (opened += 1);
    fireEvent.click(getByRole("button", { name: "Add a grader" }));
    fireEvent.click(getByRole("menuitem", { name: "A file…" }));
    expect(opened).toBe(1);
  });

  it("is folded in other modes than Grade where the view is narrow, until it is asked for", async () => {
    const { model, getByRole, queryByRole, container } = show(<Rail />);
    expect(queryByRole("button", { name: "Show" })).toBeNull();
    await set(model, { mode: "label" });
    expect(container.querySelector(".rail.folded")).not.toBeNull();
    fireEvent.click(getByRole("button", { name: "Show" }));
    expect(container.querySelector(".rail.folded")).toBeNull();
    expect(getByRole("button", { name: "Hide" }).getAttribute("aria-expanded")).toBe("true");
  });

  it("shows one hue in its key where there are no labels", () => {
    const { container } = show(<Rail />, { rail: { ...fullState().rail, has_labels: false } });
    expect([...container.querySelectorAll(".legend .seg")].map((each) => each.className)).toEqual(["seg accepted", "seg refused", "seg failed", "seg skipped"]);
  });
});
