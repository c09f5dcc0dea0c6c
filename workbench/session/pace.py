"""How long a run still takes, by the pace of each grader: a judge is a thousand times slower than a rule."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from workbench.progress import Progress

__all__ = ["Pace", "TimeLeft"]

_SURE_ROWS, _SURE_SECONDS = 20, 2.0
"""Rows, or seconds with two rows, from which a pace says something: after one slow row it would say hours."""


class TimeLeft(NamedTuple):
    """What is known of the rest of a run.

    Attributes:
        seconds: For the grader at work and those to come whose pace is known; None while nothing is known.
        unknown: Graders to come that have never run here.
    """

    seconds: float | None
    unknown: int


@dataclass
class Pace:
    """Seconds a row by grader, as seen so far: a grader that ran before is known before it begins."""

    _seconds: dict[str, float] = field(default_factory=dict)

    def note(self, moment: Progress) -> None:
        """Take the pace of the grader at work."""
        if moment.rows >= _SURE_ROWS or (moment.rows > 1 and moment.since >= _SURE_SECONDS):
            self._seconds[moment.grader] = moment.since / moment.rows

    def left(self, moment: Progress, passes: Sequence[str], n_rows: int) -> TimeLeft:
        """What is left of a run.

        Args:
            moment: How far it is.
            passes: Names of the graders in the order in which they grade all rows, once for each time that they do.
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
