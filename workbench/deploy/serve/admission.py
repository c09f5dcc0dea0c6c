"""Admission control: limits on rows that wait or are graded, and on bytes of bodies. Requests over a limit get 429."""

from __future__ import annotations

import contextlib
import math
import time
from collections.abc import Callable, Iterator

from workbench.deploy.serve.errors import RequestError
from workbench.deploy.serve.settings import RequestLimits

__all__ = ["Admission"]

_BODIES_AT_ONCE = 4
"""Maximum number of bodies of the largest size in memory."""
_SMALL_BYTES = 2**20
"""Bytes, and at most a 32nd of the largest size, up to which a body is admitted although larger ones are not: as much in total
as one of the largest takes."""
_WIDE_AT_ONCE = 2
"""Maximum number of requests with the most values in memory."""
_REMEMBERED_SECONDS = 10.0
"""Seconds of busy time after which earlier measurements count half."""
_MAX_WAIT_SECONDS = 60
"""Maximum seconds of `retry-after`: later the rate may differ."""


class Admission:
    """The rows and bytes that a server has admitted, and the rate of grading.

    Args:
        limits: Their limits.
        clock: Seconds.

    Attributes:
        rows: Rows that wait or are being graded.
        held: Bytes of bodies that are being read or graded.
        values: JSON values in those of them that are parsed on a thread.
        refused: Requests rejected with a time to retry.
    """

    def __init__(self, limits: RequestLimits, clock: Callable[[], float] = time.monotonic) -> None:
        self._limits, self._clock = limits, clock
        self.rows = self.held = self.values = self.refused = 0
        self._done = self._busy = 0.0
        self._last = clock()

    @contextlib.contextmanager
    def of_rows(self, count: int) -> Iterator[None]:
        """Count rows while they are graded.

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
        """Reject a request before its body is read, if not one more row fits.

        Raises:
            RequestError: 429.
        """
        if self.rows >= self._limits.queue:
            raise self._busy_error(1)

    @contextlib.contextmanager
    def of_values(self, count: int) -> Iterator[None]:
        """Count values while their request is processed: as Python objects they take far more memory than as text.

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
        """Count bytes of a body, until `drop`.

        Args:
            count: Additional bytes.
            before: Bytes of the same body that are counted already.

        Raises:
            RequestError: 429.
        """
        is_small = before + count <= min(_SMALL_BYTES, self._limits.max_bytes // 32)
        bodies = _BODIES_AT_ONCE + is_small
        if self.held + count > bodies * self._limits.max_bytes:
            raise self._busy_error(1)
        self.held += count

    def drop(self, count: int) -> None:
        """Release bytes."""
        self.held -= count

    @property
    def rate(self) -> float:
        """Rows per second while there are any, over the last seconds; NaN before the first."""
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
        speed = "" if math.isnan(rate) else f", and {rate:,.0f} rows per second are graded"
        return RequestError(
            429, "busy", f"{self.rows:,} rows are waiting{speed}; retry in {wait} s",
            headers={"retry-after": str(wait)}, retry_after=wait,
        )  # fmt: skip

    def _wait(self, count: int) -> int:
        """Whole seconds until there is room for this number of rows."""
        over = max(1, self.rows + count - self._limits.queue)
        rate = self.rate
        return 1 if math.isnan(rate) else max(1, min(_MAX_WAIT_SECONDS, math.ceil(over / rate)))
