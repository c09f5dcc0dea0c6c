"""The report that is shown, and which of its rows are selected."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from traitlets import Any as AnyTrait
from traitlets import HasTraits

from workbench.app.session.code_lines import LastCode, relabel_code, rows_code
from workbench.core.errors import ReportError
from workbench.report.settings import reuse
from workbench.report.where import Condition

if TYPE_CHECKING:
    from workbench.app.session.guard import ActionGuard
    from workbench.app.session.labels import DatasetLabels
    from workbench.report import Report


class Results(HasTraits):
    """A report and the selected rows.

    Traits (observe them; set `report` and `where` through the methods):
        report: The report; None before the first run.
        where: Conditions on its rows (see `Report.row_numbers`), all of which are met.
        row: Number of the row in the reader, None for none.

    Args:
        guard: Its lock is held during changes.
        code: Gets the lines that repeat an action.
    """

    report: Any = AnyTrait(None, allow_none=True)
    where = AnyTrait(())
    row = AnyTrait(None, allow_none=True)

    def __init__(self, guard: ActionGuard, code: LastCode) -> None:
        super().__init__()
        self._guard, self._code = guard, code
        self._settings: dict[str, Any] = {}  # of a report, as a user set them

    def show(self, report: Report) -> None:
        """Show another report; conditions that it supports are retained, and the open row if the rows are the same."""
        with self._guard.lock:
            before: Report | None = self.report
            if before is None or before.samples is not report.samples:
                self.row = None
            self.where = tuple(condition for condition in self.where if _answers(report, condition))
            self.report = report

    @property
    def settings(self) -> Mapping[str, Any]:
        """The pass threshold and the limits that were set here."""
        return self._settings

    def with_settings(self, report: Report) -> Report:
        """A report with the pass threshold and the limits that were set here."""
        changed = {name: value for name, value in self._settings.items() if getattr(report, name) != value}
        return replace(report, **changed) if changed else report

    def set_pass_threshold(self, value: float) -> None:
        """Apply another pass threshold, now and after the next runs. Called without the lock.

        Raises:
            ReportError: It is outside the scale.
        """
        self._set("pass_threshold", value)

    def set_limit(self, kind: str, value: float) -> None:
        """Compare findings of a kind with another limit, now and after the next runs. Called without the lock.

        Args:
            kind: "too-lenient" or "too-strict".
            value: A share between 0 and 1.

        Raises:
            ReportError: Unknown kind, or a value outside 0 to 1.
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
        """Replace the shown report with a changed one; if a run ends meanwhile, change its report instead."""
        before: Report | None = self.report
        while before is not None:
            report = change(before)
            _ = report.findings  # takes long for many rows: before acquiring the lock
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
            ReportError: A condition that the report does not support.
        """
        if self.report is None:
            return
        where = tuple({repr(condition): condition for condition in conditions}.values())
        self.report.row_numbers(*where)  # raises before anything changes
        with self._guard.lock:
            self.where = where
            self._code.text = rows_code(where)

    def use_labels(self, labels: DatasetLabels) -> None:
        """Diagnose the report again with the current labels. Called without the lock: it may take seconds."""
        if self.report is not None:
            labels.reload()
            self._exchange(
                lambda before: replace(before, labels=labels.for_rates(before.samples)), relabel_code(labels)
            )


def _answers(report: Report, condition: Condition) -> bool:
    """Whether a report supports a condition."""
    try:
        report.row_numbers(condition)
    except ReportError:
        return False
    return True
