"""The app while one writes: what an edit changed, errors at their line, a run that is stopped, graders of later cells."""

from __future__ import annotations

import re

from tests.browser.kernel import ask
from tests.browser.lab import wait_until
from tests.browser.page import opened
from tests.browser.walk import Walk, number_in

GRADER = '''
import workbench as wb

@wb.grader
async def contains_number(thread: wb.StringThread) -> float:
    """The completion contains the expected number."""
    expected = (thread.metadata or {}).get("expected", "")
    return 1.0 if expected and expected in (thread.completion() or "") else 0.0
'''
APP = "app = wb.Workbench(wb.demo_samples('arithmetic'), labels='good', store=None)\napp"
LAST = 'return 1.0 if expected and expected in (thread.completion() or "") else 0.0'


def test_an_edit_says_what_it_changed(browser, lab):
    """A changed text is graded as one types; each pill shows its rows; the version before comes back."""
    with opened(browser, lab, lab.write("edit.ipynb", [GRADER, APP]), width=1600, height=1000) as notebook:
        notebook.run_all()
        walk = Walk(notebook, "edit")
        walk.graded()
        before = walk.at(".g .bar").get_attribute("aria-label")
        walk.rewrite(LAST, LAST.replace("expected in", "expected =="))
        changed = number_in(walk.at(".changed .sentence").inner_text())
        walk.graded()
        assert walk.at(".g .bar").get_attribute("aria-label") != before
        pills = walk.app.locator(".changed .pill")
        counts = [number_in(text) for text in pills.all_inner_texts()]
        assert sum(counts) == changed
        for at, count in enumerate(counts):
            pills.nth(at).click()
            notebook.expect(pills.nth(at)).to_have_attribute("aria-pressed", "true")
            walk.wait_shown(count)
        walk.sound("changed", ".changed", ".rail", ".part-rows")
        walk.at(".changed .back").click()
        walk.at(".changed").wait_for(state="detached")
        walk.graded()
        assert walk.at(".g .bar").get_attribute("aria-label") == before
        notebook.expect(walk.at(".cm-content")).to_contain_text(LAST)
        walk.quiet()


def test_a_failed_check_stands_at_its_line(browser, lab):
    """An error is shown below its line, the check that fails is marked, and the right text takes both away."""
    with opened(browser, lab, lab.write("wrong.ipynb", [GRADER, APP]), width=1600, height=1000) as notebook:
        notebook.run_all()
        walk = Walk(notebook, "wrong")
        walk.graded()
        walk.rewrite(LAST, "return 1.0 if")
        notebook.expect(walk.at(".editor-wrong")).to_have_text(re.compile(r"^\s*return 1.0 if"))
        notebook.expect(walk.at(".editor-problem")).to_have_text(re.compile(r"\w{3}"))
        notebook.expect(walk.app.locator(".checks li").first).to_have_text(re.compile("syntax fails"))
        walk.sound("line", ".editor", ".checks", ".rail")
        walk.rewrite("return 1.0 if", LAST)
        walk.at(".editor-problem").wait_for(state="detached")
        notebook.expect(walk.app.locator(".checks li").first).to_have_text(re.compile("syntax passes"))
        walk.graded()
        walk.quiet()


SLOW = """
import workbench as wb

@wb.grader
async def slow(thread: wb.StringThread) -> float:
    import time
    time.sleep(0.2)
    return 0.5
"""


def test_a_long_run_is_stopped(browser, lab):
    """Run becomes Stop, how far it is stands in the head, and after Stop nothing is graded any more."""
    with opened(browser, lab, lab.write("slow.ipynb", [SLOW, APP]), width=1600, height=1000) as notebook:
        notebook.run_all()
        walk = Walk(notebook, "slow")
        notebook.expect(walk.at(".state")).to_have_text(re.compile(r"^\d+ of 500"))
        walk.sound("running", ".top", ".rail")
        walk.app.get_by_role("button", name="Stop", exact=True).click()
        walk.app.get_by_role("button", name="Run", exact=True).wait_for()
        walk.at(".working").wait_for(state="detached")
        wait_until(lambda: ask(notebook, "app.session.live.idle"), what="the grading ends")
        walk.sound("stopped", ".top", ".rail")
        walk.quiet()


LATER = """
@wb.grader
async def late(thread: wb.StringThread) -> float:
    return 1.0
"""
AGAIN = "%%grader late\nasync def grade(thread: StringThread) -> float:\n    return 0.25\n"


def test_graders_of_later_cells_appear(browser, lab):
    """One is defined, then redefined, in later cells: it is there and graded, and the next cell reads what is seen."""
    cells = ["%load_ext workbench", GRADER, APP, LATER, AGAIN]
    with opened(browser, lab, lab.write("later.ipynb", cells), width=1600, height=1000) as notebook:
        notebook.run_all()
        assert notebook.errors() == []
        walk = Walk(notebook, "later")
        walk.choose("late")
        notebook.expect(walk.at(".cm-content")).to_contain_text("return 0.25")
        notebook.expect(walk.at(".g.chosen .mean b")).to_have_text("0.25")
        walk.choose("contains_number")
        count = walk.finding()
        assert ask(notebook, "len(app.selected)") == count
        assert ask(notebook, "sorted(app.graders)") == ["contains_number", "late"]
        walk.quiet()
