"""The app over somebody's own table, with a real mouse and a real keyboard: what tests over our own pictures do not find."""

from __future__ import annotations

import os
import time

import pytest

from tests.browser import look
from tests.browser import marimo as marimo_page
from tests.browser import voila as voila_page
from tests.browser.kernel import ask
from tests.browser.page import opened
from tests.browser.stranger import MAPPED, MARIMO, UNMAPPED, shown, work, write_table
from tests.browser.test_workbench_look import folded, widen
from tests.browser.walk import MODES, Walk

WIDTHS = (1600, 1200, 900, 600)

CUT = """() => {
  const app = document.querySelector('.gwb main.app'), box = app.getBoundingClientRect(), out = [];
  for (const part of app.querySelectorAll('button, h2, h3, .verdict, .mean, .state, .finding p, .legend span, input, .cap, .l1')) {
    const at = part.getBoundingClientRect();
    if (!at.width || getComputedStyle(part).visibility === 'hidden' || part.closest('.grid, .cm-editor, .fit, .preview, .help, .unseen')) continue;
    if (at.left < box.left - 1 || at.right > box.right + 1) out.push(part.className + ': ' + part.textContent.slice(0, 40));
  }
  return out;
}"""
"""Controls and sentences that are partly outside the app."""


def test_menus_fields_and_keys_work_inside_a_notebook(browser, lab, table):
    """Menus at every depth, Enter in a field, Escape, and the focus after a key that removes what had it."""
    with shown(browser, lab, MAPPED) as notebook:
        walk = Walk(notebook, "stranger")
        walk.graded()
        app, expect = walk.app, notebook.expect
        for way in ("mouse", "keyboard"):
            before = app.locator(".g").count()
            if way == "mouse":
                app.get_by_role("button", name="Add a grader").click()
                app.get_by_role("menuitem", name="A template").click()
                app.locator(".panel .item").nth(1).click()
            else:
                app.get_by_role("button", name="Add a grader").focus()
                walk.press("Enter")
                expect(app.get_by_role("menuitem", name="A template")).to_be_focused()
                walk.press("Enter")
                expect(app.locator(".panel .item").first).to_be_focused()
                walk.press("ArrowDown", "ArrowDown", "Enter")
            expect(app.locator(".g")).to_have_count(before + 1)
            walk.graded()
        app.get_by_role("button", name="Filter").first.click()
        app.locator(".panel .item", has_text="latency_ms").click()
        app.locator(".panel .range input").nth(0).fill("100")
        app.locator(".panel .range input").nth(1).fill("1000")
        walk.press("Enter")
        expect(app.locator(".tools .chip", has_text="latency_ms 100 to 1000")).to_have_count(1)
        assert 0 < walk.shown() < 300
        app.get_by_role("button", name="remove the filter").click()
        walk.wait_shown(300)
        app.get_by_role("button", name="more: save").click()
        app.get_by_role("menuitem", name="Save this view").click()
        expect(app.get_by_label("name of the view")).to_be_focused()
        walk.press_text("mine")
        walk.press("Enter")
        app.locator(".panel").wait_for(state="detached")
        app.get_by_role("button", name="more: save").click()
        expect(app.get_by_role("menuitem", name="Open “mine”")).to_be_visible()
        walk.press("Escape")
        app.locator(".panel").wait_for(state="detached")
        walk.focus()
        for key, mode in (
            ("3", "Label"),
            ("1", "Grade"),
            ("6", "History"),
            ("5", "Export"),
            ("4", "Compare"),
            ("2", "Try"),
            ("1", "Grade"),
        ):
            walk.press("g", key)
            if mode != "Grade":
                walk.opened(mode)
            expect(app.locator("nav.modes [aria-current]")).to_have_text(mode)
        walk.quiet()


def test_the_labels_of_the_data_are_labels(browser, lab, table):
    """They are not shown again; a changed one is marked, changes the findings and can be undone; the long text can be enlarged."""
    with shown(browser, lab, MAPPED) as notebook:
        walk = Walk(notebook, "stranger-labels")
        walk.graded()
        app, expect = walk.app, notebook.expect
        walk.open("Label")
        expect(app.locator(".mode-label .head").first).to_contain_text("0 of 60")
        expect(app.locator(".label-card .said")).to_contain_text(
            "240 rows labelled by column human_label: not shown again."
        )
        walk.open("Grade")
        good = app.locator(".grid .tr", has_text="good").first
        good.click()
        app.locator(".reader").wait_for()
        known = app.locator(".scores").first.inner_text()
        walk.press("0")
        expect(app.locator(".reader .given")).to_contain_text("Label in the data: good.")
        expect(app.locator(".grid .changed-label")).to_have_count(1)
        expect(app.locator(".scores").first).not_to_have_text(known)
        app.get_by_role("button", name="Undo your label").click()
        expect(app.locator(".grid .changed-label")).to_have_count(0)
        app.get_by_role("button", name="larger reader").click()
        text, whole = app.locator(".reader .text").bounding_box(), app.bounding_box()
        assert text is not None
        assert whole is not None
        assert text["width"] > 0.6 * whole["width"]
        walk.press("Escape")
        expect(app.locator(".reader.large")).to_have_count(0)
        walk.press("Escape")
        app.locator(".reader").wait_for(state="detached")
        notebook.command("notebook:run-all-cells")
        notebook.wait_done()
        again = Walk(notebook, "stranger-again")
        again.graded()
        expect(again.at(".mid .version")).to_have_text("version 1")
        walk.quiet()


def test_columns_are_mapped_by_clicking(browser, lab, table):
    """A table without known names opens with its columns, not with empty rows."""
    with shown(browser, lab, UNMAPPED) as notebook:
        app, expect = notebook.find(".gwb").first, notebook.expect
        expect(app.locator(".columns-page")).to_contain_text("No column was recognised as the completion.")
        notebook.picture("stranger-columns", app)
        role = app.locator("[aria-label='role of topic']").get_by_role("button", name="group")
        role.click()
        expect(role).to_have_attribute("aria-pressed", "true")
        role.click()
        app.get_by_role("button", name="Use these columns").click()
        walk = Walk(notebook, "stranger-mapped")
        walk.graded()
        expect(app.locator(".grid .truth").first).to_be_visible()
        expect(app.locator(".g .mean")).to_have_count(1)
        walk.quiet()


def test_nothing_is_cut_at_any_width(browser, lab, table):
    """Long names and long texts, in every mode, from a wide window to half a small one."""
    with shown(browser, lab, MAPPED) as notebook:
        walk = Walk(notebook, "stranger-width")
        walk.graded()
        cut = {}
        for mode in ("Grade", "Label", "Compare", "Try", "History", "Export"):
            walk.open(mode)
            for width in WIDTHS:
                notebook.page.set_viewport_size({"width": width, "height": 1000})
                notebook.page.evaluate(look.FRAMES)
                notebook.picture(f"stranger-{mode.lower()}-{width}")
                if found := notebook.page.evaluate(CUT):
                    cut[mode, width] = found
                if mode == "Grade":
                    sizes = notebook.page.evaluate(
                        "() => { const g = document.querySelector('.gwb .grid'); return [g.scrollWidth, g.clientWidth]; }"
                    )
                    assert sizes[0] <= sizes[1], width
            notebook.page.set_viewport_size({"width": 1400, "height": 1000})
        assert cut == {}


TWELVE = """
import workbench as wb
samples = wb.read_samples("my_answers.csv", columns={"prompt": "user_question", "completion": "support_reply", "reference": "gold"})
names = [f"grader_number_{n}_whose_name_says_all_that_it_looks_for_in_a_reply_v{n}" for n in range(12)]
app = wb.Workbench(samples, [wb.Contains(expected=str(n), name=name) for n, name in enumerate(names)], labels="human_label", store=None)
app
"""

NAMES_CUT = """() => [...document.querySelectorAll('.gwb .app :is(.choose, h2.name, .shown-name, .in-matrix, .named, .says-table b, .differing .words)')]
  .filter(e => e.clientWidth && getComputedStyle(e).visibility !== 'hidden')
  .filter(e => e.scrollWidth > e.clientWidth + 1 || e.scrollHeight > e.clientHeight + 3)
  .map(e => `${e.className}: ${e.textContent.slice(0, 30)} ${e.scrollWidth}x${e.scrollHeight} in ${e.clientWidth}x${e.clientHeight}`)"""
"""Names of graders of which a part is not shown."""


def test_names_of_twelve_graders_are_whole_at_any_width(browser, lab, table):
    """In every mode, where the app has 600 to 1,600 pixels: names that differ in their last letters are told apart."""
    with shown(browser, lab, TWELVE) as notebook, folded(notebook):
        walk = Walk(notebook, "twelve")
        walk.graded()
        cut = {}
        for width in WIDTHS:
            widen(walk, width)
            for mode in MODES:
                walk.open(mode)
                notebook.page.evaluate(look.FRAMES)
                notebook.picture(f"twelve-{mode.lower()}-{width}")
                if found := notebook.page.evaluate(NAMES_CUT) + notebook.page.evaluate(CUT):
                    cut[mode, width] = found
        notebook.page.set_viewport_size({"width": 1400, "height": 1000})
        assert cut == {}
        walk.quiet()


MINUTES = float(os.environ.get("WORKBENCH_SOAK_MINUTES", "0"))
"""How long the soak test works: once through everything by default; 60 for an hour."""

EDITS = ("lower()", "upper()")
MEMORY = "int(open('/proc/self/statm').read().split()[1]) * 4096 / 2**20"


@pytest.mark.parametrize("environment", ["notebook 7", "voila", "marimo"])
def test_an_hours_work_elsewhere(browser, request, environment):
    """Menus, keys, the mouse, labels, selections, the map and every mode, over the same table, without an error."""
    if environment == "notebook 7":
        server = request.getfixturevalue("notebook7")
        write_table(server.notebooks)
        page = opened(browser, server, server.write("stranger.ipynb", [MAPPED]), width=1400, height=1000)
    elif environment == "voila":
        server = request.getfixturevalue("voila")("stranger.ipynb", cells=[MAPPED], prepare=write_table)
        page = voila_page.opened(browser, server, width=1400, height=1000)
    else:
        request.getfixturevalue("marimo")  # skips without marimo
        with marimo_page.serve(MARIMO, write_table) as server, marimo_page.opened(browser, server) as view:
            worked(view, environment)
        return
    with page as view:
        if environment == "notebook 7":
            view.run_all()
            assert view.errors() == []
        worked(view, environment)


def worked(view, environment):
    """The app in a page, after an hour's work."""
    walk = Walk(view, f"stranger-{environment.replace(' ', '')}")
    walk.graded()
    work(walk)
    walk.sound("end", ".rail", ".mid", ".part-rows", ".foot")


def test_hours_of_work(browser, lab, table):
    """The same again and again with edits, for `WORKBENCH_SOAK_MINUTES`: no error in the console, and the kernel does not grow."""
    with shown(browser, lab, MAPPED) as notebook:
        walk = Walk(notebook, "soak")
        walk.graded()
        end, times, before = time.monotonic() + 60 * MINUTES, 0, 0.0
        while not times or time.monotonic() < end:
            work(walk, times)
            for at in range(2):
                walk.rewrite(EDITS[at], EDITS[1 - at])
                walk.graded()
            times += 1
            before = before or float(ask(notebook, MEMORY))  # once all is loaded
        after = float(ask(notebook, MEMORY))
        print(f"{times} times: {before:.0f} MiB, then {after:.0f} MiB")
        assert after < 1.25 * before + 20
        walk.quiet()
