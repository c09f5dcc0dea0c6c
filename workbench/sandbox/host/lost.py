"""Limits on worker crashes in one run."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["LOST_SHARE", "MIN_CRASHES", "Lost"]

LOST_SHARE = 0.1
"""Crashed workers per decided row above which a run stops. A worker start takes as long as grading thousands of rows,
so above one in ten nearly all time is spent starting workers. Frequent crashes are also not random, so the mean
of the other rows would be a poor estimate for the grader."""
MIN_CRASHES = 30
"""Crashes before the ratio counts. Fewer take only seconds; at 30 the standard error of the ratio is a fifth of it
(1/sqrt(30)), so a cluster of bad rows at the start of a file does not stop the run."""


@dataclass
class Lost:
    """Counts the worker crashes of one run.

    Attributes:
        most_in_row: Consecutive crashes without a graded row before the run stops.
        total: Crashes so far.
        in_row: Crashes since the last graded row.
    """

    most_in_row: int
    total: int = 0
    in_row: int = 0

    def add(self) -> None:
        """Count one crash."""
        self.total += 1
        self.in_row += 1

    def enough(self, decided: int, reason: str) -> str:
        """Why the run must stop; "" if it may continue.

        Args:
            decided: Rows that have a score, a failure or a skip.
            reason: Why the last worker ended.
        """
        if self.in_row >= self.most_in_row:
            return f"stopped after {self.in_row} consecutive worker crashes ({reason}); remaining rows not graded"
        if self.total >= MIN_CRASHES and self.total > LOST_SHARE * decided:
            return (
                f"stopped after {self.total:,} worker crashes on {decided:,} rows, more than one in ten ({reason}); "
                "remaining rows not graded"
            )
        return ""
