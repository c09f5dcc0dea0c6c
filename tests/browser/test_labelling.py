"""Labelling in JupyterLab with a real keyboard: rows put off, tags, several steps back, and the rows of a tag."""

from __future__ import annotations

from tests.browser.stranger import MAPPED, shown
from tests.browser.walk import Walk


def test_rows_are_deferred_tagged_and_taken_back(browser, lab, table):
    """Everything by keyboard; the tags are a chart whose bars show their rows, by mouse."""
    with shown(browser, lab, MAPPED) as notebook:
        walk = Walk(notebook, "labelling")
        walk.graded()
        app, expect = walk.app, notebook.expect
        walk.open("Label")
        expect(app.locator(".label-card")).to_be_focused()
        first = app.locator(".label-card b.mono").inner_text()
        walk.press("d")
        expect(app.locator(".mode-label .head").first).to_contain_text("1 deferred")
        second = app.locator(".label-card b.mono").inner_text()
        assert second != first
        walk.press("t")
        expect(app.get_by_label("Tag for this row")).to_be_focused()
        walk.press_text("invented river")
        walk.press("Enter")
        expect(app.locator(".label-card")).to_be_focused()
        walk.press("t")
        walk.press_text("too long")
        walk.press("Enter", "0")
        walk.wait_decided(1)
        expect(app.locator(".tag-bar")).to_have_count(2)
        walk.press("t", "1", "1")  # the most frequent one, and good
        walk.wait_decided(2)
        expect(app.locator(".tag-bar .num").first).to_have_text("2")
        walk.sound("tags", ".label-card", ".tag-chart", ".rail", ".foot")
        walk.press("u", "u", "u")
        walk.wait_decided(0)
        expect(app.locator(".label-card b.mono")).to_have_text(first)
        walk.press("0")
        expect(app.locator(".tags .chip .cut")).to_have_text(["invented river", "too long"])
        walk.press("0", "1")
        walk.wait_decided(3)
        app.locator(".tag-bar", has_text="too long").click()
        walk.wait_shown(1)
        expect(app.locator(".tools .chip .cut").first).to_have_text("tag: too long")
        app.locator(".grid .tr").click()
        expect(app.locator(".reader .head b")).to_have_text(second)
        app.get_by_role("button", name="Filter", exact=True).click()
        app.locator(".panel .item", has_text="tag").first.click()
        expect(app.get_by_role("menu", name="Values of tags").locator(".item")).to_contain_text(
            ["invented river"]
        )
        walk.press("Escape")
        walk.quiet()
