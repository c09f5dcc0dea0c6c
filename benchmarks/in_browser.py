"""Latency of the app: from the key or the click until the page shows the result, in JupyterLab and Chromium.

Run it from the repository's folder, as `python -m benchmarks.in_browser [--rows 1000 10000 100000] [--rounds 5] [--edits 0]`,
with what the browser tests need. A time ends with the second frame after the result is in the page. For an edit and a search it excludes the
pause after the last key that the app waits for (0.3 s and 0.15 s); everything else is counted: the page, the transfer to the
kernel and back, grading, and drawing. The base of an edit is the time for grading the same text alone in that kernel; that of opening is the smallest anywidget; that of
a click is the time in which the page alone draws two frames. `--edits 500` also measures the kernel's memory over that number of edits of
the first number of rows: its growth after the first tenth, when caches are full.
"""

from __future__ import annotations

import argparse
import statistics
from dataclasses import dataclass

from playwright.sync_api import sync_playwright

from tests.browser.kernel import ask
from tests.browser.lab import ROOT, serve
from tests.browser.page import CHROMIUM_FLAGS, Notebook, chromium, opened
from tests.browser.walk import Walk

TEXT = """async def grade(thread):
    expected = (thread.metadata or {}).get("expected", "")
    return 1.0 if expected and expected in (thread.completion() or "")[:LIMIT] else 0.0
"""
SETUP = """
import pandas as pd
import workbench as wb

def text(limit):
    return {text!r}.replace("LIMIT", str(limit))

rows = {rows}
frame = wb.demo_samples("arithmetic").frame
frame = pd.concat([frame] * (rows // len(frame) + 1), ignore_index=True).head(rows)
frame["group"] = [f"{{group}} {{at // 960}}" for at, group in enumerate(frame["group"])]
frame["id"] = [f"row {{at}}" for at in range(rows)]
samples = wb.Samples(frame)
graders = [wb.FunctionGrader.from_source(text(10_000), name="contains"), wb.ExactMatch(name="exact")]
app = None

def read_words():
    from workbench.data.samples.row_drawing import row_words
    row_words(app.report.samples)  # as the app reads them in the background

def memory():
    import gc, pathlib
    gc.collect()
    return int(pathlib.Path("/proc/self/statm").read_text().split()[1]) * 4_096

def alone():
    import statistics, time
    grader, seconds = wb.FunctionGrader.from_source(text(39), name="alone"), []
    for _ in range(5):
        start = time.perf_counter()
        grader.run(samples, progress=False)
        seconds.append(time.perf_counter() - start)
    return statistics.median(seconds)
"""
TINY = """import anywidget
class Tiny(anywidget.AnyWidget):
    _esm = "export default { render({ el }) { el.className = 'tiny'; el.textContent = 'here'; } }"
Tiny()"""
OPEN = """app = wb.Workbench(samples, graders, labels="good", store=None)
app"""

FUNCTIONS = """() => {
window.app = () => document.querySelector('.gwb');
window.one = selector => app().querySelector(selector);
window.shown = selector => one(selector)?.innerText ?? '';
window.full = () => app() !== null && one('.grid .tr') !== null && one('.grid :is(.coming, .tr.old)') === null;
window.still = () => full() && one('.working') === null && one(':is(.answer, .outcome).old') === null;
window.found = () => still() && one(':is(.verdict, .finding).old') === null;
window.bars = () => one('.g.chosen .bar')?.ariaLabel ?? '';
window.took = (act, done) => new Promise((resolve, reject) => {
  const start = performance.now(), since = () => performance.now() - start;
  const painted = left => left ? requestAnimationFrame(() => painted(left - 1)) : resolve(since());
  const look = () => done() ? painted(2) : since() > 120_000 ? reject(new Error(`never: ${done}`)) : requestAnimationFrame(look);
  act();
  look();
});
window.opening = async (act) => {
  const start = performance.now(), since = () => performance.now() - start;
  const frame = () => new Promise(requestAnimationFrame), later = () => new Promise(resolve => setTimeout(resolve));
  act();
  while (!(app() && full())) await frame();
  await frame(), await later(); // what a frame's callbacks leave is on the screen then
  const first = since();
  while (!one('.cm-content')) await frame();
  await frame(), await frame();
  return [first, since()];
};
window.type = (field, text) => {
  Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, 'value').set.call(field, text);
  field.dispatchEvent(new InputEvent('input', {bubbles: true}));
};
}"""

LIMITS = [5, 20, 60, 10, 160, 40]
"""Each accepts other rows than the one before."""

DRAG = """() => new Promise(resolve => {
  const canvas = one('.row-map canvas'), box = canvas.getBoundingClientRect(), gaps = [];
  const move = (kind, at) => canvas.dispatchEvent(new PointerEvent(kind, {bubbles: true, pointerId: 1, clientX: box.left + 2 + at, clientY: box.top + 2 + at / 4}));
  canvas.setPointerCapture = () => undefined; // no real pointer
  move('pointerdown', 0);
  let last = performance.now();
  const next = left => requestAnimationFrame(() => {
    const now = performance.now();
    gaps.push(now - last);
    last = now;
    move('pointermove', 120 - left);
    if (left) next(left - 1);
    else { move('pointercancel', 0); resolve(gaps.slice(5).sort((a, b) => a - b)); }
  });
  next(120);
})"""
"""Milliseconds between the frames while a box is dragged over the map, sorted."""

SHOWN = ".part-rows .head .small"


MAP_ROWS = 20_000
"""Up to here all rows are on the map."""


@dataclass(frozen=True)
class Step:
    """One action of a user.

    Attributes:
        name: In the table.
        act: JavaScript that does it.
        done: JavaScript that returns whether the result is there; `before` is the earlier text of the line above the rows.
        pause: Milliseconds that the app waits after the last key, which do not count.
        before: JavaScript for the value of `before`.
    """

    name: str
    act: str
    done: str
    pause: int = 0
    before: str = f"shown('{SHOWN}')"


SORT = "one('.th [aria-sort]')?.ariaSort ?? ''"
SORTED = f"full() && ({SORT}) !== before"
CHANGED = f"full() && shown('{SHOWN}') !== before"
STEPS = [
    Step("click a finding", "one('.answer .finding .link').click()", CHANGED),
    Step("click a bar", "one('.two-val .bar button').click()", CHANGED),
    Step("open a row", "[...app().querySelectorAll('.grid .tr[aria-selected=false]')][4].click()", "shown('.reader .place') !== before", before="shown('.reader .place')"),
    Step("search words", "type(one('.part-rows input[type=search]'), 'euros')", CHANGED, pause=150),
    Step("end the search", "type(one('.part-rows input[type=search]'), '')", CHANGED, pause=150),
    Step("all rows", "one('.chip .remove').click()", CHANGED),
    Step("sort by the completion", "one('.th button').click()", SORTED, before=SORT),
    Step("sort it downwards", "one('.th button').click()", SORTED, before=SORT),
    Step("their own order", "one('.th button').click()", SORTED, before=SORT),
    Step("scroll to the middle", "one('.grid').scrollTop = one('.grid').scrollHeight / 2", "full() && +one('.grid .tr').ariaRowIndex > 20"),
    Step("scroll back", "one('.grid').scrollTop = 0", "full() && one('.grid .tr').ariaRowIndex === '2'"),
    Step("another grader", "app().querySelectorAll('.g .choose')[1].click()", "still() && shown('.mid h2.name') === 'exact'"),
    Step("and back", "app().querySelectorAll('.g .choose')[0].click()", "still() && shown('.mid h2.name') === 'contains'"),
]  # fmt: skip


def timed(notebook: Notebook, step: Step) -> float:
    """Milliseconds from the action to the painted result."""
    script = (
        f"() => {{ const before = {step.before}; return took(() => {{ {step.act} }}, () => {step.done}); }}"
    )
    return float(notebook.page.evaluate(script)) - step.pause


def edited(walk: Walk, limit: int, comment: str = "") -> tuple[float, float]:
    """Milliseconds from a changed text to its scores, and to its findings, without the pause."""
    page, text = walk.view.page, TEXT.replace("LIMIT", str(limit)) + comment
    walk.at(".mid .cm-content").focus()
    walk.press("Control+a")
    page.evaluate("() => { window.before = bars(); }")
    for name, done in (("scored", "still()"), ("diagnosed", "found()")):
        page.evaluate(f"() => {{ window.{name} = took(() => {{}}, () => bars() !== before && {done}); }}")
    page.keyboard.insert_text(text)
    return float(page.evaluate("() => window.scored")) - 300, float(
        page.evaluate("() => window.diagnosed")
    ) - 300


RUN = "window.jupyterapp.commands.execute('notebook:run-cell-and-select-next')"


def run_cell(notebook: Notebook, done: str) -> float:
    """Milliseconds from running the next cell, whose rows are in memory, to its output."""
    return float(notebook.page.evaluate(f"() => took(() => {{ {RUN}; }}, () => {done})"))


def open_app(notebook: Notebook) -> tuple[float, float]:
    """Milliseconds from running the next cell to the first picture of the app, all its rows in it, and to its editor."""
    first, whole = notebook.page.evaluate(f"() => opening(() => {{ {RUN}; }})")
    return float(first), float(whole)


def stopped(walk: Walk) -> float:
    """Milliseconds from Stop to an idle page, while a text that loops is graded."""
    slow = "import time\n\n\nasync def grade(thread):\n    for n in range(2_000_000):\n        pass\n    return 1.0\n"
    page = walk.view.page
    walk.at(".mid .cm-content").focus()
    walk.press("Control+a")
    page.keyboard.insert_text(slow)
    walk.at(".working[role=progressbar]").wait_for()
    button = "[...app().querySelectorAll('.top .btn')].find(each => each.innerText.trim() === 'Stop')"
    return float(page.evaluate(f"() => took(() => {button}.click(), () => one('.working') === null)"))


def report(name: str, milliseconds: float, note: str = "") -> None:
    print(f"{name:<24}{milliseconds:>9.0f} ms  {note}", flush=True)


def open_modes(notebook: Notebook) -> None:
    """Report the time to each mode, its data on the page: for the first time in this kernel, and again."""
    for mode in ("Export", "Label", "Compare", "History", "Try", "Grade"):
        find = f"[...app().querySelectorAll('nav.modes button')].find(each => each.textContent === '{mode}')"
        step = Step(
            "",
            f"{find}.click()",
            f"one('.mode-{mode.lower()}') !== null && one('.mode-{mode.lower()} .empty[role=status]') === null",
        )
        first = timed(notebook, step)
        timed(
            notebook,
            Step("", "app().querySelector('nav.modes button').click()", "one('.mode-grade') !== null"),
        )
        report(f"open {mode}", first, f"again {timed(notebook, step):.0f}")
    timed(
        notebook,
        Step("", "app().querySelector('nav.modes button').click()", "one('.mode-grade') !== null && full()"),
    )


def remember(walk: Walk, edits: int) -> None:
    """Report the kernel's memory over many edits."""
    first = max(1, edits // 10)
    for number in range(first):
        edited(walk, LIMITS[number % len(LIMITS)], f"# edit {number}\n")
    before = int(ask(walk.view, "memory()"))
    for number in range(first, edits):
        edited(walk, LIMITS[number % len(LIMITS)], f"# edit {number}\n")
    after = int(ask(walk.view, "memory()"))
    grown = (after - before) / 2**20
    print(
        f"{'memory':<24}{before / 2**20:>9.0f} MiB after {first} edits, {grown:+.1f} MiB in {edits - first} more, {after / before:.2f} x"
    )


def measure(notebook: Notebook, rows: int, rounds: int, edits: int) -> None:
    print(f"\n{rows:,} rows")
    page = notebook.page
    page.evaluate(FUNCTIONS)
    notebook.command("notebook:run-cell-and-select-next")
    ask(notebook, "rows")  # completes when the first cell has ended
    smallest = run_cell(notebook, "document.querySelector('.tiny')")
    report("(smallest anywidget)", smallest)
    first, whole = open_app(notebook)
    report(
        "open",
        first,
        f"{first / smallest:.1f} x the smallest; with all imports for it; the editor too {whole:.0f}",
    )
    walk = Walk(notebook, "benchmark")
    ask(notebook, "app.session.rows.change(n=0)")  # an app starts with 500 rows: all of them from here on
    page.wait_for_function(
        f"() => still() && bars() && shown('.state') === 'up to date' && /{rows:,}/.test(shown('.drawn'))"
    )
    ask(notebook, "read_words()")
    alone = 1000 * float(ask(notebook, "alone()"))
    report("(grading alone)", alone)
    repaints = [edited(walk, LIMITS[number % len(LIMITS)]) for number in range(rounds)]
    for what, taken in zip(("scores", "findings"), zip(*repaints, strict=True), strict=True):
        middle = statistics.median(taken)
        report(
            f"an edit: its {what}", middle, f"{middle / alone:.1f} x grading alone; at most {max(taken):.0f}"
        )
    seconds: dict[str, list[float]] = {step.name: [] for step in STEPS}
    for _ in range(rounds):
        for step in STEPS:
            seconds[step.name].append(timed(notebook, step))
    frames = statistics.median(timed(notebook, Step("", "0", "true")) for _ in range(rounds))
    report("(two frames)", frames)
    for name, taken in seconds.items():
        middle = statistics.median(taken)
        report(name, middle, f"{middle / frames:.1f} x two frames; at most {max(taken):.0f}")
    if rows <= MAP_ROWS:
        report(
            "open the map",
            timed(
                notebook,
                Step(
                    "",
                    "[...app().querySelectorAll('.part-rows .head .btn')][0].click()",
                    "one('.row-map canvas') !== null",
                ),
            ),
        )
        report(
            "draw the map again",
            timed(
                notebook,
                Step(
                    "",
                    "[...app().querySelectorAll('.row-map .by .btn')][1].click()",
                    "one('.row-map .by .btn:nth-child(2)').ariaPressed === 'true'",
                ),
            ),
        )
        gaps = page.evaluate(DRAG)
        report(
            "drag a box on the map",
            statistics.median(gaps),
            f"between two frames; 95 % within {gaps[int(0.95 * len(gaps))]:.0f}",
        )
        timed(
            notebook,
            Step(
                "",
                "[...app().querySelectorAll('.part-rows .head .btn')][0].click()",
                "one('.row-map') === null",
            ),
        )
    open_modes(notebook)
    if edits:
        remember(walk, edits)
    report("stop", stopped(walk))
    page.wait_for_function("() => one('.working') === null")
    page.evaluate("() => { window.app = () => document.querySelectorAll('.gwb')[1] ?? null; }")
    notebook.rest()  # the last cell is the active one
    first, whole = open_app(notebook)
    report("open again", first, f"the editor too {whole:.0f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, nargs="+", default=[1_000, 10_000, 100_000])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--edits", type=int, default=0)
    asked = parser.parse_args()
    with sync_playwright() as play, serve(ROOT / "notebooks") as server:
        browser = play.chromium.launch(executable_path=chromium(), args=[*CHROMIUM_FLAGS, "--no-sandbox"])
        for rows in asked.rows:
            name = server.write(f"rows-{rows}.ipynb", [SETUP.format(rows=rows, text=TEXT), TINY, OPEN, OPEN])
            with opened(browser, server, name, width=1600, height=1000, fresh=True) as notebook:
                measure(notebook, rows, asked.rounds, asked.edits if rows == asked.rows[0] else 0)
        browser.close()


if __name__ == "__main__":
    main()
