"""A finding: one sentence about a grader, its number, its interval, and the rows behind it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from workbench.diagnostics.row_numbers import RowNumbers
from workbench.display_text import counted, one_line, two_digits
from workbench.statistics import Interval

__all__ = ["Finding", "Severity", "percent"]


_ROUNDED_FROM = 1_000
"""Rows: from here on the number still needed is rounded to two digits, since it rests on an estimate that will move."""

_TOO_CLOSE = 10
"""Times the present rows: where more are needed than that, the value is at the threshold rather than short of rows."""


class Severity(StrEnum):
    """How severe a finding is, most severe first."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"

    @property
    def rank(self) -> int:
        """0 for the most severe."""
        return list(Severity).index(self)


@dataclass(frozen=True, slots=True)
class Finding:
    """What a diagnostic found. Prints as one sentence.

    Attributes:
        grader: Name of the grader.
        kind: The diagnostic, such as "saturated-high".
        severity: "error" and "warning" are verdicts; a "note" is undecided, or a fact worth knowing.
        statistic: What was measured, such as "share at 0.95 or above".
        value: The measured number; NaN where there is none.
        interval: Its confidence interval; None for a plain fact and for the `seed` preset.
        n: Rows (or prompts, or labels) the value rests on.
        needed: Rows still needed before the bound can decide; 0 where it has decided.
        message: The sentence without grader, interval and full stop.
        advice: What to do next.
        rows: Numbers of all rows that are evidence for it, the strongest first; see `RowNumbers`.
        preset: The preset of diagnostics it comes from.
        confidence: Level of the interval, after Holm's correction; 0.95 for one verdict alone.
        unit: What `needed` counts, in the singular.
    """

    grader: str
    kind: str
    severity: Severity
    statistic: str
    value: float
    interval: Interval | None
    n: int
    needed: int
    message: str
    advice: str
    rows: Sequence[int] = field(default=(), repr=False)
    preset: str = "workbench"
    confidence: float = 0.95
    unit: str = "row"

    def __post_init__(self) -> None:
        if not isinstance(self.rows, RowNumbers):
            object.__setattr__(self, "rows", RowNumbers(self.rows))

    def __str__(self) -> str:
        """One sentence, with the interval and what is still needed; hidden characters show as code points."""
        return f"{one_line(self.grader)}: {self.sentence}"

    @property
    def sentence(self) -> str:
        """The sentence without the grader's name."""
        return f"{one_line(self.message, 1_000)}{self._interval_clause()}{self._needed_clause()}."

    def _interval_clause(self) -> str:
        if self.interval is None or math.isnan(self.interval.lo):
            return ""
        write = percent if self.statistic.startswith("share") else _number
        lo, hi = self.interval
        return f" ({100 * self.confidence:.3g} % interval {write(lo)} to {write(hi)})"

    def _needed_clause(self) -> str:
        if not self.needed:
            return ""
        about, count = (
            ("", self.needed) if self.needed < _ROUNDED_FROM else ("about ", two_digits(self.needed))
        )
        more = f"{about}{counted(count, f'more {self.unit}')}"
        if self.needed > max(_TOO_CLOSE * self.n, _ROUNDED_FROM):
            return f"; too close to call: a verdict would need {more}"
        return f"; a verdict needs {more}"


def percent(value: float) -> str:
    """A share in percent with at most one decimal: "98.4 %", "90 %"."""
    return f"{100 * value:.1f} %".replace(".0 %", " %")


def _number(value: float) -> str:
    return f"{value:.3g}"
