"""A limit on replies that are paid for and not stored yet."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["UnstoredAnswerLimit"]


class UnstoredAnswerLimit:
    """A first-in, first-out semaphore over requests being sent and replies being stored.

    A reply that waits for a slow or locked store takes a slot. A run therefore never has more paid, unstored replies than
    the client sends concurrent requests: if the store never recovers, no more than those are lost. Unlike
    `asyncio.Semaphore`, `storing` may exceed the limit.

    Args:
        limit: Number of slots.

    Attributes:
        busy: Slots taken.
    """

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.busy = 0
        self._waiters: deque[asyncio.Future[None]] = deque()

    async def acquire(self) -> None:
        """Wait for a slot, and take it for a request."""
        woken = False
        while self.busy >= self.limit or (self._waiters and not woken):
            waiter = asyncio.get_running_loop().create_future()
            # `storing` may have taken the slot of a waiter that was woken: it keeps its turn, at the front.
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
            self._wake_next()  # it was woken at the moment of its cancellation: its turn goes to the next
        elif waiter in self._waiters:
            self._waiters.remove(waiter)

    def release(self) -> None:
        """Free a slot."""
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
        """Take a slot while a reply is written. Never waits, because the reply is paid for already."""
        self.busy += 1
        try:
            yield
        finally:
            self.release()
