"""The Results panel: distributions, findings, and the rows behind whatever is clicked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations, pairwise
from typing import TYPE_CHECKING, Any

import ipywidgets as widgets

from workbench.diagnostics import Finding
from workbench.display_text import one_line
from workbench.plots import FIGURES, figures_for
from workbench.report.where import condition_text, graders_in
from workbench.session.report_rows import ReportRows
from workbench.widgets.panels.panel import Panel, heading, options, remark, replace_options, row, two_columns
from workbench.widgets.panels.refresh_button import relabel_button
from workbench.widgets.views.chart import Chart
from workbench.widgets.views.finding_cards import FindingCards
from workbench.widgets.views.table import ScoreTable

if TYPE_CHECKING:
    from workbench.report import Report

__all__ = ["ResultsPanel", "conditions_of", "quick_filters"]

_COLUMNS = 6
"""Graders with a column in the table: those that a filter is about come first."""
_MANY = 4
"""More graders than these begin with the overview, one line each."""


class ResultsPanel(Panel):
    """What a run says: figures, findings as cards, and a table with a reader.

    A click on a bar, a cell or a card shows exactly its rows; what is shown is `session.results.where`. Figures and findings are
    whatever is registered in `workbench.plots` and `workbench.diagnostics`. See `Panel` for the arguments.
    """

    title = "Results"
    css = "results"

    def build(self) -> Sequence[Any]:
        """See `Panel`."""
        self.figure = widgets.Dropdown(description="Figure", options=options([("", "scores")]))
        self.grader = widgets.Dropdown(description="Grader", options=options([("all graders", "")]))
        self.chart = Chart(label="Scores")
        self.findings = FindingCards(empty="Run graders to see what is wrong with them.")
        self.relabel = relabel_button(self)
        self._picked: Conditions = ()
        self._filters: list[tuple[str, tuple[dict[str, Any], ...]]] = []
        self.quick = widgets.Dropdown(description="Show")
        self.search = widgets.Text(
            placeholder="words in a row", description="Search", continuous_update=False
        )
        self.clear = widgets.Button(description="All rows", icon="times")
        self.shown = widgets.HTML()
        self.shown.add_class("wb-shown")
        self.table = ScoreTable(label="Rows of the run")
        self._rows: ReportRows | None = None
        self._listen()
        controls = row(self.figure, self.grader)
        filters = row(self.quick, self.search, self.clear, self.shown)
        findings = [controls, self.chart, row(heading("Findings"), self.relabel), self.findings]
        return [two_columns(findings, [heading("Rows"), filters, self.table])]

    def _listen(self) -> None:
        self.figure.observe(self.callback(self._draw), "value")
        self.grader.observe(self.callback(self._draw), "value")
        self.grader.observe(self.callback(self._show_findings), "value")
        self.chart.on_pick(lambda picks: self.callback(lambda: self._show_marks(picks))())
        self.findings.on_pick(lambda finding: self.callback(lambda: self._show_rows_of(finding))())
        self.quick.observe(self.callback(self._apply_quick_filter), "value")
        self.search.observe(self.callback(self._search), "value")
        self.clear.on_click(self.callback(self._show_all))
        self.table.on_select(lambda position: self.callback(lambda: self._read(position))())
        self.watch(self.refresh, self.session.results, "report")
        self.watch(self._show_rows, self.session.results, "where")

    def refresh(self) -> None:
        """See `Panel`."""
        report = self.session.results.report
        self._show_controls(report is not None)
        if report is None:
            return
        kinds = figures_for(report)
        first = "overview" if len(report.graders) > _MANY else "scores"
        had_report = self._rows is not None  # the first report decides what is seen first
        replace_options(self.figure, [(kind.title, kind.name) for kind in kinds], first, keep=had_report)
        replace_options(self.grader, [("all graders", ""), *((name, name) for name in report.graders)])
        self._show_quick_filters()
        self._draw()
        self._show_rows()
        self._show_findings()  # last: a diagnostic that fails leaves figure and rows

    def _show_controls(self, visible: bool) -> None:
        for part in (self.figure, self.grader, self.chart, self.quick, self.search, self.clear, self.table):
            part.layout.display = "" if visible else "none"

    def _show_findings(self) -> None:
        """Of the chosen grader, or of all."""
        report, grader = self.session.results.report, self.grader.value
        if report is None:
            return
        one_grader = grader in report.graders
        findings = [finding for finding in report.findings if finding.grader == grader or not one_grader]
        name = one_line(grader, 80) if one_grader else "these graders"
        self.findings.show(findings, empty=f"No findings: nothing speaks against {name}.")
        self._mark()

    def _mark(self) -> None:
        """The card and the marks of the figure whose rows are shown."""
        where = self.session.results.where
        self.findings.mark([tuple(condition["finding"]) for condition in where if "finding" in condition])
        if _without_words(where) != [*self._picked]:
            self._picked, self.chart.picked = (), []

    def _draw(self) -> None:
        report = self.session.results.report
        kind = FIGURES.get(self.figure.value or "")
        if report is None or kind is None:
            return
        grader = self.grader.value
        names = [grader] if grader in report.graders and not kind.all_graders else None
        self.chart.label = f"{kind.title}: {', '.join(names or report.graders)}"
        self.chart.figure = kind.draw(report, names)

    def _show_quick_filters(self) -> None:
        """Rows people look for, one choice each."""
        report = self.session.results.report
        self._filters = [("all rows", ()), *(quick_filters(report) if report is not None else [])]
        self.quick.options = options((title, number) for number, (title, _) in enumerate(self._filters))
        self.quick.index = 0

    def _show_marks(self, picks: Sequence[Any]) -> None:
        self._picked = conditions_of(picks)
        self.session.results.look(*self._picked, *self._words)

    @property
    def _words(self) -> list[Mapping[str, Any]]:
        """The search goes on when something is clicked."""
        return [condition for condition in self.session.results.where if "text" in condition]

    def _show_rows_of(self, finding: Finding) -> None:
        self.session.results.look({"finding": [finding.grader, finding.kind]}, *self._words)

    def _apply_quick_filter(self) -> None:
        number = self.quick.value
        if number is not None and number < len(self._filters):
            self.session.results.look(*self._filters[number][1], *self._words)

    def _search(self) -> None:
        words = self.search.value.strip()
        self.session.results.look(
            *_without_words(self.session.results.where), *([{"text": words}] if words else [])
        )

    def _show_all(self) -> None:
        self.quick.value, self.search.value = 0, ""
        self.session.results.look()

    def _show_rows(self) -> None:
        report, where = self.session.results.report, self.session.results.where
        if report is None:
            return
        rows = report.row_numbers(*where)
        filtered = [name for condition in where for name in graders_in(condition) if name in report.graders]
        chosen = [self.grader.value] if self.grader.value else []
        by_relevance = list(dict.fromkeys([*filtered, *chosen, *report.graders]))
        shown = [name for name in report.graders if name in by_relevance[:_COLUMNS]]
        reasons = filtered[0] if filtered else shown[0] if len(shown) == 1 else None
        self._rows = ReportRows(
            report,
            rows,
            graders=shown,
            reasons=reasons,
            labels=self.session.labels.for_display(report.samples),
        )
        self.table.source = self._rows
        self._show_filter(where)
        self._mark()
        count = f"{len(rows):,} of {len(report):,} rows"
        self.shown.value = (
            f"<b>{count}</b> {remark(' and '.join(map(condition_text, where)))}" if where else remark(count)
        )

    def _show_filter(self, where: Sequence[Mapping[str, Any]]) -> None:
        """Show in the list and the search box which rows are shown, wherever they were chosen."""
        quick: list[Any] = [list(conditions) for _, conditions in self._filters]
        chosen = _without_words(where)
        self.quick.index = quick.index(chosen) if chosen in quick else None
        self.search.value = next((str(words["text"]) for words in where if "text" in words), "")

    def _read(self, position: int) -> None:
        if self._rows is not None:
            self.session.results.row = int(self._rows.rows[position])


Conditions = tuple[dict[str, Any], ...]


def _without_words(where: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    return [condition for condition in where if "text" not in condition]


def quick_filters(report: Report) -> list[tuple[str, Conditions]]:
    """What people look for first in a report: mistakes, failures, differences; title and conditions."""
    names, filters = report.graders, list[tuple[str, Conditions]]()
    if report.labels is not None:
        filters += [(f"{name} differs from the label", ({"wrong": name},)) for name in names]
        words = {"labelled good": True, "labelled bad": False, "not labelled": None}
        filters += [(title, ({"label": label},)) for title, label in words.items()]
    filters += [(f"{a} and {b} differ", ({"scaled_apart": [a, b], "least": 0.5},)) for a, b in _pairs(names)]
    for status in ("failed", "skipped"):
        affected = [name for name in names if getattr(report.grades[name], f"n_{status}")]
        filters += [(f"{name} {status}", ({"grader": name, "status": status},)) for name in affected]
    return filters


def _pairs(graders: Sequence[str]) -> list[tuple[str, str]]:
    """All pairs; of many graders neighbours only, since nobody reads a list of hundreds."""
    return list(combinations(graders, 2) if len(graders) <= _MANY else pairwise(graders))


def conditions_of(picks: Sequence[Any]) -> Conditions:
    """Marks of a figure as one choice: one is its conditions, several the bin they span, or any of them.

    Args:
        picks: `customdata` of the marks; those without conditions are left out.
    """
    marks = [list(mark) for mark in picks if isinstance(mark, list | tuple) and mark]
    return _spanned(marks) if len(marks) > 1 else tuple(marks[0]) if marks else ()


def _spanned(marks: Sequence[Sequence[dict[str, Any]]]) -> Conditions:
    """Bins of one grader side by side as the bin they span, else whatever meets one of the marks."""
    bins = [mark[0]["score"] for mark in marks if len(mark) == 1 and set(mark[0]) == {"grader", "score"}]
    graders = {mark[0].get("grader") for mark in marks}
    if len(bins) == len(marks) and len(graders) == 1:
        lows, highs = zip(*bins, strict=True)
        return ({"grader": graders.pop(), "score": [min(lows), max(highs)]},)
    return ({"any": [list(mark) for mark in marks]},)
