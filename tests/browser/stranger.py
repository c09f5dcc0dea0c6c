"""Somebody's own table, the notebook over it, and an hour's work in the app, the same in every environment."""

from __future__ import annotations

import contextlib
import csv
import random
from pathlib import Path
from typing import TYPE_CHECKING

from tests.browser.page import Notebook, opened

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Browser

    from tests.browser.lab import Server
    from tests.browser.walk import Walk

RIVERS = {"Prague": "Vltava", "Vienna": "Danube", "Warsaw": "Vistula", "Paris": "Seine", "Rome": "Tiber"}
NAME = "names_the_river_that_flows_through_the_city"

MAPPED = f"""
import workbench as wb
samples = wb.read_samples("my_answers.csv", columns={{"prompt": "user_question", "completion": "support_reply", "reference": "gold"}})
@wb.grader
async def {NAME}(thread):
    \"\"\"The reference occurs in the completion.\"\"\"
    return float(str((thread.metadata or {{}}).get("gold", "?")).lower() in (thread.completion() or "").lower())
app = wb.Workbench(samples, [{NAME}, wb.Contains(), wb.ExactMatch()], labels="human_label", store=None)
app
"""
UNMAPPED = """
import workbench as wb
app = wb.Workbench("my_answers.csv", [wb.Contains()], store=None)
app
"""


MARIMO = f'''import marimo

app = marimo.App(width="full")


@app.cell
def _():
    import marimo as mo

    import workbench as wb

    return mo, wb


@app.cell
def _(wb):
    @wb.grader
    async def {NAME}(thread):
        """The reference occurs in the completion."""
        return float(str((thread.metadata or {{}}).get("gold", "?")).lower() in (thread.completion() or "").lower())

    return ({NAME},)


@app.cell
def _({NAME}, mo, wb):
    samples = wb.read_samples("my_answers.csv", columns={{"prompt": "user_question", "completion": "support_reply", "reference": "gold"}})
    workbench = wb.Workbench(samples, [{NAME}, wb.Contains(), wb.ExactMatch()], labels="human_label", store=None)
    mo.ui.anywidget(workbench)
    return


if __name__ == "__main__":
    app.run()
'''


def write_table(folder: Path) -> None:
    """300 rows under a stranger's column names; 240 of them have labels."""
    draw = random.Random(7)
    with (folder / "my_answers.csv").open("w", newline="") as out:
        writer = csv.writer(out)
        writer.writerow(
            ["id", "user_question", "support_reply", "gold", "human_label", "topic", "latency_ms"]
        )
        for n in range(300):
            city, right = draw.choice(list(RIVERS)), draw.random() < 0.55
            river = RIVERS[city] if right else draw.choice([r for r in RIVERS.values() if r != RIVERS[city]])
            text = f"The river that flows through {city} is the {river}." + " It is a long story." * (
                200 * (n % 10 == 3)
            )
            label = ("correct" if right else "incorrect") if n < 240 else ""
            row = [f"case-{n:03}", f"Which river flows through {city}?", text, RIVERS[city], label]
            writer.writerow([*row, draw.choice(["geo", "school"]), draw.randrange(80, 4000)])


@contextlib.contextmanager
def shown(browser: Browser, lab: Server, cell: str) -> Iterator[Notebook]:
    """A notebook of one cell after its run, without an error."""
    name = lab.write(f"stranger-{hash(cell) & 0xFFFF:x}.ipynb", [cell])
    with opened(browser, lab, name, width=1400, height=1000) as notebook:
        notebook.run_all()
        assert notebook.errors() == []
        yield notebook


def work(walk: Walk, times: int = 0) -> None:
    """What a person does in an hour, in a minute: every mode, menus, keys, the mouse; then all is as it was before.

    Args:
        walk: An open app over `MAPPED`, graded.
        times: How often this was done before.
    """
    _grade(walk)
    _label(walk, times)
    _compare(walk)
    for mode in ("Try", "Export", "History", "Grade"):
        walk.open(mode)
    walk.quiet()


def _grade(walk: Walk) -> None:
    app, expect = walk.app, walk.view.expect
    app.get_by_role("button", name="Filter", exact=True).click()
    app.locator(".panel .item", has_text="latency_ms").click()
    app.locator(".panel .range input").nth(0).fill("100")
    app.locator(".panel .range input").nth(1).fill("1000")
    walk.press("Enter")
    expect(app.locator(".tools .chip", has_text="latency_ms 100 to 1000")).to_have_count(1)
    expect(app.locator(".picked-bar")).to_have_count(3)
    app.locator(".two-val .lab button").first.click(modifiers=["Shift"])
    expect(app.locator(".tools .chip .remove")).to_have_count(2)
    walk.focus()
    walk.press("v")
    expect(app.get_by_role("menuitem", name="Save these rows as")).to_be_focused()
    walk.press("Escape")
    app.locator(".panel").wait_for(state="detached")
    walk.focus()
    walk.press("x")
    walk.wait_shown(300)
    walk.press("p")
    app.locator(".row-map canvas").wait_for()
    app.locator(".row-map .clusters .chip").first.click()
    expect(app.locator(".tools .chip .remove")).to_have_count(1)
    walk.focus()
    walk.press("x", "p")
    walk.wait_shown(300)
    app.locator(".grid .tr").nth(2).click()
    app.get_by_role("button", name="larger reader").click()
    expect(app.locator(".reader.large")).to_have_count(1)
    walk.press("Escape", "Escape")
    app.locator(".reader").wait_for(state="detached")
    walk.press("?")
    app.locator("[role=dialog] .keysheet").wait_for()
    walk.press("Escape")


def _label(walk: Walk, times: int) -> None:
    app, expect = walk.app, walk.view.expect
    walk.open("Label")
    app.locator(".label-card .texts").wait_for()
    walk.view.expect(walk.at(".label-card")).to_be_focused()
    before = walk.decided()
    walk.press("d", "t")
    expect(app.get_by_label("Tag for this row")).to_be_focused()
    walk.press_text(f"kind {times % 3}")
    walk.press("Enter", "0", "1")
    walk.wait_decided(before + 2)
    expect(app.locator(".tag-bar").first).to_be_visible()
    walk.press("u", "u", "u")
    walk.wait_decided(before)


def _compare(walk: Walk) -> None:
    app, expect = walk.app, walk.view.expect
    walk.open("Compare")
    cell = app.locator(".matrix td button").nth(1)
    cell.click()
    expect(cell).to_have_attribute("aria-pressed", "true")
    expect(app.locator(".mode-compare article").first).to_be_visible()
