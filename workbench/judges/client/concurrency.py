"""The limit on requests in flight: it grows while the server is healthy, and is halved when it is overloaded."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from types import TracebackType
from typing import Self

__all__ = ["AdaptiveLimit"]

_START = 16
"""Concurrent requests at the start. Workbench default: low enough for a small server, and doubled within a round of replies."""
_SECONDS_BETWEEN_CUTS = 1.0
"""Seconds. Requests sent together are rejected together: all rejections of this time count as one. Workbench default."""


class AdaptiveLimit:
    """A semaphore whose size follows the server (additive increase, multiplicative decrease, as in TCP).

    It grows by one for each reply until the first rejection, after that by one for each round of replies, and is halved
    by a rejection. It never falls below one.

    Args:
        maximum: Maximum number of requests in flight.

    Attributes:
        limit: Current maximum number of requests in flight.
        busy: Number of requests in flight.
    """

    def __init__(self, maximum: int) -> None:
        self.maximum = maximum
        self.limit: float = min(_START, maximum)
        self.busy = 0
        self._was_overloaded = False
        self._last_cut = float("-inf")
        self._waiters: deque[asyncio.Future[None]] = deque()

    async def __aenter__(self) -> Self:
        # Waiting requests go first, or a steady stream of new requests could starve them.
        if self.busy < int(self.limit) and not self._waiters:
            self.busy += 1
            return self
        waiter = asyncio.get_running_loop().create_future()
        self._waiters.append(waiter)
        try:
            await waiter
        except asyncio.CancelledError:
            if waiter.done() and not waiter.cancelled():  # it was admitted at the moment of its cancellation
                self._release()
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._release()

    def _release(self) -> None:
        self.busy -= 1
        self._admit_waiters()

    def _admit_waiters(self) -> None:
        while self._waiters and self.busy < int(self.limit):
            waiter = self._waiters.popleft()
            if not waiter.done():
                self.busy += 1  # on its behalf: before it runs, others could take the slot
                waiter.set_result(None)

    def record_answer(self) -> None:
        """A request got a reply: raise the limit."""
        step = 1 / self.limit if self._was_overloaded else 1
        self.limit = min(self.maximum, self.limit + step)
        self._admit_waiters()

    def record_overload(self) -> None:
        """The server was overloaded (429, 503): halve the limit."""
        now = time.monotonic()
        self._was_overloaded = True
        if now - self._last_cut >= _SECONDS_BETWEEN_CUTS:
            self._last_cut, self.limit = now, max(1.0, self.limit / 2)
