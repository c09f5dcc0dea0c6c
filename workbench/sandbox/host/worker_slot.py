"""A worker of a run, with the rows that are its own and the ranges it has been asked for."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

from workbench.sandbox.host.worker import Worker

__all__ = ["Request", "WorkerSlot"]

FIRST_ROWS = 8
"""Rows of the first command, before anybody knows how long one takes."""


@dataclass
class Request:
    """A range of rows under way, the half of the page its scores go to, and the bytes of its rows where these were sent.

    `asked` is how many rows the worker was asked for; `count` gets less where rows are taken from it again.
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
    """A worker with the rows that are its own, whether it has loaded the program, and the bytes of rows that it can be sent.

    `mark` is how many rows it has finished, as far as one can believe it, `since` when its time began, `cut_at` when all rows
    behind the one under way were taken from it.
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
        """Rows not yet asked for."""
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
        """Rows from the back, for a slot that has none left; at most half of the last range."""
        if not self.ranges:
            return None
        start, stop = self.ranges.pop()
        cut = max(start, stop - max(1, min(most, (stop - start) // 2)))
        if cut > start:
            self.ranges.append((start, cut))
        return cut, stop
