"""The Workbench as a person walks through it: the same steps in JupyterLab, Notebook 7 and Voila."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tests.browser import look
from tests.browser.page import View

if TYPE_CHECKING:
    from playwright.sync_api import Locator

__all__ = ["Walk"]


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
        return self.view.find(".wb-app").first

    def open(self, panel: str) -> Locator:
        """Open a panel by its tab; the panel."""
        self.app.get_by_role("tab", name=panel, exact=True).click()
        opened = self.view.find(f".wb-panel.wb-{panel.lower()}").first
        opened.wait_for()
        return opened

    def sound(self, panel: str, *elements: str) -> None:
        """Write a screenshot of a panel, and see that its parts have a size and lie apart."""
        self.view.sound(
            f"{self.name}-{panel}", *[f".wb-panel.wb-{panel} {one}" for one in elements], of=self.app
        )

    def write(self) -> None:
        """Prove the first grader, write another from a template, and keep that in the store."""
        self.open("Write")
        self.view.click(".wb-prove")
        self.view.wait_text(".wb-write b.wb-ok", "validated")
        marks = self.view.find(".wb-write .wb-checks td:nth-child(1)")
        for at in range(5):
            self.view.expect(marks.nth(at)).to_have_text("✓")
        self.view.wait_text(".wb-isolation", "isolation of this machine")
        self.view.find(".wb-write select").nth(1).select_option("keywords")
        self.view.find(".wb-editor textarea").wait_for()
        self.view.click(".wb-add")
        self.view.wait_text(".wb-write .wb-source", "mentions as exported")
        self.view.wait_text(".wb-write b.wb-ok", "validated")
        self.view.click(".wb-keep")
        self.view.wait_text(".wb-write", "kept in the store, version 1")
        self.sound("write", ".wb-source", ".wb-editor", ".wb-checks")

    def attempt(self) -> None:
        """Grade one row with all graders; change its answer and see the scores change."""
        self.open("Try")
        self.view.wait_text(".wb-tried", re.compile(r"exact_match"))
        answer = self.view.find(".wb-answer textarea").first
        self.view.expect(answer).not_to_have_value(
            ""
        )  # the row's own has come, and will not overwrite what is typed
        answer.fill("no number at all")
        answer.press("Tab")
        self.view.wait_text(".wb-tried tr:has-text('contains_number')", re.compile(r"^contains_number\s*0"))
        self.view.click("button:has-text('Random row')")
        self.view.wait_text(".wb-tried", re.compile(r"contains_number\s*[01]"))
        self.sound("try", ".wb-answer", ".wb-tried")

    def run(self, rows: int = 300) -> None:
        """Draw rows and grade them."""
        self.open("Run")
        count = self.view.find(".wb-run input[type=number]").first
        count.fill(str(rows))
        count.press("Tab")
        self.view.wait_text(".wb-run", f"{rows} of 960 rows")
        self.view.click(".wb-start")
        self.view.wait_text(".wb-status", f"done: {rows} rows")
        self.sound("run", ".wb-start", ".wb-stop", ".wb-status")

    def results(self) -> None:
        """Click the first finding, then a bar: each shows its rows; read one."""
        self.open("Results")
        self.view.find(".wb-results .main-svg").first.wait_for()
        finding = self.view.wait_text(".wb-finding", "too lenient")
        finding.click()
        self.view.wait_text(".wb-shown", "too lenient")
        self.view.expect(".wb-results .wb-table").to_be_in_viewport(ratio=0.9)
        rows = self.view.find(".wb-results .wb-table [role=row]")
        rows.nth(1).wait_for()
        self.view.find(".wb-results .wb-table [role=row]:not([aria-busy])").nth(1).click()
        self.view.find(".wb-results .wb-reader, .wb-results .wb-table-reader").first.wait_for()
        self.view.wait_text(".wb-results .wb-table-reader", "assistant")
        self.sound("results", ".wb-chart .main-svg >> nth=0", ".wb-findings", ".wb-table")
        self.bar()

    def bar(self) -> None:
        """Click the rightmost bar of the first grader."""
        bars = self.view.find(".wb-results .wb-chart .barlayer .trace").first.locator(".point path")
        last = bars.last
        last.scroll_into_view_if_needed()
        look.wait_still(self.view.page, [last])
        box = last.bounding_box()
        assert box is not None
        middle = (box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
        self.view.page.mouse.move(*middle)
        self.view.find(".wb-results .hoverlayer .hovertext").first.wait_for()
        self.view.page.mouse.click(*middle)
        self.view.wait_text(".wb-shown", re.compile("score 0.95 to 1"))

    def label(self, count: int = 3) -> None:
        """Label by keys, and take the last back."""
        self.open("Label")
        card = self.view.find(".wb-label .wb-card").first
        card.focus()
        for at in range(count):
            self.view.find(".wb-card-good[aria-disabled=false]").first.wait_for()  # the card is here
            card.press("10"[at % 2])
            self.view.wait_text(".wb-label .wb-card", f"{at + 1} of ")
        self.view.wait_text(".wb-label", re.compile(rf"{(count + 1) // 2} good, {count // 2} bad"))
        card.press("u")
        self.view.wait_text(".wb-label .wb-card", re.compile(rf"^\s*{count - 1} of "))
        self.view.find(".wb-card-good[aria-disabled=false]").first.wait_for()
        card.press("1")
        self.view.wait_text(".wb-label .wb-card", f"{count} of ")
        self.sound("label", ".wb-card")

    def compare(self) -> None:
        """Read the verdict on two graders, and click a cell of their matrix."""
        self.open("Compare")
        self.view.wait_text(".wb-verdict", "contains_number")
        self.view.find(".wb-compare .wb-chart .main-svg").first.wait_for()
        self.view.find(".wb-compare .wb-table [role=row]:not([aria-busy])").nth(1).wait_for()
        self.sound("compare", ".wb-verdict", ".wb-chart .main-svg >> nth=0", ".wb-table")

    def export(self) -> None:
        """See what is refused, prove all, and see the file that would be written."""
        self.open("Export")
        self.view.wait_text(".wb-losses", "not validated")
        self.view.click(".wb-export button:has-text('Validate all')")
        self.view.wait_text(".wb-export .wb-source", "grader-workbench")
        self.sound("export", ".wb-source", ".wb-write-file")

    def quiet(self) -> None:
        """The page made no noise and asked nobody else."""
        assert self.view.trouble.console == []
        assert self.view.trouble.strangers == []
        self.view.expect(".wb-problem").to_have_count(0)

    def all(self) -> None:
        """Every panel's main path."""
        for step in (self.write, self.attempt, self.run, self.results, self.label, self.compare, self.export):
            step()
        self.quiet()
