"""How many questions may be under way: more while the server is healthy, half when it says that it is full."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from types import TracebackType
from typing import Self

__all__ = ["Pace"]

_START = 16
_CUT_EVERY = 1.0
"""Seconds between two cuts: refusals of questions sent at one moment are one piece of news."""


class Pace:
    """A semaphore whose size follows the server.

    Like TCP: it grows by one an answer until the first refusal, after that by one a round of answers, and is halved
    by a refusal. It never falls below one.

    Args:
        most: Questions under way at once, at most.

    Attributes:
        limit: How many may be under way now.
        busy: How many are.
    """

    def __init__(self, most: int) -> None:
        self.most = most
        self.limit: float = min(_START, most)
        self.busy = 0
        self._refused = False
        self._cut = float("-inf")
        self._waiting: deque[asyncio.Future[None]] = deque()

    async def __aenter__(self) -> Self:
        if self.busy < int(self.limit) and not self._waiting:
            self.busy += 1
            return self
        turn = asyncio.get_running_loop().create_future()
        self._waiting.append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():  # the turn came in the moment of the cancellation
                self._leave()
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._leave()

    def _leave(self) -> None:
        self.busy -= 1
        self._admit()

    def _admit(self) -> None:
        while self._waiting and self.busy < int(self.limit):
            turn = self._waiting.popleft()
            if not turn.done():
                self.busy += 1
                turn.set_result(None)

    def answered(self) -> None:
        """A question was answered."""
        self.limit = min(self.most, self.limit + (1 / self.limit if self._refused else 1))
        self._admit()

    def refused(self) -> None:
        """The server was full (429, 503)."""
        now = time.monotonic()
        self._refused = True
        if now - self._cut >= _CUT_EVERY:
            self._cut, self.limit = now, max(1.0, self.limit / 2)
