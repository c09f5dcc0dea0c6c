"""The app in JupyterLab, Notebook 7, Voila and marimo, walked through as a person would."""

from __future__ import annotations

import pytest

from tests.browser import marimo as marimo_page
from tests.browser import voila as voila_page
from tests.browser.page import opened
from tests.browser.walk import Walk

NAME = "05_workbench.ipynb"

STATE = """() => ['.rail', '.mid h2', '.finding', '.scores-head', '.part-rows .head', '.grid .rows', '.reader .head', '.foot']
  .map(part => document.querySelector('.gwb ' + part)?.innerText ?? '')"""
"""What the view says in each of its parts."""


def test_every_mode_in_jupyterlab_and_the_same_after_a_reload(browser, lab):
    """All main paths by clicks and keys; the page loaded anew shows the same graders, rows and open row."""
    with opened(browser, lab, NAME, height=1000, fresh=True) as notebook:
        notebook.run_all()
        assert notebook.errors() == []
        walk = Walk(notebook, "lab")
        walk.all("from-lab.json")
        assert (lab.notebooks / "from-lab.json").stat().st_size > 0
        walk.graded()  # the findings follow the labels in the background
        walk.finding()
        walk.at(".grid .tr").click()
        walk.at(".reader").wait_for()
        notebook.expect(walk.app.locator(".other-text", has_text="Labels changed")).to_have_count(0)
        before = notebook.page.evaluate(STATE)
        notebook.save_and_reload()
        again = Walk(notebook, "lab-reloaded")
        again.at(".reader").wait_for()
        again.graded()
        assert notebook.page.evaluate(STATE) == before
        again.finding()
        again.quiet()


CELLS = "() => window.jupyterapp.shell.currentWidget.content.model.toJSON().cells.map(c => c.cell_type + c.source)"


def test_notebook_7_answers_clicks_and_keys(browser, notebook7):
    """What a front end can get wrong: clicks, and keys that are the app's alone and touch no cell."""
    with opened(browser, notebook7, NAME, height=1000) as notebook:
        notebook.run_all()
        assert notebook.errors() == []
        before = notebook.page.evaluate(CELLS)
        walk = Walk(notebook, "notebook7")
        walk.graded()
        walk.finding()
        walk.read()
        walk.focus()
        walk.press("b", "m", "a", "d", "d", "x", "y")
        walk.wait_shown(500)  # x shows all rows
        walk.keys()
        walk.label()
        walk.press("b", "m", "a", "d", "d")
        walk.open("Grade")
        walk.at(".grid").focus()
        walk.press("b", "a", "d", "d")
        assert notebook.page.evaluate(CELLS) == before
        walk.quiet()


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_voila_shows_a_usable_app(browser, voila, theme):
    """No code in sight: find why a grader is lenient, label, try, compare, export; and an error is shown."""
    dark = theme == "dark"
    with voila_page.opened(browser, voila(NAME), dark=dark, width=1400, height=1000) as page:
        walk = Walk(page, f"voila-{theme}")
        walk.graded()
        page.expect(walk.app).to_have_attribute("data-theme", theme)
        if dark:
            walk.finding()
            walk.sound("grade", ".rail", ".mid", ".part-rows", ".foot")
        else:
            walk.all("from-voila.json")
            walk.open("Label")
            walk.label(20)
        assert page.errors() == []
        walk.quiet()
        walk.open("Try")
        walk.app.get_by_role("button", name="Paste a conversation").click()
        walk.at(".paste textarea").fill("no conversation")
        walk.app.get_by_role("button", name="Use it").click()
        walk.at(".problem[role=alert]").wait_for()
        walk.sound("problem", ".problem", ".mode-try")
        walk.app.get_by_role("button", name="dismiss").click()
        walk.at(".problem").wait_for(state="detached")
        assert page.trouble.console == []


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_marimo_shows_a_usable_app(browser, marimo, theme):
    """Graders of its cells are captured, every mode's main path works, and the theme is the page's own."""
    with marimo_page.opened(browser, marimo, dark=theme == "dark") as page:
        walk = Walk(page, f"marimo-{theme}")
        walk.graded()
        page.expect(walk.app).to_have_attribute("data-theme", theme)
        page.expect(walk.app.locator(".g .choose")).to_have_text(
            ["contains_number", "last_number", "exact_match"]
        )
        if theme == "light":
            walk.all("from-marimo.json")
        else:
            walk.finding()
            walk.sound("grade", ".rail", ".mid", ".part-rows", ".foot")
            walk.quiet()
