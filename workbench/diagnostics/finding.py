"""A finding: one sentence about a grader, its number, its interval, and the rows behind it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from workbench.diagnostics.row_numbers import RowNumbers
from workbench.display_text import counted, one_line, two_digits
from workbench.statistics import Interval

__all__ = ["Finding", "Severity", "joint_line", "percent"]


_ROUNDED_FROM = 1_000
"""Rows: from here on the number still needed is rounded to two digits, since it rests on an estimate that will move."""


class Severity(StrEnum):
    """How severe a finding is, most severe first; "cleared" is good news, with its bound."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"
    CLEARED = "cleared"

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
        severity: "error" and "warning" are verdicts; a "note" is undecided, or a fact worth knowing; "cleared" says
            that a limit is shown to be kept.
        statistic: What was measured, such as "share at 0.95 or above".
        value: The measured number; NaN where there is none.
        interval: Its 95 % confidence interval; None for a plain fact and for the `seed` preset. A verdict may need more
            than that the interval excludes the limit: see `claims`.
        n: Rows (or prompts, or labels) the value rests on.
        needed: Units more that would settle it in 9 of 10 cases; 0 where it is settled, or no number can be named.
        message: The sentence without grader, interval and full stop.
        advice: What to do next.
        rows: Numbers of all rows that are evidence for it, the strongest first; see `RowNumbers`.
        preset: The preset of diagnostics it comes from.
        unit: What `needed` counts, in the singular.
        limit: What the value is held against; None for a fact.
        undecided: Whether the rows do not settle it.
        claims: Among how many claims its level was shared (Holm's correction); 1 for a claim alone.
        cause: Kind of the finding about the same grader that explains this one; "" where none does.
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
        """Whether it is shown that something is wrong: an error or a warning."""
        return self.severity in {Severity.ERROR, Severity.WARNING}

    def __str__(self) -> str:
        """One sentence, with the interval and what is still needed; hidden characters show as code points."""
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
        if self.severity is Severity.CLEARED:
            return " (95 % confidence)"
        return f" (95 % interval {self._number(lo)} to {self._number(hi)})"

    @property
    def outlook(self) -> str:
        """How many more rows would settle it, or why these do not; "" where it is settled."""
        if self.needed:
            return f"{_about(self.needed, self.unit)} would settle it in 9 of 10 cases"
        if not self.undecided or self.limit is None:
            return ""
        if self.interval is not None and not self.interval.lo <= self.limit <= self.interval.hi:
            return f"not settled by these rows, since {self.claims} claims are judged together"
        return f"not settled by these rows: the limit of {self._number(self.limit)} lies inside"

    def _number(self, value: float) -> str:
        return percent(value) if self.statistic.startswith("share") else f"{value:.3g}"


def _about(count: int, unit: str) -> str:
    """A number of rows as a plan gives it: "23 more rows", "about 1,200 more prompts"."""
    if count < _ROUNDED_FROM:
        return counted(count, f"more {unit}")
    return f"about {counted(two_digits(count), f'more {unit}')}"


def joint_line(findings: Iterable[Finding]) -> str:
    """One line on how sure the verdicts are together; "" where a single claim was made."""
    most = max((finding.claims for finding in findings), default=1)
    if most < 2:
        return ""
    return (
        f"intervals are 95 % each; verdicts allow for the {most} claims made together, so that at most 1 report in 20 "
        "holds a false one, and a verdict can hang on which graders stand beside it"
    )


def percent(value: float) -> str:
    """A share in percent with at most one decimal: "98.4 %", "90 %"."""
    return f"{100 * value:.1f} %".replace(".0 %", " %")
