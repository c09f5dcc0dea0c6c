"""How long the rows of one program take, and what follows: rows per command, and when a row counts as hanging.

Nobody can tell a row that hangs from an honest row that takes long before its time limit is over. Waiting that long
each time would add up the limits, and starting a worker for every slow row would overload the machine, so two waiting
times stand before the limit: after the shorter one only the rows behind are given to another worker, which is free of
charge; after the longer one a worker beyond the number of cores may be started. Both follow what rows have taken so far.
The constants were chosen on 2 cores with `benchmarks/reward.py`.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from workbench.sandbox.host.worker_slot import FIRST_ROWS

__all__ = ["RowTimes"]

_COMMAND_SECONDS = 0.01
"""Work aimed at in one command: about ten times its round trip, so that a tenth of the time goes to the trip."""
_GROWTH = 8
"""A command holds at most so many times the rows of the one before: one fast row must not decide for thousands."""

_BYPASS_SECONDS = 0.03
_BYPASS_MEANS = 4.0
"""The rows behind a row go to another worker once it has run so many seconds, and so many times the mean row."""
_BYPASS_SHARE = 0.1
"""The same while no row has been timed: this share of the time limit, at least `_BYPASS_SECONDS`."""

_HANG_SECONDS = 0.25
_HANG_SHARE = 0.25
_HANG_SLOWEST = 1.5
"""A row counts as hanging after these seconds, or this share of the time limit where that is less, and so many times the
slowest scored row; several times as long where more workers are busy than there are cores. Not sooner: many honest rows
that take long, on few cores, would slow each other down until all run out of time."""
_CERTAIN_ROWS = 1000
_CERTAIN_SECONDS = 0.08
_CERTAIN_SLOWEST = 30.0
"""Once so many rows have been scored, a row counts as hanging after these seconds already, if that is also so many times
the slowest of them."""
_SLOWEST_DECAY = 0.98
"""The slowest time shrinks by this factor with each command, so that one slow row is forgotten after about a hundred."""


class RowTimes:
    """What the rows of one program took.

    Args:
        limit: Seconds that a row may take.
        rows: Rows of the first command.

    Attributes:
        mean: Seconds of a row, the latest command counting half; NaN before the first score.
        rows_at_once: How many rows the next command should have.
    """

    def __init__(self, limit: float, rows: int = FIRST_ROWS) -> None:
        self.mean, self.rows_at_once = float("nan"), rows
        self._limit, self._slowest, self._scored = limit, 0.0, 0

    @property
    def known(self) -> bool:
        """Whether any row has been scored."""
        return not np.isnan(self.mean)

    def learn(self, seconds: NDArray[np.float64]) -> None:
        """Note the seconds of the rows that a command scored; of rows without a score nothing is learnt."""
        if not len(seconds):
            return
        mean = float(seconds.mean())
        self.mean = 0.5 * (self.mean + mean) if self.known else mean
        self._slowest = max(_SLOWEST_DECAY * self._slowest, float(seconds.max()))
        self._scored += len(seconds)

    def size_next(self, spent: float, count: int, most: int) -> None:
        """Choose how many rows the next command has.

        Args:
            spent: Seconds from sending the last command to its answer.
            count: Its rows.
            most: Rows that a command can have.
        """
        fitting = int(_COMMAND_SECONDS * max(1, count) / max(spent, 1e-9))
        self.rows_at_once = max(1, min(most, fitting, _GROWTH * max(self.rows_at_once, count)))

    def commands(self, rows: int) -> float:
        """How many commands' worth of work so many rows are."""
        return rows * self.mean / _COMMAND_SECONDS if self.known else rows / FIRST_ROWS

    @property
    def bypass_seconds(self) -> float:
        """Seconds at one row after which the rows behind it go to another worker."""
        if not self.known:
            return max(_BYPASS_SECONDS, _BYPASS_SHARE * self._limit)
        return max(_BYPASS_SECONDS, _BYPASS_MEANS * self.mean)

    def hang_seconds(self, load: float) -> float:
        """Seconds at one row after which it counts as hanging.

        Args:
            load: Busy workers per core.
        """
        seconds = min(_HANG_SECONDS, _HANG_SHARE * self._limit)
        seconds = max(seconds, self.bypass_seconds, _HANG_SLOWEST * self._slowest) * max(1.0, load)
        if self._scored < _CERTAIN_ROWS:
            return seconds
        return min(seconds, max(_CERTAIN_SECONDS, self.bypass_seconds, _CERTAIN_SLOWEST * self._slowest))
