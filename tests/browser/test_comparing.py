"""Compare with three graders in JupyterLab: the matrix of agreement and the rows by who differs."""

from __future__ import annotations

from tests.browser.stranger import MAPPED, shown
from tests.browser.walk import Walk, number_in


def test_a_matrix_and_who_differs(browser, lab, table):
    """A cell compares two and lists their disagreement; a line selects exactly its rows."""
    with shown(browser, lab, MAPPED) as notebook:
        walk = Walk(notebook, "comparing")
        walk.graded()
        app, expect = walk.app, notebook.expect
        walk.open("Compare")
        cells = app.locator(".matrix td button")
        expect(cells).to_have_count(3)
        cells.nth(1).focus()
        walk.press("Enter")
        expect(cells.nth(1)).to_have_attribute("aria-pressed", "true")
        expect(app.locator(".mode-compare article").first).to_be_visible()
        walk.sound("matrix", ".matrix", ".rail", ".foot")
        line = app.locator(".differing").first
        count = number_in(line.locator(".num").inner_text())
        line.click()
        walk.wait_shown(count)
        walk.quiet()
