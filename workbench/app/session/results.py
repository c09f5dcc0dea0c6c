"""What is graded and shown: the drawn rows and the settings of a run, the report, and which of its rows are selected."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from traitlets import Any as AnyTrait
from traitlets import HasTraits

from workbench.app.session.action import LastCode, relabel_code, rows_code
from workbench.core.errors import ReportError, WorkbenchError
from workbench.report.sample_columns import few_valued_columns
from workbench.report.settings import reuse
from workbench.report.where import Condition

if TYPE_CHECKING:
    from workbench.app.session.action import ActionGuard
    from workbench.app.session.session_labels import DatasetLabels
    from workbench.data.samples import Samples
    from workbench.report import Report


FIRST = 500
"""Rows drawn by default: enough for a verdict, and graded by code in about a second."""

_MAX_REPEATS = 20


@dataclass(frozen=True)
class Draw:
    """The settings of a run.

    Attributes:
        n: Rows to draw; 0 for all.
        seed: Of the draw.
        by: Column whose values are strata; "" for none.
        repeats: How often non-deterministic graders grade each row, 1 to 20.
        budget: Maximum US dollars, as typed; "" for no limit.
    """

    n: int = 0
    seed: int = 0
    by: str = ""
    repeats: int = 1
    budget: str = ""

    @property
    def dollars(self) -> float | None:
        """The budget as a number; None for no limit.

        Raises:
            WorkbenchError: It is not a number above 0.
        """
        typed = self.budget.strip().removeprefix("$")
        try:
            dollars = float(typed) if typed else None
        except ValueError:
            dollars = math.nan
        if dollars is not None and not 0 < dollars < math.inf:
            raise WorkbenchError(
                "the budget must be a number above 0",
                found=typed[:60],
                expected="US dollars such as 0.50, or empty for no limit",
            )
        return dollars


class DrawnResults(HasTraits):
    """The rows of a dataset that are graded.

    Traits (observe it; set it through `change`):
        draw: The settings.

    Args:
        samples: The dataset.
        guard: Its lock is held during changes.
    """

    draw: Any = AnyTrait()

    def __init__(self, samples: Samples, guard: ActionGuard) -> None:
        super().__init__()
        self._samples, self._guard = samples, guard
        self._rows: tuple[tuple[int, int, str], Samples] | None = None
        self.draw = Draw(FIRST if len(samples) > FIRST else 0)

    @property
    def rows(self) -> Samples:
        """The drawn rows: the same object until the next draw, so that cached results remain valid."""
        draw: Draw = self.draw
        key = (draw.n, draw.seed, draw.by)
        if self._rows is None or self._rows[0] != key:
            drawn = (
                self._samples.draw(draw.n, seed=draw.seed, by=draw.by or None) if draw.n else self._samples
            )
            self._rows = (key, drawn)
        return self._rows[1]

    def change(self, **settings: Any) -> None:
        """Change some of the settings.

        Raises:
            WorkbenchError: A number outside its range, or an unknown column.
        """
        draw = replace(self.draw, **settings)
        _check(draw, len(self._samples))
        with self._guard.lock:
            before, self.draw = self.draw, draw
            try:
                _ = self.rows
            except ValueError:
                self.draw = before
                raise

    def as_dict(self) -> dict[str, Any]:
        """The settings as plain JSON."""
        return asdict(self.draw)

    @cached_property
    def strata(self) -> list[str]:
        """Columns with few distinct values: candidates for strata."""
        return few_valued_columns(self._samples)


def _check(draw: Draw, total: int) -> None:
    for name, value, least, most in (
        ("rows", draw.n, 0, total),
        ("seed", draw.seed, 0, 2**31 - 1),
        ("repeats", draw.repeats, 1, _MAX_REPEATS),
    ):
        if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
            raise WorkbenchError(
                f"{name} must be a whole number", found=repr(value)[:60], expected=f"{least:,} to {most:,}"
            )
    _ = draw.dollars


class Results(HasTraits):
    """A report and the selected rows.

    Traits (observe them; set `report` and `where` through the methods):
        report: The report; None before the first run.
        where: Conditions on its rows (see `Report.row_numbers`), all of which are met.
        row: Number of the row in the reader, None for none.
        undiagnosed: Graders whose findings are not those of the report yet, but of the report before: their scores are
            shown first.

    Args:
        guard: Its lock is held during changes.
        code: Gets the lines that repeat an action.
    """

    report: Any = AnyTrait(None, allow_none=True)
    where = AnyTrait(())
    row = AnyTrait(None, allow_none=True)
    undiagnosed: Any = AnyTrait(frozenset())

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
            self.report, self.undiagnosed = report, frozenset()

    def can_follow(self, report: Report) -> bool:
        """Whether the scores of a report can be shown before its findings: on the same rows, none of them filtered by one."""
        before: Report | None = self.report
        is_filtered = any("finding" in condition for condition in self.where)
        return before is not None and before.samples is report.samples and not is_filtered

    def diagnose(self, report: Report) -> None:
        """Compute the findings of the shown report after its scores were shown. Called without the lock."""
        try:
            _ = report.findings
        finally:
            with self._guard.lock:
                if self.report is report:
                    self.undiagnosed = frozenset()

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
                    self._code.text = code or self._code.text
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

    def use_labels(self, labels: DatasetLabels, *, shows_code: bool = True) -> None:
        """Diagnose the report again with the current labels. Called without the lock: it may take seconds.

        Args:
            labels: The labels.
            shows_code: Whether to set the lines that repeat it.
        """
        if self.report is not None:
            labels.reload()
            self._exchange(
                lambda before: replace(before, labels=labels.for_rates(before.samples)),
                relabel_code(labels) if shows_code else "",
            )


def _answers(report: Report, condition: Condition) -> bool:
    """Whether a report supports a condition."""
    try:
        report.row_numbers(condition)
    except ReportError:
        return False
    return True
