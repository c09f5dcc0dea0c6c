"""A limit on answers that are paid for and not stored yet."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["UnstoredAnswerLimit"]


class UnstoredAnswerLimit:
    """A semaphore, first come first served, over questions being asked and answers being stored.

    An answer that waits for a slow or locked store takes a place, so that a run never holds more paid answers than the
    client asks questions at once: if the store never comes back, no more than those are lost. It differs from
    `asyncio.Semaphore` in that `storing` may go over the limit.

    Args:
        limit: Places.

    Attributes:
        busy: Places taken.
    """

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.busy = 0
        self._waiters: deque[asyncio.Future[None]] = deque()

    async def acquire(self) -> None:
        """Wait for a place, and take it for a question."""
        woken = False
        while self.busy >= self.limit or (self._waiters and not woken):
            waiter = asyncio.get_running_loop().create_future()
            # `storing` may have taken the place of a waiter that was woken: it keeps its turn, at the front.
            (self._waiters.appendleft if woken else self._waiters.append)(waiter)
            try:
                await waiter
            except asyncio.CancelledError:
                self._abandon(waiter)
                raise
            woken = True
        self.busy += 1

    def _abandon(self, waiter: asyncio.Future[None]) -> None:
        if waiter.done() and not waiter.cancelled():
            self._wake_next()  # it was woken in the moment of its cancellation: its turn goes to the next
        elif waiter in self._waiters:
            self._waiters.remove(waiter)

    def release(self) -> None:
        """Give a place back."""
        self.busy -= 1
        self._wake_next()

    def _wake_next(self) -> None:
        while self._waiters and self.busy < self.limit:
            waiter = self._waiters.popleft()
            if not waiter.done():
                waiter.set_result(None)
                return

    @contextmanager
    def storing(self) -> Iterator[None]:
        """Take a place while an answer is written. This never waits: the answer is paid for already."""
        self.busy += 1
        try:
            yield
        finally:
            self.release()
