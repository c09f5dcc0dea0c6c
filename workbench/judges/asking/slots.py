"""How many answers may be bought at once where each has to be kept."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["Slots"]


class Slots:
    """Places for questions under way and for answers that wait for the store, first come first served.

    An answer that waits for a slow or locked store holds a place, so that no more are bought than the client has
    questions under way at once: those and no others are lost if the store never comes back.

    Args:
        most: Places.
    """

    def __init__(self, most: int) -> None:
        self.most = most
        self.busy = 0
        self._waiting: deque[asyncio.Future[None]] = deque()

    async def enter(self) -> None:
        """Take a place for a question, and wait until there is one."""
        first = False
        while self.busy >= self.most or (self._waiting and not first):
            turn = asyncio.get_running_loop().create_future()
            (self._waiting.appendleft if first else self._waiting.append)(turn)
            try:
                await turn
            except asyncio.CancelledError:
                self._give_up(turn)
                raise
            first = True
        self.busy += 1

    def _give_up(self, turn: asyncio.Future[None]) -> None:
        if turn.done() and not turn.cancelled():
            self._admit()  # its turn had come: it is the next one's
        elif turn in self._waiting:
            self._waiting.remove(turn)

    def leave(self) -> None:
        """Give a place back."""
        self.busy -= 1
        self._admit()

    def _admit(self) -> None:
        while self._waiting and self.busy < self.most:
            turn = self._waiting.popleft()
            if not turn.done():
                turn.set_result(None)
                return

    @contextmanager
    def keeping(self) -> Iterator[None]:
        """Hold a place while an answer is being written; it never waits, since the answer is there already."""
        self.busy += 1
        try:
            yield
        finally:
            self.leave()
