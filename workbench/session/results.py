"""The report that is shown, and which of its rows are looked at."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from traitlets import Any as AnyTrait
from traitlets import HasTraits

from workbench.errors import ReportError
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

    def show(self, report: Report) -> None:
        """Show all rows of another report."""
        with self._guard.lock:
            self.row, self.where = None, ()
            self.report = report

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
            if conditions:
                self._code.text = rows_code(where)

    def use_labels(self, labels: DatasetLabels) -> None:
        """Diagnose the report again with the labels there are now. Called without the lock: it may take seconds."""
        before: Report | None = self.report
        if before is None:
            return
        labels.reload()
        values = labels.for_rates(before.samples)
        report = replace(before, labels=None) if values is None else before.diagnose(labels=values)
        with self._guard.lock:
            if self.report is not before:
                return  # another run has ended meanwhile
            self.where = tuple(condition for condition in self.where if _answers(report, condition))
            self.report = report
            self._code.text = relabel_code(labels)


def _answers(report: Report, condition: Condition) -> bool:
    """Whether a report can answer a condition."""
    try:
        report.row_numbers(condition)
    except ReportError:
        return False
    return True
