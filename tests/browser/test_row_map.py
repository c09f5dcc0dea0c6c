"""The map of rows in JupyterLab: by a key, with a box of a real mouse, a cluster, and a point to read."""

from __future__ import annotations

from tests.browser.kernel import ask
from tests.browser.stranger import MAPPED, shown
from tests.browser.walk import Walk


def test_a_box_and_a_cluster_select(browser, lab, table):
    """The table, the bars and `app.selected` follow; a click on a point opens its row."""
    with shown(browser, lab, MAPPED) as notebook:
        walk = Walk(notebook, "map")
        walk.graded()
        app, expect = walk.app, notebook.expect
        walk.focus()
        walk.press("p")
        canvas = app.locator(".row-map canvas")
        canvas.wait_for()
        chips = app.locator(".row-map .clusters .chip")
        size = int(chips.first.locator(".faint").inner_text())
        chips.first.focus()
        walk.press("Enter")
        walk.wait_shown(size)
        assert ask(notebook, "len(app.selected)") == size
        walk.focus()
        walk.press("x")
        walk.wait_shown(300)
        box = canvas.bounding_box()
        assert box is not None
        mouse = notebook.page.mouse
        mouse.move(box["x"] + 1, box["y"] + 1)
        mouse.down()
        mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] - 1, steps=4)
        expect(app.locator(".points .box")).to_be_visible()
        mouse.up()
        expect(app.locator(".tools .chip .remove")).to_have_count(1)
        left = walk.shown()
        assert 0 < left < 300
        expect(app.locator(".picked-bar")).to_have_count(3)
        walk.sound("box", ".row-map", ".grid", ".rail", ".foot")
        app.get_by_role("button", name="error", exact=True).click()
        walk.focus()
        walk.press("p")
        canvas.wait_for(state="detached")
        walk.quiet()
