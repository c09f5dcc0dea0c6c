"""The app by keyboard alone: every mode is opened, used and left without a mouse, inside a real notebook."""

from __future__ import annotations

import re

import pytest

from tests.browser.stranger import MAPPED, NAME, shown
from tests.browser.walk import MODES, Walk

STEPS = 150
"""More than the stops of Tab in any mode: beyond it an element cannot be reached."""

INSIDE = "() => document.querySelector('.gwb').contains(document.activeElement)"


class Keyboard(Walk):
    """A walk that has no mouse."""

    def tab_to(self, selector: str, *, back: bool = False) -> None:
        """Press Tab until an element has the focus; it never leaves the app on the way."""
        target = self.at(selector)
        for _ in range(STEPS):
            if target.evaluate("e => e === document.activeElement"):
                return
            self.press("Shift+Tab" if back else "Tab")
            assert self.view.page.evaluate(INSIDE), f"the focus left the app before {selector}"
        raise AssertionError(f"{selector} is not reached by {STEPS} presses of Tab")

    def go(self, number: int, mode: str) -> None:
        """Open a mode by `g` and its number."""
        self.press("g", str(number))
        self.view.expect(self.at("nav.modes [aria-current]")).to_have_text(mode)
        self.at(MODES[mode]).wait_for()
        self.graded()
        assert self.view.page.evaluate(INSIDE), f"the focus is lost in {mode}"


@pytest.fixture
def walk(browser, lab, table):
    """The stranger's table, graded; the focus is on the app."""
    with shown(browser, lab, MAPPED) as notebook:
        made = Keyboard(notebook, "keyboard")
        made.graded()
        made.focus()
        yield made
        made.quiet()


def test_all_six_modes_without_a_mouse(walk):
    """Choose, filter, read, edit, try, label, compare, export, look back: by keys, with the focus always in the app."""
    app, expect = walk.app, walk.view.expect
    walk.tab_to(".g .choose")
    walk.press("ArrowDown")
    expect(walk.at(".mid h2.name")).to_have_text("contains")
    walk.press("ArrowUp")
    expect(walk.at(".mid h2.name")).to_have_text(NAME)
    read_and_filter(walk)
    edit(walk)
    try_out(walk)
    label(walk)
    walk.go(4, "Compare")
    walk.tab_to(".matrix td button")
    walk.press("ArrowRight", "Enter")
    expect(app.locator(".matrix td button").nth(1)).to_have_attribute("aria-pressed", "true")
    walk.tab_to(".quadrants button", back=True)
    walk.press("Enter")
    expect(app.locator(".quadrants button").first).to_have_attribute("aria-pressed", "true")
    export(walk)
    walk.go(6, "History")
    walk.tab_to(".versions .version button")
    walk.press("Enter")
    expect(walk.at(".versions .version button")).to_have_attribute("aria-pressed", "true")
    walk.go(1, "Grade")


def read_and_filter(walk):
    """A filter at the second depth of its menu, removed again; a row read and closed; the list of keys."""
    app, expect = walk.app, walk.view.expect
    walk.tab_to(".part-rows .chip.new")
    walk.press("Enter")
    expect(app.locator(".panel .item").first).to_be_focused()
    topic = app.locator(".panel .item", has_text="topic")
    for _ in range(STEPS):
        if topic.evaluate("e => e === document.activeElement"):
            break
        walk.press("ArrowDown")
    walk.press("Enter")
    expect(app.get_by_role("menu", name="Values of topic")).to_be_visible()
    walk.press("ArrowDown", "Enter")
    expect(app.locator(".tools .chip", has_text="topic")).to_have_count(1)
    walk.press("Escape", "x")
    walk.wait_shown(300)
    walk.tab_to(".grid")
    walk.press("ArrowDown", "Enter")
    expect(walk.at(".reader .text")).to_be_focused()
    walk.press("Escape")
    expect(walk.at(".grid")).to_be_focused()
    walk.press("Escape", "?")
    walk.at("[role=dialog] .keysheet").wait_for()
    walk.press("Escape")
    walk.at("[role=dialog]").wait_for(state="detached")


def edit(walk):
    """Type into the editor, leave it, and restore the text."""
    expect = walk.view.expect
    walk.tab_to(".mid .cm-content", back=True)
    walk.press("Control+End")
    walk.press_text("# a remark")
    expect(walk.at(".mid .version")).to_have_text(re.compile("version 2"))
    walk.graded()
    walk.press("Escape", "Tab")
    walk.tab_to(".changed .back")
    walk.press("Enter")
    walk.at(".changed").wait_for(state="detached")
    walk.graded()
    expect(walk.at(".mid .version")).to_have_text("version 1")


def try_out(walk):
    """Another completion, and its grade."""
    walk.go(2, "Try")
    walk.tab_to("textarea.yours")
    walk.press("Control+a")
    walk.press_text("It is the Nile.")
    walk.view.expect(walk.at(".says-table tbody tr td:last-child .score-of")).to_have_text("0")
    walk.press("Escape")
    walk.view.expect(walk.at("main.app")).to_be_focused()


def label(walk):
    """Two labels and their undo."""
    walk.go(3, "Label")
    walk.view.expect(walk.at(".label-card")).to_be_focused()
    before = walk.decided()
    walk.press("1", "0")
    walk.wait_decided(before + 2)
    walk.press("u", "u")
    walk.wait_decided(before)


def export(walk):
    """A platform, a file name, and the file."""
    walk.go(5, "Export")
    walk.tab_to("table.fit .names button")
    walk.press("Enter")
    walk.at(".export-panel .setting").wait_for()
    walk.tab_to(".export-panel .setting input")
    walk.press("Control+a")
    walk.press_text("by-keyboard.json")
    walk.press("Tab")
    walk.tab_to(".export-buttons .main")
    walk.press("Enter")
    walk.view.expect(walk.at(".export-panel .outcome")).to_contain_text("by-keyboard.json")
