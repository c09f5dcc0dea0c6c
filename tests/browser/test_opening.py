"""Files that are dropped into the app from the disk, with a real drag, in every environment."""

from __future__ import annotations

import pytest

from tests.browser import marimo as marimo_page
from tests.browser import voila as voila_page
from tests.browser.kernel import ask
from tests.browser.opening import MORE, dropped, write_files
from tests.browser.page import opened
from tests.browser.stranger import MAPPED, MARIMO, shown, write_table
from tests.browser.walk import Walk


@pytest.fixture
def files(tmp_path):
    """Files on the disk of whoever uses the browser."""
    return write_files(tmp_path)


def test_rows_and_graders_are_dropped_into_the_app(browser, lab, table, files):
    """Also onto the editor; by the dialog; rows without known columns are mapped; the next cell has them; in light and dark."""
    with shown(browser, lab, MAPPED) as notebook:
        walk = Walk(notebook, "opening")
        walk.graded()
        dropped(walk, files, 300)
        app, expect = walk.app, notebook.expect
        text = walk.at(".mid .cm-content").inner_text()
        walk.drop(
            files["code"],
            files["rows"],
            on=".mid .cm-editor",
            looks=lambda: notebook.picture("opening-over", app),
        )
        expect(app.locator(".opened .file")).to_have_count(2)
        expect(walk.at(".mid h2.name")).to_have_text("is_long")
        assert text.strip()[:20] not in walk.at(".mid .cm-content").inner_text()
        walk.sound("offer", ".opened", ".rail", ".mid", ".part-rows")
        with notebook.dark():
            notebook.picture("opening-offer-dark", app)
        app.get_by_role("button", name="Replace the rows").click()
        walk.wait_shown(MORE)
        walk.graded()
        assert ask(notebook, "[len(app.samples), list(app.graders)[-1]]") == [MORE, "is_long"]
        notebook.picture("opening-replaced", app)
        with notebook.page.expect_file_chooser() as chooser:
            app.get_by_role("button", name="40 rows", exact=True).click()
            app.get_by_role("button", name="Open a file of rows or graders").click()
        chooser.value.set_files(files["table"])
        app.get_by_role("button", name="Replace the rows").click()
        expect(app.locator(".columns-page")).to_contain_text("Which column is what?")
        notebook.picture("opening-columns", app)
        app.locator("[aria-label='role of antwort']").get_by_role("button", name="completion").click()
        app.get_by_role("button", name="Use these columns").click()
        walk.wait_shown(12)
        walk.graded()
        walk.quiet()


@pytest.mark.parametrize("environment", ["notebook 7", "voila", "marimo"])
def test_files_are_dropped_elsewhere(browser, request, files, environment):
    """Graders, rows, undo: without an error on the page."""
    if environment == "notebook 7":
        server = request.getfixturevalue("notebook7")
        write_table(server.notebooks)
        with opened(
            browser, server, server.write("stranger.ipynb", [MAPPED]), width=1400, height=1000
        ) as view:
            view.run_all()
            _dropped_into(view, files)
    elif environment == "voila":
        server = request.getfixturevalue("voila")("stranger.ipynb", cells=[MAPPED], prepare=write_table)
        with voila_page.opened(browser, server, width=1400, height=1000) as view:
            _dropped_into(view, files)
    else:
        request.getfixturevalue("marimo")  # skips without marimo
        with marimo_page.serve(MARIMO, write_table) as server, marimo_page.opened(browser, server) as view:
            _dropped_into(view, files)


def _dropped_into(view, files):
    walk = Walk(view, "opening-elsewhere")
    walk.graded()
    dropped(walk, files, 300)
    walk.quiet()
