"""Limits of a server: the rows and bytes it admits, and the error responses of rejected requests."""

from __future__ import annotations

import contextlib
import math
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from workbench.core.errors import WorkbenchError
from workbench.graders.base import is_number

NO_SCORE_STATUS = 422
"""Status of a row without a score, for forms that cannot represent a missing score: the request is valid, and it is not an
outage, so that an intermediate proxy does not retry it."""


class RequestError(Exception):
    """A request that gets no result.

    Args:
        status: HTTP status.
        kind: Machine-readable kind, such as "busy".
        message: A sentence for users.
        headers: Further headers of the response, such as `retry-after`.
        more: Further fields of the response's `error`.
    """

    def __init__(
        self, status: int, kind: str, message: str, *, headers: Mapping[str, str] | None = None, **more: Any
    ) -> None:
        super().__init__(message)
        self.status, self.kind, self.message = status, kind, message
        self.headers, self.more = dict(headers or {}), more

    @property
    def body(self) -> dict[str, Any]:
        """The response as JSON values."""
        return {"error": {"status": self.status, "type": self.kind, "message": self.message, **self.more}}


def no_score(name: str, kind: str, why: str) -> RequestError:
    """The response for a row without a score.

    Args:
        name: The row.
        kind: The kind of failure, or "skipped".
        why: The reason, as text.
    """
    message = f"{name} has no score: {why}; `workbench serve --on-error NUMBER` gives such rows a fixed score"
    return RequestError(NO_SCORE_STATUS, "no_score", message, cause=kind, row=name)


def sandbox_lost(why: str) -> RequestError:
    """The response to requests whose rows could not be graded because of the server.

    Args:
        why: The reason, as text.
    """
    return RequestError(
        503, "sandbox", f"the sandbox does not work: {why}; retry", headers={"retry-after": "1"}
    )


def stopping() -> RequestError:
    """The response to requests whose rows are cancelled because the server stops."""
    return RequestError(
        503,
        "stopping",
        "the server stops and does not wait for these rows; retry",
        headers={"retry-after": "5"},
    )


@dataclass(frozen=True, kw_only=True)
class RequestLimits:
    """Request limits; excess requests are rejected immediately.

    Attributes:
        max_rows: Rows in one request.
        max_bytes: Bytes of one request's body; all bodies in memory together may have four times as many.
        timeout: Seconds a request may take, from its first byte to its response. slime waits 120 s, OpenRLHF 180 s.
        queue: Rows of all requests that wait or are being graded.
        max_row_bytes: Bytes of one row: the letters of its texts, and 128 for each value, which is what it takes as an object.
        max_values: JSON values in one request: lists, objects, texts, numbers. 4,096 rows have 60 each.
        max_connections: Concurrent connections.
        max_connections_per_address: Those of one address, such as a machine with many clients.

    Raises:
        WorkbenchError: A number is not positive, or a whole request does not fit into the queue.
    """

    max_rows: int = 4096
    max_bytes: int = 32 * 2**20
    timeout: float = 100.0
    queue: int = 16_384
    max_row_bytes: int = 8 * 2**20
    max_values: int = 250_000
    max_connections: int = 2048
    max_connections_per_address: int = 1024

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if name == "timeout":
                continue
            if isinstance(value, bool) or not isinstance(value, int) or value < 1:
                raise WorkbenchError(f"{name} must be a whole number of at least 1", found=repr(value))
        if not is_number(self.timeout) or self.timeout <= 0:
            raise WorkbenchError("timeout must be a number of seconds above 0", found=repr(self.timeout))
        if self.queue < self.max_rows:
            raise WorkbenchError(
                "the queue must have room for the rows of at least one request",
                found=f"queue={self.queue}, max_rows={self.max_rows}",
                hint="raise queue, or lower max_rows",
            )


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
