"""The Compare panel: two graders, or two versions of one, on the same rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import ipywidgets as widgets
import numpy as np

from workbench.plots import figures_for
from workbench.report import Report
from workbench.report.where import condition_text
from workbench.session.grader_versions import current_name
from workbench.session.report_rows import ReportRows
from workbench.widgets.panels.panel import Panel, heading, options, remark, replace_options, row, text
from workbench.widgets.panels.refresh_button import relabel_button
from workbench.widgets.panels.results import conditions_of
from workbench.widgets.views.chart import Chart
from workbench.widgets.views.table import ScoreTable

__all__ = ["ComparePanel"]


class ComparePanel(Panel):
    """What two graders say of the same rows: a verdict with its interval, a matrix, the rows that differ most first.

    A grader that was redefined and run again on the same rows can be compared with itself, as "name (before)". See
    `Panel` for the arguments.
    """

    title = "Compare"
    css = "compare"

    def build(self) -> Sequence[Any]:
        """See `Panel`."""
        self.a = widgets.Dropdown(description="Grader")
        self.b = widgets.Dropdown(description="against")
        self.figure = widgets.Dropdown(description="Figure", options=options([("", "comparison")]))
        self.verdict = widgets.HTML()
        self.verdict.add_class("wb-verdict")
        self.chart = Chart(label="Comparison")
        self.all = widgets.Button(description="All compared rows", icon="times")
        self.shown = widgets.HTML()
        self.table = ScoreTable(label="Rows that differ most first")
        self._report: Report | None = None
        for control in (self.a, self.b, self.figure):
            control.observe(self.callback(self._choose), "value")
        self.chart.on_pick(lambda picks: self.callback(lambda: self._show_marks(picks))())
        self.all.on_click(self.callback(lambda: self._show_rows(())))
        self.watch(self.refresh, self.session.results, "report")
        self.relabel = relabel_button(self)
        controls = row(self.a, self.b, self.figure, self.relabel)
        self.heading = heading("Rows")
        return [controls, self.verdict, self.chart, row(self.heading, self.all, self.shown), self.table]

    def refresh(self) -> None:
        """See `Panel`."""
        report = self.session.runs.versions()
        names = [] if report is None else report.graders
        ready = len(names) > 1
        for part in (
            self.a, self.b, self.figure, self.chart, self.heading, self.all, self.shown, self.table,
        ):  # fmt: skip
            part.layout.display = "" if ready else "none"
        if report is None or not ready:
            why = (
                self.session.runs.why_no_version
                or "Run two graders, or run one again after a change, to compare them."
            )
            self.verdict.value = remark(why)
            return
        before = [name for name in names if name not in self.session.results.report.graders]
        first = current_name(before[0]) if before else names[0]
        second = before[0] if before else names[1]
        replace_options(self.figure, [(kind.title, kind.name) for kind in figures_for(report, pair=True)])
        replace_options(self.a, [(name, name) for name in names], first)
        replace_options(self.b, [(name, name) for name in names], second)
        if self.a.value == self.b.value:
            self.b.value = next(name for name in names if name != self.a.value)
        self._compare()

    def _choose(self) -> None:
        self._compare()
        if self.a.value != self.b.value:
            self.session.note_comparison(self.b.value, self.a.value)

    def _compare(self) -> None:
        a, b = self.a.value, self.b.value
        self._report = report = self.session.runs.report_with(a, b)
        if report is None or a not in report.grades or b not in report.grades:
            return
        if a == b:
            self.verdict.value = remark("Choose two different graders.")
            self.chart.figure, self.table.source, self.shown.value = None, None, ""
            return
        comparison = report.compare(b, a)  # it speaks of the second: here that is the grader, against another
        why = remark(self.session.runs.why_no_version) if self.session.runs.why_no_version else ""
        numbers = f"<details><summary>all numbers</summary>{text(comparison, 2_000)}</details>"
        self.verdict.value = f"<b>{text(comparison.verdict, 1_500)}</b>{numbers}{why}"
        kind = next(
            (known for known in figures_for(report, pair=True) if known.name == self.figure.value), None
        )
        self.chart.label = f"{a} against {b}"
        self.chart.figure = None if kind is None else kind.draw(report, [a, b])
        self._show_rows(())

    def _show_marks(self, picks: Sequence[Any]) -> None:
        if self._report is not None:
            self._show_rows(conditions_of(picks))

    def _show_rows(self, where: Sequence[dict[str, Any]]) -> None:
        report = self._report
        if report is None:
            return
        rows = self._by_difference(
            report, report.row_numbers({"apart": [self.a.value, self.b.value], "least": 0}, *where)
        )
        self.table.source = ReportRows(
            report,
            rows,
            graders=[self.a.value, self.b.value],
            labels=self.session.labels.for_display(report.samples),
        )
        conditions = " and ".join(map(condition_text, where))
        self.shown.value = f"<b>{len(rows):,} rows</b> {remark(conditions or 'largest difference first')}"

    def _by_difference(self, report: Report, rows: Any) -> Any:
        a, b = (report.grades[name].scores[rows] for name in (self.a.value, self.b.value))
        with np.errstate(over="ignore"):
            return rows[np.argsort(-np.abs(a - b), kind="stable")]
