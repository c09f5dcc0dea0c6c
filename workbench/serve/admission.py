"""How much is held at once: rows that wait or are graded, and bytes of bodies. What does not fit is refused at once."""

from __future__ import annotations

import contextlib
import math
import time
from collections.abc import Callable, Iterator

from workbench.serve.errors import RequestError
from workbench.serve.settings import Limits

__all__ = ["Admission"]

_BODIES_AT_ONCE = 4
"""Bodies of the largest size that are held at once."""
_SMALL_BYTES = 2**20
"""Bytes, and at most a 32nd of the largest size, up to which a body finds room for which larger ones are not let in: as much
as one of the largest takes."""
_WIDE_AT_ONCE = 2
"""Requests with the most values that are held at once."""
_REMEMBERED_SECONDS = 10.0
"""Busy time after which what was measured counts half."""
_LONGEST_WAIT = 60
"""Seconds; nobody is told to wait longer: by then the rate may be another."""


class Admission:
    """The rows and bytes that a server holds, and how fast rows go.

    Args:
        limits: How many there may be.
        clock: Seconds.

    Attributes:
        rows: Rows that wait or are being graded.
        held: Bytes of bodies that are being read or graded.
        values: Values of JSON in those of them that are parsed beside the event loop.
        refused: Requests that were told to come again.
    """

    def __init__(self, limits: Limits, clock: Callable[[], float] = time.monotonic) -> None:
        self._limits, self._clock = limits, clock
        self.rows = self.held = self.values = self.refused = 0
        self._done = self._busy = 0.0
        self._last = clock()

    @contextlib.contextmanager
    def of_rows(self, count: int) -> Iterator[None]:
        """Hold rows while they are graded.

        Raises:
            RequestError: 429, with the seconds after which there is likely room.
        """
        if self.rows + count > self._limits.queue:
            raise self._busy_error(count)
        self._pass_time()
        self.rows += count
        try:
            yield
        finally:
            self._pass_time()
            self.rows -= count
            self._done += count

    def check_room(self) -> None:
        """Refuse a request before its body is read, where not one row more fits.

        Raises:
            RequestError: 429.
        """
        if self.rows >= self._limits.queue:
            raise self._busy_error(1)

    @contextlib.contextmanager
    def of_values(self, count: int) -> Iterator[None]:
        """Hold values while their request is answered: as objects of Python they take far more room than as text.

        Raises:
            RequestError: 429.
        """
        count = min(count, self._limits.max_values)
        if self.values + count > _WIDE_AT_ONCE * self._limits.max_values:
            raise self._busy_error(1)
        self.values += count
        try:
            yield
        finally:
            self.values -= count

    def hold(self, count: int, *, before: int = 0) -> None:
        """Hold bytes of a body, until `drop`.

        Args:
            count: How many more.
            before: How many of the same body are held already.

        Raises:
            RequestError: 429.
        """
        is_small = before + count <= min(_SMALL_BYTES, self._limits.max_bytes // 32)
        bodies = _BODIES_AT_ONCE + is_small
        if self.held + count > bodies * self._limits.max_bytes:
            raise self._busy_error(1)
        self.held += count

    def drop(self, count: int) -> None:
        """Let go of bytes."""
        self.held -= count

    @property
    def rate(self) -> float:
        """Rows a second while there are any, over the last seconds; NaN before the first."""
        self._pass_time()
        return self._done / self._busy if self._done and self._busy else float("nan")

    def _pass_time(self) -> None:
        now = self._clock()
        if self.rows:
            self._busy += now - self._last
        self._last = now
        if self._busy > _REMEMBERED_SECONDS:
            self._busy, self._done = self._busy / 2, self._done / 2

    def _busy_error(self, count: int) -> RequestError:
        self.refused += 1
        wait, rate = self._wait(count), self.rate
        speed = "" if math.isnan(rate) else f", and {rate:,.0f} rows a second are graded"
        return RequestError(
            429, "busy", f"{self.rows:,} rows are waiting{speed}; retry in {wait} s",
            headers={"retry-after": str(wait)}, retry_after=wait,
        )  # fmt: skip

    def _wait(self, count: int) -> int:
        """Whole seconds until there is room for so many rows."""
        over = max(1, self.rows + count - self._limits.queue)
        rate = self.rate
        return 1 if math.isnan(rate) else max(1, min(_LONGEST_WAIT, math.ceil(over / rate)))
