"""Row times of one program, and what follows from them: rows per command, and when a row counts as hanging.

A hanging row cannot be distinguished from a slow one before its time limit. Waiting for every limit would add up the
limits, and starting a worker for every slow row would overload the machine. So there are two shorter waiting times.
After the first, only the rows after the slow one are moved to another worker, at no cost. After the second, a worker
beyond the number of cores may be started. Both depend on the row times so far. The constants were chosen on 2 cores
with `benchmarks/reward.py`.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from workbench.sandbox.host.worker_slot import FIRST_ROWS

__all__ = ["RowTimes"]

_COMMAND_SECONDS = 0.01
"""Target duration of a command: about ten times its round trip, so that the trip takes a tenth of the time."""
_GROWTH = 8
"""Maximum growth of a command relative to the one before: one fast row must not decide for thousands."""

_BYPASS_SECONDS = 0.03
_BYPASS_MEANS = 4.0
"""The following rows move to another worker after these seconds at one row, and this multiple of the mean row time."""
_BYPASS_SHARE = 0.1
"""The same before any row was timed: this share of the time limit, at least `_BYPASS_SECONDS`."""

_HANG_SECONDS = 0.25
_HANG_SHARE = 0.25
_HANG_SLOWEST = 1.5
"""A row counts as hanging after these seconds, or this share of the time limit if that is less, and this multiple of
the slowest scored row; the time is multiplied if more workers are busy than there are cores. A shorter time would let many
slow rows on few cores slow each other down until all time out."""
_CERTAIN_ROWS = 1000
_CERTAIN_SECONDS = 0.08
_CERTAIN_SLOWEST = 30.0
"""After this number of scored rows, a row already counts as hanging after these seconds, if that is also this multiple
of the slowest of them."""
_SLOWEST_DECAY = 0.98
"""The slowest time shrinks by this factor with each command, so that one slow row is forgotten after about a hundred."""


class RowTimes:
    """Row times of one program.

    Args:
        limit: Time limit of a row in seconds.
        rows: Rows of the first command.

    Attributes:
        mean: Seconds per row, the latest command weighted by half; NaN before the first score.
        rows_at_once: Rows of the next command.
    """

    def __init__(self, limit: float, rows: int = FIRST_ROWS) -> None:
        self.mean, self.rows_at_once = float("nan"), rows
        self._limit, self._slowest, self._scored = limit, 0.0, 0

    @property
    def known(self) -> bool:
        """Whether any row has been scored."""
        return not np.isnan(self.mean)

    def learn(self, seconds: NDArray[np.float64]) -> None:
        """Record the seconds of the rows that a command scored; rows without a score give no information."""
        if not len(seconds):
            return
        mean = float(seconds.mean())
        self.mean = 0.5 * (self.mean + mean) if self.known else mean
        self._slowest = max(_SLOWEST_DECAY * self._slowest, float(seconds.max()))
        self._scored += len(seconds)

    def size_next(self, spent: float, count: int, most: int) -> None:
        """Choose the number of rows of the next command.

        Args:
            spent: Seconds from sending the last command to its reply.
            count: Its rows.
            most: Maximum rows of a command.
        """
        fitting = int(_COMMAND_SECONDS * max(1, count) / max(spent, 1e-9))
        self.rows_at_once = max(1, min(most, fitting, _GROWTH * max(self.rows_at_once, count)))

    def commands(self, rows: int) -> float:
        """A number of rows in units of commands."""
        return rows * self.mean / _COMMAND_SECONDS if self.known else rows / FIRST_ROWS

    @property
    def bypass_seconds(self) -> float:
        """Seconds at one row after which the following rows move to another worker."""
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
