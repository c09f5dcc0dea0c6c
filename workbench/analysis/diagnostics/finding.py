"""A finding: one sentence about a grader, its number, its interval, and its rows."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from workbench.analysis.diagnostics.row_numbers import RowNumbers
from workbench.analysis.statistics import Interval
from workbench.core.display_text import counted, one_line, two_digits

__all__ = ["Finding", "Severity", "joint_line", "percent"]


_ROUNDED_FROM = 1_000
"""Rows above which the number still needed is rounded to two digits, since it is based on an imprecise estimate."""


class Severity(StrEnum):
    """Severity of a finding, most severe first; `WITHIN_LIMIT` means that the grader is within the limit."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"
    WITHIN_LIMIT = "cleared"

    @property
    def rank(self) -> int:
        """0 for the most severe."""
        return list(Severity).index(self)


@dataclass(frozen=True, slots=True)
class Finding:
    """The result of a diagnostic. Prints as one sentence.

    Attributes:
        grader: Name of the grader.
        kind: The diagnostic, such as "saturated-high".
        severity: "error" and "warning" are verdicts; a "note" is inconclusive, or a fact worth knowing; `WITHIN_LIMIT` means
            that the grader is shown to be within the limit.
        statistic: What was measured, such as "share at 0.95 or above".
        value: The measured number; NaN if there is none.
        interval: Its 95 % confidence interval; None for a plain fact and for the `seed` preset. A verdict may require
            more than an interval that excludes the limit: see `claims`.
        n: Number of rows (or prompts, or labels) on which the value is based.
        needed: Additional units that would decide it with 90 % power; 0 if it is decided, or no number can be computed.
        message: The sentence without grader, interval and full stop.
        advice: What to do next.
        rows: Indices of all rows that are evidence for it, the strongest first; see `RowNumbers`.
        preset: Its preset of diagnostics.
        unit: Unit of `needed`, in the singular.
        limit: The limit for the value; None for a fact.
        undecided: Whether it is inconclusive.
        claims: Number of claims among which its level was shared (Holm's correction); 1 for a single claim.
        cause: Kind of the finding about the same grader that explains this one; "" if there is none.
        leads: Whether it may be the cause of others: strong enough to explain them.
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
    unit: str = "row"
    limit: float | None = None
    undecided: bool = False
    claims: int = 1
    cause: str = ""
    leads: bool = True

    def __post_init__(self) -> None:
        if not isinstance(self.rows, RowNumbers):
            object.__setattr__(self, "rows", RowNumbers(self.rows))

    @property
    def is_verdict(self) -> bool:
        """Whether a fault is shown: an error or a warning."""
        return self.severity in {Severity.ERROR, Severity.WARNING}

    def __str__(self) -> str:
        """One sentence, with the interval and the rows still needed; hidden characters appear as code points."""
        return f"{one_line(self.grader)}: {self.sentence}"

    @property
    def sentence(self) -> str:
        """The sentence without the grader's name."""
        outlook = f"; {self.outlook}" if self.outlook else ""
        return f"{one_line(self.message, 1_000)}{self._interval_clause()}{outlook}."

    def _interval_clause(self) -> str:
        if self.interval is None or math.isnan(self.interval.lo):
            return ""
        lo, hi = self.interval
        if self.severity is Severity.WITHIN_LIMIT:
            return " (95 % confidence)"
        return f" (95 % interval {self._number(lo)} to {self._number(hi)})"

    @property
    def outlook(self) -> str:
        """How many more rows are needed, or why it is inconclusive; "" if it is decided."""
        if self.needed:
            return f"{_about(self.needed, self.unit)} needed (90 % power)"
        if not self.undecided or self.limit is None:
            return ""
        if self.interval is not None and not self.interval.lo <= self.limit <= self.interval.hi:
            return f"inconclusive, because {self.claims} claims are tested together"
        return f"inconclusive: the interval contains the limit of {self._number(self.limit)}"

    def _number(self, value: float) -> str:
        return percent(value) if self.statistic.startswith("share") else f"{value:.3g}"


def _about(count: int, unit: str) -> str:
    """A planned number of rows: "23 more rows", "about 1,200 more prompts"."""
    if count < _ROUNDED_FROM:
        return counted(count, f"more {unit}")
    return f"about {counted(two_digits(count), f'more {unit}')}"


def joint_line(findings: Iterable[Finding]) -> str:
    """One line on the joint error rate of the verdicts; "" for a single claim."""
    most = max((finding.claims for finding in findings), default=1)
    if most < 2:
        return ""
    return (
        f"intervals are 95 % each; verdicts are corrected for {most} joint tests (at most 1 report in 20 "
        "contains a false one); adding or removing graders can change a verdict"
    )


def percent(value: float) -> str:
    """A share in percent with at most one decimal: "98.4 %", "90 %"."""
    return f"{100 * value:.1f} %".replace(".0 %", " %")
