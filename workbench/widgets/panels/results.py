"""The Results panel: distributions, findings, and the rows behind whatever is clicked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations, pairwise
from typing import TYPE_CHECKING, Any

import ipywidgets as widgets

from workbench.diagnostics import Finding
from workbench.display_text import one_line
from workbench.plots import FIGURES, figures
from workbench.report.where import graders_in, told
from workbench.session.report_rows import ReportRows
from workbench.widgets.panels.panel import Panel, beside, heading, options, quiet, replace_options, row
from workbench.widgets.panels.refresh_button import relabel_button
from workbench.widgets.views.chart import Chart
from workbench.widgets.views.finding_cards import FindingCards
from workbench.widgets.views.table import ScoreTable

if TYPE_CHECKING:
    from workbench.report import Report

__all__ = ["ResultsPanel", "picked", "quick_filters"]

_COLUMNS = 6
"""Graders with a column in the table: those that a filter is about come first."""
_MANY = 4
"""More graders than these begin with the overview, one line each."""


class ResultsPanel(Panel):
    """What a run says: figures, findings as cards, and a table with a reader.

    A click on a bar, a cell or a card shows exactly its rows; what is shown is `state.where`. Figures and findings are
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
        said = [controls, self.chart, row(heading("Findings"), self.relabel), self.findings]
        return [beside(said, [heading("Rows"), filters, self.table])]

    def _listen(self) -> None:
        self.figure.observe(self.acts(self._draw), "value")
        self.grader.observe(self.acts(self._draw), "value")
        self.grader.observe(self.acts(self._show_findings), "value")
        self.chart.on_pick(lambda picks: self.acts(lambda: self._pick(picks))())
        self.findings.on_pick(lambda finding: self.acts(lambda: self._open(finding))())
        self.quick.observe(self.acts(self._choose), "value")
        self.search.observe(self.acts(self._seek), "value")
        self.clear.on_click(self.acts(self._clear))
        self.table.on_select(lambda at: self.acts(lambda: self._read(at))())
        self.watch(self.refresh, "report")
        self.watch(self._filter, "where")

    def refresh(self) -> None:
        """See `Panel`."""
        report = self.state.report
        self._empty(report is None)
        if report is None:
            return
        kinds = figures(report)
        first = "overview" if len(report.graders) > _MANY else "scores"
        seen = self._rows is not None  # the first report decides what is seen first
        replace_options(self.figure, [(one.title, one.name) for one in kinds], first, keep=seen)
        replace_options(self.grader, [("all graders", ""), *((name, name) for name in report.graders)])
        self._offer_filters()
        self._draw()
        self._filter()
        self._show_findings()  # last: a diagnostic that fails leaves figure and rows

    def _empty(self, nothing: bool) -> None:
        for part in (self.figure, self.grader, self.chart, self.quick, self.search, self.clear, self.table):
            part.layout.display = "none" if nothing else ""

    def _show_findings(self) -> None:
        """Of the chosen grader, or of all."""
        report, one = self.state.report, self.grader.value
        if report is None:
            return
        about = [finding for finding in report.findings if finding.grader == one or one not in report.graders]
        whom = one_line(one, 80) if one in report.graders else "these graders"
        self.findings.show(about, empty=f"No findings: nothing speaks against {whom}.")
        self._mark()

    def _mark(self) -> None:
        """The card and the marks of the figure whose rows are shown."""
        where = self.state.where
        self.findings.mark([tuple(one["finding"]) for one in where if "finding" in one])
        if _without_words(where) != [*self._picked]:
            self._picked, self.chart.picked = (), []

    def _draw(self) -> None:
        report = self.state.report
        kind = FIGURES.get(self.figure.value or "")
        if report is None or kind is None:
            return
        one = self.grader.value
        names = [one] if one in report.graders and not kind.whole else None
        self.chart.label = f"{kind.title}: {', '.join(names or report.graders)}"
        self.chart.figure = kind.draw(report, names)

    def _offer_filters(self) -> None:
        """Rows people look for, one choice each."""
        report = self.state.report
        self._filters = [("all rows", ()), *(quick_filters(report) if report is not None else [])]
        self.quick.options = options((title, at) for at, (title, _) in enumerate(self._filters))
        self.quick.index = 0

    def _pick(self, picks: Sequence[Any]) -> None:
        self._picked = picked(picks)
        self.state.look(*self._picked, *self._words)

    @property
    def _words(self) -> list[Mapping[str, Any]]:
        """The search goes on when something is clicked."""
        return [one for one in self.state.where if "text" in one]

    def _open(self, finding: Finding) -> None:
        self.state.look({"finding": [finding.grader, finding.kind]}, *self._words)

    def _choose(self) -> None:
        at = self.quick.value
        if at is not None and at < len(self._filters):
            self.state.look(*self._filters[at][1], *self._words)

    def _seek(self) -> None:
        words = self.search.value.strip()
        self.state.look(*_without_words(self.state.where), *([{"text": words}] if words else []))

    def _clear(self) -> None:
        self.quick.value, self.search.value = 0, ""
        self.state.look()

    def _filter(self) -> None:
        report, where = self.state.report, self.state.where
        if report is None:
            return
        rows = report.row_numbers(*where)
        meant = [name for one in where for name in graders_in(one) if name in report.graders]
        first = list(
            dict.fromkeys([*meant, *([self.grader.value] if self.grader.value else []), *report.graders])
        )
        shown = [name for name in report.graders if name in first[:_COLUMNS]]
        reasons = meant[0] if meant else shown[0] if len(shown) == 1 else None
        self._rows = ReportRows(
            report, rows, graders=shown, reasons=reasons, labels=self.state.labelling.shown(report.samples)
        )
        self.table.source = self._rows
        self._tell_filter(where)
        self._mark()
        count = f"{len(rows):,} of {len(report):,} rows"
        self.shown.value = (
            f"<b>{count}</b> {quiet(' and '.join(map(told, where)))}" if where else quiet(count)
        )

    def _tell_filter(self, where: Sequence[Mapping[str, Any]]) -> None:
        """The list and the search box say what is shown, however it came to be."""
        known: list[Any] = [list(conditions) for _, conditions in self._filters]
        chosen = _without_words(where)
        self.quick.index = known.index(chosen) if chosen in known else None
        self.search.value = next((str(one["text"]) for one in where if "text" in one), "")

    def _read(self, at: int) -> None:
        if self._rows is not None:
            self.state.row = int(self._rows.rows[at])


Conditions = tuple[dict[str, Any], ...]


def _without_words(where: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    return [one for one in where if "text" not in one]


def quick_filters(report: Report) -> list[tuple[str, Conditions]]:
    """What people look for first in a report: mistakes, failures, differences; title and conditions."""
    names, found = report.graders, list[tuple[str, Conditions]]()
    if report.labels is not None:
        found += [(f"{name} differs from the label", ({"wrong": name},)) for name in names]
        words = {"labelled good": True, "labelled bad": False, "not labelled": None}
        found += [(title, ({"label": label},)) for title, label in words.items()]
    found += [(f"{a} and {b} differ", ({"scaled_apart": [a, b], "least": 0.5},)) for a, b in _pairs(names)]
    for status in ("failed", "skipped"):
        there = [name for name in names if getattr(report.grades[name], f"n_{status}")]
        found += [(f"{name} {status}", ({"grader": name, "status": status},)) for name in there]
    return found


def _pairs(graders: Sequence[str]) -> list[tuple[str, str]]:
    """All pairs; of many graders neighbours only, since nobody reads a list of hundreds."""
    return list(combinations(graders, 2) if len(graders) <= _MANY else pairwise(graders))


def picked(picks: Sequence[Any]) -> Conditions:
    """Marks of a figure as one choice: one is its conditions, several the bin they span, or any of them.

    Args:
        picks: `customdata` of the marks; those without conditions are left out.
    """
    wanted = [list(one) for one in picks if isinstance(one, list | tuple) and one]
    return _spanned(wanted) if len(wanted) > 1 else tuple(wanted[0]) if wanted else ()


def _spanned(picks: Sequence[Sequence[dict[str, Any]]]) -> Conditions:
    """Bins of one grader side by side as the bin they span, else whatever meets one of the marks."""
    bins = [one[0]["score"] for one in picks if len(one) == 1 and set(one[0]) == {"grader", "score"}]
    graders = {one[0].get("grader") for one in picks}
    if len(bins) == len(picks) and len(graders) == 1:
        lows, highs = zip(*bins, strict=True)
        return ({"grader": graders.pop(), "score": [min(lows), max(highs)]},)
    return ({"any": [list(one) for one in picks]},)
