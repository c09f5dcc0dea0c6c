"""The remaining time of a run, by the pace of each grader: a judge is a thousand times slower than a rule."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from workbench.core.progress import Progress

__all__ = ["Pace", "TimeLeft"]

_SURE_ROWS, _SURE_SECONDS = 20, 2.0
"""Minimum rows for an estimate, or seconds with two rows: after one slow row the estimate would be hours."""


class TimeLeft(NamedTuple):
    """The estimate for the rest of a run.

    Attributes:
        seconds: For the current grader and following ones whose pace is known; None while none is known.
        unknown: Following graders that have never run here.
    """

    seconds: float | None
    unknown: int


@dataclass
class Pace:
    """Seconds per row by grader, as measured so far: a grader that ran before is known before it starts."""

    _seconds: dict[str, float] = field(default_factory=dict)

    def note(self, moment: Progress) -> None:
        """Record the pace of the current grader."""
        if moment.rows >= _SURE_ROWS or (moment.rows > 1 and moment.since >= _SURE_SECONDS):
            self._seconds[moment.grader] = moment.since / moment.rows

    def left(self, moment: Progress, passes: Sequence[str], n_rows: int) -> TimeLeft:
        """The rest of a run.

        Args:
            moment: Its progress.
            passes: Names of the graders in the order in which they grade all rows, once for each pass.
            n_rows: Rows of one pass.
        """
        at = (moment.done - moment.rows) // n_rows if n_rows else -1
        if not 0 <= at < len(passes) or passes[at] != moment.grader:
            at = passes.index(moment.grader) if moment.grader in passes else -1
        to_come = passes[at + 1 :]
        unknown = {name for name in to_come if name not in self._seconds}
        if at < 0 or moment.grader not in self._seconds:
            return TimeLeft(None, len(unknown))
        rows_left = max(n_rows - moment.rows, 0)
        known = sum(self._seconds[name] * n_rows for name in to_come if name in self._seconds)
        return TimeLeft(self._seconds[moment.grader] * rows_left + known, len(unknown))
