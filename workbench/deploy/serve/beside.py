"""Where a request is parsed and written: small ones on the event loop, larger ones on a thread."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import ParamSpec, TypeVar

from workbench.deploy.serve.errors import RequestError
from workbench.deploy.serve.json_body import weight

__all__ = ["Beside", "Place"]

P = ParamSpec("P")
T = TypeVar("T")

_SMALL_BYTES, _SMALL_VALUES = 256 * 1024, 4096
"""Size of a request that takes at most some milliseconds, and no longer than its transfer to a thread and back."""
_MEDIUM_VALUES = 32 * 1024
"""Size of a request that takes some tenths of a second: batches of some thousand rows do not wait for much larger ones."""


@dataclass(frozen=True)
class Place:
    """A thread or event loop that works on one request at a time.

    Attributes:
        turn: The lock of the current work; None on the event loop itself.
    """

    turn: asyncio.Semaphore | None = None

    @property
    def large(self) -> bool:
        """Whether it is a thread instead of the event loop."""
        return self.turn is not None

    async def do(self, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run some work there."""
        if self.turn is None:
            return work(*args, **kwargs)
        async with self.turn:
            done, refusal = await asyncio.to_thread(_tried, partial(work, *args, **kwargs))
        if refusal is not None:
            raise refusal
        return done[0]


def _tried(work: Callable[[], T]) -> tuple[tuple[T, ...], RequestError | None]:
    """The result of some work, or why the request is rejected.

    An error references the values that were being processed; they are freed here, where no request waits for that.
    """
    try:
        return (work(),), None
    except RequestError as error:
        error.__cause__ = error.__context__ = error.__traceback__ = None
        return (), error


class Beside:
    """The executors of a server: the event loop, one thread for medium requests, one for large ones."""

    def __init__(self) -> None:
        self._small = Place()
        self._medium, self._wide = Place(asyncio.Semaphore(1)), Place(asyncio.Semaphore(1))

    async def of(self, body: bytes | bytearray) -> tuple[Place, int]:
        """The executor for a body, and an upper bound of its number of values."""
        is_short = len(body) <= _SMALL_BYTES
        values = weight(body) if is_short else await self._medium.do(weight, body)
        if is_short and values <= _SMALL_VALUES:
            return self._small, values
        return self._medium if values <= _MEDIUM_VALUES else self._wide, values
