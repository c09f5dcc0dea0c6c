"""The report that is shown, and which of its rows are looked at."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from traitlets import Any as AnyTrait
from traitlets import HasTraits

from workbench.errors import ReportError
from workbench.report.reuse import reuse
from workbench.session.code_lines import LastCode, relabel_code, rows_code

if TYPE_CHECKING:
    from workbench.report import Report
    from workbench.session.guard import ActionGuard
    from workbench.session.labels import DatasetLabels

__all__ = ["Results"]

Condition = Mapping[str, Any]


class Results(HasTraits):
    """A report and what of it is looked at.

    Traits (observe them; set `report` and `where` through the methods):
        report: What is shown; None before the first run.
        where: Conditions on its rows (see `Report.row_numbers`), all of which hold.
        row: Number of the row in the reader, None for none.

    Args:
        guard: Its lock is held while this changes.
        code: Where the lines that would do the same are left.
    """

    report: Any = AnyTrait(None, allow_none=True)
    where = AnyTrait(())
    row = AnyTrait(None, allow_none=True)

    def __init__(self, guard: ActionGuard, code: LastCode) -> None:
        super().__init__()
        self._guard, self._code = guard, code
        self._settings: dict[str, Any] = {}  # of a report, as a person set them

    def show(self, report: Report) -> None:
        """Show another report; conditions that it can answer stay, and the open row where the rows are the same."""
        with self._guard.lock:
            before: Report | None = self.report
            if before is None or before.samples is not report.samples:
                self.row = None
            self.where = tuple(condition for condition in self.where if _answers(report, condition))
            self.report = report

    @property
    def settings(self) -> Mapping[str, Any]:
        """The pass mark and the limits that were set here."""
        return self._settings

    def with_settings(self, report: Report) -> Report:
        """A report with the pass mark and the limits that were set here."""
        changed = {name: value for name, value in self._settings.items() if getattr(report, name) != value}
        return replace(report, **changed) if changed else report

    def set_pass_mark(self, value: float) -> None:
        """Judge verdicts by another pass mark, now and after the next runs. Called without the lock.

        Raises:
            ReportError: It is not on the scale.
        """
        self._set("pass_threshold", value)

    def set_limit(self, kind: str, value: float) -> None:
        """Hold findings of a kind against another limit, now and after the next runs. Called without the lock.

        Args:
            kind: "too-lenient" or "too-strict".
            value: A share between 0 and 1.

        Raises:
            ReportError: No such limit, or no such share.
        """
        self._set("limits", {**self._settings.get("limits", {}), kind: value})

    def _set(self, name: str, value: Any) -> None:
        changed: dict[str, Any] = {name: value}
        self._exchange(
            lambda before: reuse(replace(before, **changed), before),
            f"report = app.report.diagnose({name}={value!r})\nreport",
            changed,
        )

    def _exchange(
        self, change: Callable[[Report], Report], code: str, settings: Mapping[str, Any] | None = None
    ) -> None:
        """Show a changed report in place of the one that is shown; where a run ends meanwhile, of what it brought."""
        before: Report | None = self.report
        while before is not None:
            report = change(before)
            _ = report.findings  # takes its time for many rows: before the lock
            with self._guard.lock:
                if self.report is before:
                    self._settings = {**self._settings, **(settings or {})}
                    self.show(report)
                    self._code.text = code
                    return
                before = self.report

    def look(self, *conditions: Condition) -> None:
        """Show the rows that meet all of these conditions; all rows without any.

        Raises:
            ReportError: A condition that the report cannot answer.
        """
        if self.report is None:
            return
        where = tuple({repr(condition): condition for condition in conditions}.values())
        self.report.row_numbers(*where)  # raises what is wrong before anything changes
        with self._guard.lock:
            self.where = where
            self._code.text = rows_code(where)

    def use_labels(self, labels: DatasetLabels) -> None:
        """Diagnose the report again with the labels there are now. Called without the lock: it may take seconds."""
        if self.report is not None:
            labels.reload()
            self._exchange(
                lambda before: replace(before, labels=labels.for_rates(before.samples)), relabel_code(labels)
            )


def _answers(report: Report, condition: Condition) -> bool:
    """Whether a report can answer a condition."""
    try:
        report.row_numbers(condition)
    except ReportError:
        return False
    return True
