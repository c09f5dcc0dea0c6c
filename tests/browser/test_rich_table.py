"""What rows may contain, with long names, at every width: whole, in sight, in its own direction, as its reader saw it."""

from __future__ import annotations

import contextlib

import pytest

from tests.browser import look
from tests.browser.layout import assert_fits, violations
from tests.browser.rich_table import ARABIC, CALL, CELL, CODE, MAIL, write_rich_table
from tests.browser.stranger import shown
from tests.browser.test_stranger import CUT, NAMES_CUT, WIDTHS
from tests.browser.test_workbench_look import folded, widen
from tests.browser.walk import MODES, Walk

HALF_WORDS = """() => {
  const found = [];
  const walker = document.createTreeWalker(document.querySelector('.gwb main'), NodeFilter.SHOW_TEXT);
  for (let text = walker.nextNode(); text; text = walker.nextNode()) {
    if (text.parentElement.closest('.cm-editor, .unseen, svg, option, textarea') || !text.parentElement.checkVisibility()) continue;
    for (const word of text.data.matchAll(/(?<!\\p{L})\\p{L}{2,22}(?!\\p{L})/gu)) {
      const range = document.createRange();
      range.setStart(text, word.index);
      range.setEnd(text, word.index + word[0].length);
      const lines = new Set([...range.getClientRects()].filter(box => box.width > 0.5).map(box => Math.round(box.top)));
      if (lines.size > 1) found.push(`${word[0]} in ${text.data.slice(0, 60)}`);
    }
  }
  return found;
}"""
"""Words of which a part is on another line."""

ENDS = """part => {
  const walker = document.createTreeWalker(part, NodeFilter.SHOW_TEXT);
  let last = null;
  for (let text = walker.nextNode(); text; text = walker.nextNode()) if (text.data.trim()) last = text;
  const range = document.createRange(), at = last.data.trimEnd().length;
  range.setStart(last, at - 1);
  range.setEnd(last, at);
  const box = part.getBoundingClientRect(), sign = range.getBoundingClientRect();
  return [sign.left - box.left, box.right - sign.right];
}"""
"""Pixels from the left and from the right edge of a text to its last sign."""


@pytest.fixture(scope="module")
def rich(browser, lab):
    """The table with its twelve graders, graded, the list of files folded away; once for all tests."""
    write_rich_table(lab.notebooks)
    with shown(browser, lab, CELL) as notebook, folded(notebook):
        walk = Walk(notebook, "rich")
        walk.graded()
        yield walk


@pytest.fixture
def walk(rich):
    """The first mode is open."""
    rich.open("Grade")
    yield rich
    rich.quiet()


def read_row(walk, row):
    """Open a row of the table by its place."""
    walk.at(".grid").evaluate("grid => { grid.scrollTop = 0; }")
    walk.app.locator(".grid .tr").nth(row).click()
    walk.view.expect(walk.at(".reader .place")).to_contain_text(f"{row + 1} of ")


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_is_whole_in_every_mode_and_width(walk, axe, theme):
    """No part is too wide, no text or name is cut, no word is broken, and axe-core has no objection."""
    found = {}
    with walk.view.dark() if theme == "dark" else contextlib.nullcontext():
        for width in WIDTHS:
            widen(walk, width)
            for mode in MODES:
                walk.open(mode)
                assert_fits(walk)
                page = walk.view.page
                page.evaluate(look.FRAMES)
                walk.view.picture(f"rich-{theme}-{mode.lower()}-{width}", walk.app)
                if wrong := page.evaluate(NAMES_CUT) + page.evaluate(CUT) + page.evaluate(HALF_WORDS):
                    found[mode, width] = wrong
                if width in {600, 1200} and (wrong := violations(walk, axe)):
                    found[mode, width] = wrong
        widen(walk, 1200)
    assert found == {}


def test_a_mode_is_not_a_screen_away_in_a_narrow_view(walk):
    """Beside Grade the list of graders is folded there; a button opens it."""
    widen(walk, 600)
    top = walk.app.bounding_box()["y"]
    for mode in ("Label", "Try", "Compare", "Export", "History"):
        walk.open(mode)
        assert walk.at(".mode section").bounding_box()["y"] - top < 180, mode
    walk.app.get_by_role("button", name="Show", exact=True).click()
    walk.view.expect(walk.at(".rail .choose")).to_be_visible()
    walk.app.get_by_role("button", name="Hide", exact=True).click()
    walk.view.expect(walk.at(".rail .choose")).to_be_hidden()
    widen(walk, 1200)
    walk.open("Grade")
    walk.view.expect(walk.at(".rail .choose")).to_be_visible()


def test_a_text_begins_where_its_language_begins(walk):
    """The full stop of an Arabic text is at its left end: in the table, in the reader and on a card."""
    widen(walk, 1200)
    read_row(walk, ARABIC)
    for part in (
        walk.app.locator(".grid .tr").nth(ARABIC).locator(".ans").first,
        walk.app.locator(".reader .words").nth(1),
    ):
        left, right = part.evaluate(ENDS)
        assert left < right
    left, right = walk.app.locator(".reader .words").first.evaluate(ENDS)
    assert left > 0
    walk.press("Escape")


def test_a_row_is_read_as_its_reader_saw_it(walk):
    """E-mail with its headers, calls by their tools, code by lines; the opened row stays in sight above the reader."""
    widen(walk, 1200)
    app, expect = walk.app, walk.view.expect
    read_row(walk, MAIL)
    expect(app.locator(".reader .mail-head dd").first).to_have_text("support@example.org")
    read_row(walk, CALL)
    expect(app.locator(".reader .called b")).to_have_text("sum_invoice")
    row, grid = app.locator(".grid .tr[aria-selected=true]").bounding_box(), walk.at(".grid").bounding_box()
    assert row["y"] + row["height"] <= grid["y"] + grid["height"] + 1
    read_row(walk, CODE)
    expect(app.locator(".reader .markdown pre")).to_contain_text("def total")
    assert walk.view.page.evaluate(HALF_WORDS) == []
    walk.press("m")
    expect(app.locator(".reader .words").nth(1)).to_contain_text("```python")
    walk.press("m", "Escape")


def test_the_enlarged_reader_is_in_sight(walk):
    """In a narrow view, where it covers more than a screen, its text is at the top of the window."""
    widen(walk, 600)
    read_row(walk, 0)
    walk.app.get_by_role("button", name="larger reader").click()
    expect = walk.view.expect
    expect(walk.at(".reader.large .head")).to_be_in_viewport()
    expect(walk.at(".reader.large .text .words")).to_be_in_viewport()
    walk.press("Escape", "Escape")
    widen(walk, 1200)
