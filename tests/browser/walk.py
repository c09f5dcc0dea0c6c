"""The app as a person walks through it: the same steps in JupyterLab, Notebook 7 and Voila."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from tests.browser.page import View

if TYPE_CHECKING:
    from collections.abc import Callable

    from playwright.sync_api import Locator

__all__ = ["GRADED", "MODES", "Walk", "number_in"]

MODES = {
    "Grade": ".mid",
    "Try": ".mode-try .says-table",
    "Label": ".mode-label .label-card",
    "Compare": ".mode-compare section",
    "Export": ".mode-export section",
    "History": ".mode-history section",
}
"""Each mode, and what stands in it once it is open."""

GRADED = """() => {
  const find = root => root.querySelector('.gwb')
    ?? [...root.querySelectorAll('*')].map(e => e.shadowRoot && find(e.shadowRoot)).find(Boolean) ?? null;
  const app = find(document);  // marimo shows it in a shadow root
  return app !== null && app.querySelector('.g .bar') !== null && app.querySelector('.working') === null
    && app.querySelector(':is(.answer, .outcome, .verdict, .finding).old, .fit-cell.busy') === null
    && ![...app.querySelectorAll('.other-text')].some(note => note.innerText.startsWith('Labels changed'))
    && !/^(grading|starting)\\b/.test(app.querySelector('.state').innerText.trim());
}"""
"""Whether the graders have bars, and nothing is under way, answers an older text or is without the last labels."""


def number_in(text: str) -> int:
    """The first whole number of a text."""
    found = re.search(r"\d[\d,]*", text)
    assert found, text
    return int(found[0].replace(",", ""))


class Walk:
    """One open app.

    Args:
        view: The page.
        name: Of its screenshots: where the app is shown.
    """

    def __init__(self, view: View, name: str) -> None:
        self.view, self.name = view, name
        self.app.wait_for()

    @property
    def app(self) -> Locator:
        """The app."""
        return self.view.find(".gwb").first

    def at(self, selector: str) -> Locator:
        """The first element of the app that fits."""
        return self.app.locator(selector).first

    def press(self, *keys: str) -> None:
        """Press keys, one after the other, where the focus is."""
        for key in keys:
            self.view.page.keyboard.press(key)

    def press_text(self, text: str) -> None:
        """Type a text where the focus is."""
        self.view.page.keyboard.type(text)

    def rewrite(self, before: str, after: str) -> None:
        """Write another text in place of a piece of the chosen grader's, in its editor."""
        editor = self.at(".mid .cm-content")
        if self.app.locator(".mid .cm-foldPlaceholder").count():
            self.at(".mid .cm-foldPlaceholder").click()
        self.view.expect(editor).to_contain_text(before)
        whole = "\n".join(editor.locator(".cm-line").all_text_contents())
        assert before in whole
        editor.focus()
        self.press("Control+a")
        self.view.page.keyboard.insert_text(whole.replace(before, after))

    def focus(self) -> None:
        """Give the focus to the app, and to no part of it."""
        self.at("main.app").focus()

    def graded(self) -> None:
        """Until the page has graded its rows, by itself."""
        self.view.until(GRADED)

    def open(self, mode: str) -> None:
        """Open a mode by its name in the head, unless it is open."""
        button = self.app.locator("nav.modes").get_by_role("button", name=mode, exact=True)
        if button.get_attribute("aria-current") != "page":
            button.click()
        self.opened(mode)

    def opened(self, mode: str) -> None:
        """Until a mode is open."""
        self.at(MODES[mode]).wait_for()
        self.graded()

    def drop(self, *paths: Path, on: str = "main.app", looks: Callable[[], object] = lambda: None) -> None:
        """Drag files from the disk over the app and drop them, as the browser tells the page of it.

        Args:
            paths: The files.
            on: Over which element.
            looks: Called while they hang over the app.
        """
        box = self.at(on).bounding_box()
        assert box is not None
        at = {"x": box["x"] + box["width"] / 2, "y": box["y"] + box["height"] / 2}
        data = {"items": [], "files": [str(path) for path in paths], "dragOperationsMask": 1}
        browser = self.view.page.context.new_cdp_session(self.view.page)
        for kind in ("dragEnter", "dragOver"):
            browser.send("Input.dispatchDragEvent", {"type": kind, **at, "data": data})
        self.at(".drop-here").wait_for()
        looks()
        browser.send("Input.dispatchDragEvent", {"type": "drop", **at, "data": data})
        self.at(".drop-here").wait_for(state="detached")
        browser.detach()

    def sound(self, what: str, *parts: str) -> Path:
        """Write a screenshot, and see that the named parts have a size and lie apart."""
        found = [self.app.locator(part) for part in parts]
        return self.view.sound(f"{self.name}-{what}", *found, of=self.app)

    def choose(self, grader: str) -> None:
        """Choose a grader by its name in the list."""
        self.app.locator(".g .choose").get_by_text(grader, exact=True).click()
        self.view.expect(self.at(".mid h2.name")).to_have_text(grader)
        self.graded()

    def shown(self) -> int:
        """How many rows the line above the table says there are."""
        return number_in(self.at(".part-rows .head .small").inner_text())

    def wait_shown(self, count: int) -> None:
        """Until the line above the table and the table itself have so many rows."""
        self.view.expect(self.at(".part-rows .head .small")).to_have_text(re.compile(rf"^{count:,}\b"))
        self.view.expect(self.at(".grid")).to_have_attribute("aria-rowcount", str(count + 1))

    def finding(self) -> int:
        """Click the number of the leading finding: the table has exactly its rows; how many."""
        link = self.at(".answer > .finding .link")
        count = number_in(link.inner_text())
        link.click()
        self.wait_shown(count)
        return count

    def read(self) -> None:
        """Click a row, read it, go on by keys, and come back to the table."""
        rows = self.app.locator(".grid .tr")
        rows.first.click()
        self.view.expect(self.at(".reader .place")).to_have_text(re.compile("^1 of "))
        self.at(".grid").focus()
        self.press("ArrowDown")
        self.view.expect(self.at(".reader .place")).to_have_text(re.compile("^2 of "))
        self.view.expect(rows.nth(1)).to_have_attribute("aria-selected", "true")
        self.press("ArrowUp")
        self.view.expect(self.at(".reader .place")).to_have_text(re.compile("^1 of "))
        self.press("Enter")
        self.view.expect(self.at(".reader .text")).to_be_focused()
        self.sound("reader", ".rail", ".mid", ".grid", ".reader", ".foot")
        self.press("Escape")
        self.view.expect(self.at(".grid")).to_be_focused()
        self.at(".reader").wait_for(state="detached")
        self.press("ArrowDown")
        self.view.expect(self.at(".reader .place")).to_have_text(re.compile("^2 of "))
        self.app.get_by_role("button", name="close the reader").click()
        self.at(".reader").wait_for(state="detached")
        self.view.expect(self.at(".grid")).to_be_focused()

    def keys(self) -> None:
        """Search by `/`, help by `?`, a mode by `g` and its number."""
        before = self.shown()
        self.press("/")
        search = self.at(".part-rows input[type=search]")
        self.view.expect(search).to_be_focused()
        search.press_sequentially("answer")
        self.view.expect(self.at(".grid mark")).to_have_text(re.compile("answer", re.IGNORECASE))
        assert self.shown() <= before
        self.press("Escape")
        self.wait_shown(before)
        self.focus()
        self.press("?")
        self.at("[role=dialog] .keysheet").wait_for()
        self.view.picture(f"{self.name}-help")
        self.press("Escape")
        self.at("[role=dialog]").wait_for(state="detached")
        self.focus()
        self.press("g", "3")
        self.opened("Label")

    def label(self, count: int = 5) -> None:
        """Label rows by keys without a pause, take the last back and decide it again: none is lost."""
        self.open("Label")
        self.at(".label-card .texts").wait_for()
        self.view.expect(self.at(".label-card")).to_be_focused()
        before = self.decided()
        self.press(*("10"[at % 2] for at in range(count)))
        self.wait_decided(before + count)
        self.press("u")
        self.wait_decided(before + count - 1)
        self.press("01"[count % 2])
        self.wait_decided(before + count)
        self.sound("label", ".label-card", ".rail", ".foot")

    def decided(self) -> int:
        """How many rows are labelled."""
        return number_in(self.at(".mode-label .head b").inner_text())

    def wait_decided(self, count: int) -> None:
        """Until so many are labelled, and all of them stored."""
        self.view.expect(self.at(".mode-label .head b")).to_have_text(f"{count:,}")
        self.at(".mode-label .to-store").wait_for(state="detached")

    def attempt(self) -> None:
        """Change the answer of a row: the scores of all graders follow."""
        self.open("Try")
        answer, expected = self.at("textarea.yours"), self.at("textarea.expected")
        line = self.app.locator(".says-table tbody tr").filter(has_text="contains_number")
        score = line.locator("td").last.locator(".score-of")
        self.view.expect(expected).not_to_have_value("")
        answer.fill("no number at all")
        self.view.expect(score).to_have_text("0")
        answer.fill(f"It is {expected.input_value()}.")
        self.view.expect(score).to_have_text("1")
        self.sound("try", "textarea.yours", ".says-table", ".rail", ".foot")

    def compare(self) -> None:
        """Read what two graders say, and click a group of rows: the list has exactly these."""
        self.open("Compare")
        groups = self.app.locator(".quadrants button")
        self.view.expect(groups).to_have_count(4)
        counts = [number_in(text) for text in groups.locator(".number").all_inner_texts()]
        drawn = number_in(self.at(".mode-compare .head .rows").inner_text())
        assert sum(counts) == drawn
        groups.nth(3).click()
        self.view.expect(groups.nth(3)).to_have_attribute("aria-pressed", "true")
        self.view.expect(self.at(".mode-compare input[type=search]")).to_have_attribute(
            "placeholder", f"Search {counts[3]:,} rows"
        )
        self.sound("compare", ".quadrants", ".rail", ".foot")

    def export(self, file: str) -> None:
        """See which platform can take what, and write our own format's file."""
        self.open("Export")
        self.at("table.fit .fit-cell").wait_for()
        self.at("table.fit .names").get_by_role("button", name=re.compile("native")).click()
        self.at(".export-panel .setting").wait_for()
        prove = self.at(".export-panel .not_validated button")
        if prove.count():
            prove.click()
            self.at(".export-panel .not_validated").wait_for(state="detached")
        self.at(".export-panel .setting input").fill(file)
        self.at(".export-buttons .main").click()
        self.view.expect(self.at(".export-panel .outcome")).to_contain_text(file)
        self.sound("export", "table.fit", ".export-panel", ".rail", ".foot")

    def history(self) -> None:
        """See the runs of these rows."""
        self.open("History")
        self.at(".mode-history .scroll").wait_for()
        self.sound("history", ".mode-history .scroll", ".rail", ".foot")

    def quiet(self) -> None:
        """The page made no noise, asked nobody else and reports no problem."""
        assert self.view.trouble.console == [], self.view.trouble.console
        assert self.view.trouble.strangers == [], self.view.trouble.strangers
        self.view.expect(self.app.locator(".problem")).to_have_count(0)

    def all(self, file: str) -> None:
        """Every mode's main path; `file` is what Export writes."""
        self.graded()
        self.sound("grade", ".rail", ".mid", ".part-rows", ".foot")
        self.finding()
        self.read()
        self.keys()
        self.label()
        self.attempt()
        self.compare()
        self.export(file)
        self.history()
        self.open("Grade")
        self.quiet()
