"""A worker of a run, with its rows and its requested ranges."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

from workbench.sandbox.host.worker import Worker

__all__ = ["Request", "WorkerSlot"]

FIRST_ROWS = 8
"""Rows of the first command, before any row time is known."""


@dataclass
class Request:
    """A range of rows in flight, the half of the page for its scores, and the bytes of its rows if these were sent.

    `asked` is the requested number of rows; `count` is lower if rows were removed later.
    """

    first: int
    count: int
    half: int
    seq: int
    size: int = 0
    asked: int = 0

    def __post_init__(self) -> None:
        self.asked = self.asked or self.count


@dataclass(eq=False)
class WorkerSlot:
    """A worker with its rows, whether it has loaded the program, and the bytes of rows that it can be sent.

    `mark` is the plausible number of rows it has finished, `since` the start of its time, `cut_at` when all rows
    after the current one were removed.
    """

    ranges: deque[tuple[int, int]]
    worker: Worker | None = None
    loaded: bool = False
    requests: deque[Request] = field(default_factory=deque)
    batch_rows: int = FIRST_ROWS
    mark: int = -1
    since: float = 0.0
    since_mark: float = 0.0
    cut_at: float | None = None
    buffer_bytes: int = 0

    @property
    def left(self) -> int:
        """Rows not yet requested."""
        return sum(stop - start for start, stop in self.ranges)

    def take(self, count: int) -> tuple[int, int] | None:
        """Rows from the front."""
        if not self.ranges:
            return None
        start, stop = self.ranges.popleft()
        cut = min(stop, start + count)
        if cut < stop:
            self.ranges.appendleft((cut, stop))
        return start, cut

    def give(self, most: int) -> tuple[int, int] | None:
        """Rows from the back, for a slot without rows; at most half of the last range."""
        if not self.ranges:
            return None
        start, stop = self.ranges.pop()
        cut = max(start, stop - max(1, min(most, (stop - start) // 2)))
        if cut > start:
            self.ranges.append((start, cut))
        return cut, stop
