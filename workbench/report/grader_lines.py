"""Each grader of a report in one line: its counts, the verdict in two words, the mean with its interval."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from workbench.analysis.diagnostics.verdicts import verdict_of
from workbench.report.cases import label_codes
from workbench.report.counts import Counts, counts_of, parts_of
from workbench.report.where import case_of

__all__ = ["GraderLine", "grader_lines"]


@dataclass(frozen=True)
class GraderLine:
    """One grader.

    Attributes:
        name: Its name.
        counts: Rows of each part, by its name.
        shape: Sign of its verdict.
        words: The verdict in two words.
        tip: The verdict in one sentence.
        mean: Mean of its scores; NaN if there are none.
        interval: Lowest and highest end of the mean's 95 % interval; NaN if there is none.
    """

    name: str
    counts: Counts
    shape: str
    words: str
    tip: str
    mean: float
    interval: tuple[float, float]

    @property
    def mean_text(self) -> str:
        """With two decimals, as in the app; a dash without one."""
        return _short(self.mean)

    @property
    def interval_text(self) -> str:
        """Such as "0.48 to 0.56"; "" if there is none."""
        lo, hi = self.interval
        return "" if math.isnan(lo) else f"{_short(lo)} to {_short(hi)}"


def grader_lines(report: Any) -> list[GraderLine]:
    """Every grader of a report, in its order."""
    has_labels = bool((label_codes(report) >= 0).any())
    return [_line(report, name, has_labels=has_labels) for name in report.graders]


def _line(report: Any, name: str, *, has_labels: bool) -> GraderLine:
    verdict = verdict_of([one for one in report.findings if one.grader == name], has_labels=has_labels)
    summary: Any = report.summary.loc[name]
    return GraderLine(
        name,
        counts_of(parts_of(case_of(report, name))),
        verdict["shape"],
        verdict["words"],
        verdict["tip"],
        mean=float(summary["mean"]),
        interval=(float(summary["mean_lo"]), float(summary["mean_hi"])),
    )


def _short(value: float) -> str:
    if math.isnan(value):
        return "-"
    return f"{value:.2f}" if abs(value) < 1e4 else f"{value:.3g}"
