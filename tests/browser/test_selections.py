"""Selections in JupyterLab with a real mouse and keyboard: bars, all parts that follow, names, a cell."""

from __future__ import annotations

import re

from tests.browser.kernel import ask
from tests.browser.stranger import MAPPED, shown
from tests.browser.walk import Walk


def test_a_click_selects_and_every_part_follows(browser, lab, table):
    """A bar, with Shift another condition; saved by a name, opened by a cell and by the menu, and removed."""
    with shown(browser, lab, MAPPED) as notebook:
        walk = Walk(notebook, "selections")
        walk.graded()
        app, expect = walk.app, notebook.expect
        app.locator(".two-val .cap button", has_text="known bad").last.click()
        expect(app.locator(".picked-bar")).to_have_count(3)
        bad = walk.shown()
        assert 0 < bad < 300
        expect(app.locator(".two-val .picked-share").last).to_have_attribute("aria-label", f"{bad} selected")
        app.locator(".two-val .lab button").last.click(modifiers=["Shift"])
        expect(app.locator(".tools .chip .remove")).to_have_count(2)
        walk.focus()
        walk.press("v")
        expect(app.get_by_role("menuitem", name="Save these rows as")).to_be_focused()
        walk.press("Enter")
        expect(app.get_by_label("name of the selection")).to_be_focused()
        walk.press_text("hard ones")
        walk.press("Enter")
        expect(app.locator(".foot")).to_contain_text("app.select('hard ones')")
        count = walk.shown()
        assert ask(notebook, "len(app.selected)") == count
        walk.sound("shares", ".rail", ".mid", ".part-rows", ".foot")
        walk.focus()
        walk.press("x")
        walk.wait_shown(300)
        expect(app.locator(".picked-bar")).to_have_count(0)
        assert ask(notebook, "len(app.select('hard ones'))") == count
        walk.wait_shown(count)
        walk.press("x")
        walk.wait_shown(300)
        app.get_by_role("button", name="Selections").click()
        app.get_by_role("menuitem", name="hard ones").click()
        walk.wait_shown(count)
        app.get_by_role("button", name="Selections").click()
        app.get_by_role("button", name=re.compile("delete the selection")).click()
        walk.press("Escape")
        assert ask(notebook, "app.selections") == []
        walk.quiet()
