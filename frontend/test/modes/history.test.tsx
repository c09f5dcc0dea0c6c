import { cleanup, fireEvent, screen } from "@testing-library/preact";
import { afterEach, describe, expect, it } from "vitest";
import { broughtBack, History } from "../../src/modes/History.tsx";
import { before } from "../../src/modes/parts/Versions.tsx";
import type { HistoryData } from "../../src/protocol.ts";
import { flaws, show } from "./fake.tsx";
import { history, HOSTILE } from "./fixtures.ts";

afterEach(cleanup);

const open = (data: HistoryData | null) => show(History, { history: data });

describe("versions", () => {
  it("selected in the table are the newer side; the older side remains while it is older", () => {
    const { model } = open(history());
    fireEvent.click(screen.getByLabelText(/^v2,/));
    fireEvent.click(screen.getByLabelText(/^v1,/));
    expect(model.done("version").map(({ from, to }) => [from, to])).toEqual([["v1", "v2"], ["v1", "v1"]]);
  });

  it("have the version before on the older side where that was newer", () => {
    const { versions } = history();
    expect([before(versions, "v2", "v3"), before(versions, "v3", "v2"), before(versions, "v1", "v3")]).toEqual(["v1", "v2", "v1"]);
  });

  it("can be set on both sides", () => {
    const { model } = open(history());
    fireEvent.change(screen.getByLabelText("Older version"), { target: { value: "v2" } });
    fireEvent.change(screen.getByLabelText("Newer version"), { target: { value: "v2" } });
    expect(model.done("version").map(({ from, to }) => [from, to])).toEqual([["v2", "v3"], ["v1", "v2"]]);
  });

  it("are restored: the older side of the newest, else the selected one", () => {
    const { model } = open(history());
    fireEvent.click(screen.getByText("Restore v1"));
    expect(model.done("bring")[0]?.version).toBe("v1");
    expect(broughtBack(history({ from: "v1", to: "v2" }))?.id).toBe("v2");
    expect(broughtBack(history({ from: "v3", to: "v3" }))).toBeUndefined();
  });

  it("are compared on rows in the mode for that", () => {
    const { model } = open(history());
    fireEvent.click(screen.getByText("Compare on rows"));
    expect(model.done("mode")[0]?.mode).toBe("compare");
  });
});

describe("what is shown", () => {
  it("shows the shares of every version with interval and limit", () => {
    open(history());
    const spark = screen.getByRole("img", { name: /^known bad, accepted, limit 5 %: v1 17.2 % \(95 % interval 13.3 % to 22.1 %\)/ });
    expect(spark.querySelectorAll("circle")).toHaveLength(3);
  });

  it("draws a point without an interval", () => {
    const spark = { title: "known bad, accepted", limit: 0.05, good: false, points: [{ text: "v1", value: 0.1, lo: null, hi: null }] };
    open(history({ sparks: [spark] }));
    expect(screen.getByRole("img").querySelectorAll(".band")).toHaveLength(0);
  });

  it("marks added and removed lines by sign and text", () => {
    const { root } = open(history());
    expect(root.querySelector(".plus")?.textContent).toBe("+added: import re");
    expect(root.querySelectorAll(".minus")).toHaveLength(1);
  });

  it("shows separate lines muted", () => {
    open(history({ rest: " 30 are refused.\nNot settled by these rows." }));
    expect(screen.getByText("Not settled by these rows.").className).toBe("mute");
  });

  it("lists the runs of this dataset with each grader's verdict", () => {
    const { root } = open(history());
    const rows = [...root.querySelectorAll(".runs tbody tr")].map((row) => row.textContent);
    expect(rows[0]).toBe("24 Nov, 09:41500not settled0.52too strict0.13");
    expect(rows[2]).toBe("23 Nov, 17:02500too lenient0.52–");
  });

  it("shows the next step without saved versions, and without stored runs", () => {
    open(history({ versions: [], runs: [] }));
    expect(screen.getByText(/save it/)).toBeTruthy();
    expect(screen.getByText(/No run of these rows is stored yet/)).toBeTruthy();
  });
});

it("hostile texts stay texts", () => {
  const [version] = history().versions;
  const { root } = open(history({ lead: HOSTILE, versions: [{ ...version!, line: HOSTILE }], diff: [{ kind: "+", text: HOSTILE }] }));
  expect(root.querySelector("img, script")).toBeNull();
  expect(root.querySelector(".diff")?.textContent).toContain(HOSTILE);
});

it.each([["versions", history()], ["no version", history({ versions: [], runs: [] })], ["nothing", null]])("no flaw for a screen reader with %s", async (_, data) => {
  const { root } = open(data);
  expect(await flaws(root)).toEqual([]);
});
