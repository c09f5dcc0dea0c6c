"""When a run stops because it lost too many workers."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["LEAST_LOST", "LOST_SHARE", "Lost"]

LOST_SHARE = 0.1
"""Lost workers for each row decided above which a run stops. A new worker costs what thousands of rows cost, so beyond
one in ten nearly all time goes into starting workers; and rows lost in such numbers are not lost at random, so the mean
of the others would say little about the grader."""
LEAST_LOST = 30
"""Workers lost before the share counts. Up to here they cost seconds; and at 30 the share is known to within a fifth of
itself (one standard error is 1/sqrt(30)), so that a few bad rows at the head of a file stop nothing."""


@dataclass
class Lost:
    """The workers lost in one run.

    Attributes:
        most_in_row: Lost with no row graded in between before the run stops.
        total: Lost so far.
        in_row: Lost since a row was last graded.
    """

    most_in_row: int
    total: int = 0
    in_row: int = 0

    def add(self) -> None:
        """One more."""
        self.total += 1
        self.in_row += 1

    def enough(self, decided: int, reason: str) -> str:
        """Why the run is to stop, "" where it is not.

        Args:
            decided: Rows that have a score, a failure or a skip by now.
            reason: How the last worker was lost.
        """
        if self.in_row >= self.most_in_row:
            return f"{self.in_row} workers in a row were lost ({reason}), so the rest was not tried"
        if self.total >= LEAST_LOST and self.total > LOST_SHARE * decided:
            return (
                f"{self.total:,} workers were lost on {decided:,} rows, more than one on ten ({reason}), "
                "so the rest was not tried"
            )
        return ""
