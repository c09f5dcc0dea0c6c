"""How the app looks in JupyterLab: at each width, in both themes, and the pictures of the documentation."""

from __future__ import annotations

import contextlib

import pytest

from tests.browser import look
from tests.browser.layout import assert_fits, violations
from tests.browser.page import opened
from tests.browser.walk import MODES, Walk

NAME = "05_workbench.ipynb"
WIDTHS = [800, 1280, 1600]

GRADERS = '''
import re
import workbench as wb

@wb.grader
async def contains_number(thread: wb.StringThread) -> float:
    """The completion contains the expected number."""
    expected = (thread.metadata or {}).get("expected", "")
    return 1.0 if expected and expected in (thread.completion() or "") else 0.0

@wb.grader
async def last_number(thread: wb.StringThread) -> float:
    """The last number of the answer is the expected one."""
    numbers = re.findall(r"-?\\d+(?:\\.\\d+)?", thread.completion() or "")
    return 1.0 if numbers and numbers[-1] == (thread.metadata or {}).get("expected") else 0.0

@wb.grader
async def closeness(thread: wb.StringThread) -> float:
    """How near the last number of the answer is to the expected one."""
    last = float(re.findall(r"-?\\d+(?:\\.\\d+)?", thread.completion() or "")[-1])
    expected = float((thread.metadata or {}).get("expected", "0"))
    return max(0.0, 1.0 - abs(last - expected) / max(1.0, abs(expected)))

@wb.grader
async def same_as_reference(thread, reference):
    return 1.0 if thread.completion() == reference else 0.0
'''
APP = """
judge = wb.BinaryJudge("The reply shows its working.", name="shows_working", client=wb.ScriptedClient("{}"))
app = wb.Workbench(wb.demo_samples("arithmetic"), [contains_number, last_number, wb.ExactMatch(name="exact_match"), closeness,
    judge, same_as_reference], labels="good", store=None)
app
"""


@pytest.fixture(scope="module")
def shown(browser, lab):
    """The app, graded, with the list of files folded away; once for all tests."""
    with opened(browser, lab, NAME, height=1000) as notebook, folded(notebook):
        notebook.run_all()
        made = Walk(notebook, "light")
        made.graded()
        assert made.app.get_attribute("data-theme") == "light"
        yield made


@pytest.fixture
def walk(shown):
    """The app as a test finds it: its first mode is open."""
    shown.open("Grade")
    yield shown
    shown.quiet()


@contextlib.contextmanager
def folded(notebook):
    """The list of files is folded away, and there again for the next one who uses the page."""
    notebook.command("application:toggle-left-area")
    yield
    notebook.command("application:toggle-left-area")


# In one theme: another one changes colours only.
def test_fits_at_each_width(walk):
    """In every mode and width nothing is wider than its room, no text is cut off to nothing, nothing covers anything."""
    walk.finding()
    walk.at(".grid .tr").click()
    walk.at(".reader").wait_for()
    for width in WIDTHS:
        walk.view.page.set_viewport_size({"width": width, "height": 1000})
        for mode in MODES:
            walk.open(mode)
            assert_fits(walk)
            walk.sound(f"{mode.lower()}-{width}", ".top", ".body", ".foot")


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_every_mode_can_be_read_and_operated(walk, axe, theme):
    """WCAG 2 A and AA by axe-core: no violation in any mode, in the reader, in the help, in menus and after an edit."""
    with walk.view.dark() if theme == "dark" else contextlib.nullcontext():
        walk.view.expect(walk.app).to_have_attribute("data-theme", theme)
        assert_operable(walk, axe)


def assert_operable(walk, axe):
    """No violation; the edit is taken back."""
    walk.view.page.set_viewport_size({"width": 1440, "height": 1000})
    walk.finding()
    walk.at(".grid .tr").click()
    walk.at(".reader").wait_for()
    found = {}
    for mode in MODES:
        walk.open(mode)
        found[mode] = violations(walk, axe)
    walk.open("Grade")
    walk.focus()
    walk.press("?")
    walk.at("[role=dialog] .keysheet").wait_for()
    found["help"] = violations(walk, axe)
    walk.press("Escape")
    for menu in ("Filter", "Add a grader", "columns", "500 of 960 rows"):
        walk.app.get_by_role("button", name=menu, exact=True).click()
        walk.at(".panel[role=dialog]").wait_for()
        found[menu] = violations(walk, axe)
        walk.press("Escape")
    before, after = "return 1.0 if expected and expected in", "return 1.0 if expected and expected =="
    walk.rewrite(before, after)
    walk.at(".changed").wait_for()
    walk.graded()
    found["edit"] = violations(walk, axe)
    walk.rewrite(after, before)
    walk.graded()
    assert {where: what for where, what in found.items() if what} == {}


@look.renews_pictures
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_pictures_for_the_documentation(browser, lab, theme):
    """At 1,280 pixels: the rows behind "too lenient"; in the light also after an edit, and a card to label."""
    name = lab.write("pictures.ipynb", [GRADERS, APP])
    with (
        opened(browser, lab, name, height=1000) as notebook,
        folded(notebook),
        contextlib.ExitStack() as stack,
    ):
        if theme == "dark":
            stack.enter_context(notebook.dark())
        notebook.run_all()
        walk = Walk(notebook, theme)
        walk.graded()
        widen(walk, 1280)
        walk.finding()
        walk.at(".grid .tr").click()
        walk.at(".reader").wait_for()
        picture(walk, "workbench" if theme == "light" else "workbench-dark")
        if theme == "dark":
            return
        walk.rewrite("expected in (thread.completion() or", "expected == (thread.completion() or")
        walk.at(".changed").wait_for()
        walk.graded()
        walk.app.locator(".changed .pill").filter(has_text="lost").click()
        walk.view.expect(walk.at(".part-rows h2")).to_contain_text("lost")
        walk.at(".grid .tr").click()
        picture(walk, "workbench-live")
        walk.label()
        picture(walk, "workbench-label")


def widen(walk: Walk, width: int) -> None:
    """Make the window so wide that the app has a width."""
    page = walk.view.page
    box, size = walk.app.bounding_box(), page.viewport_size
    assert box is not None
    assert size is not None
    page.set_viewport_size({"width": int(size["width"] + width - box["width"]), "height": size["height"]})
    walk.view.until("width => document.querySelector('.gwb').clientWidth === width", width)


def picture(walk: Walk, name: str) -> None:
    """Write a picture of the app that a page can bear: copy it to docs/ to renew it there."""
    walk.view.page.mouse.move(0, 0)
    look.wait_still(walk.view.page, [walk.app.locator("*")])
    path = walk.view.picture(name, walk.app)
    assert path.stat().st_size < 300_000
