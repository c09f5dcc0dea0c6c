"""HTTP of a server: request bodies read within its limits and checked field by field, JSON responses, and errors."""

from __future__ import annotations

import contextlib
import json
import math
import re
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping, MutableMapping
from dataclasses import dataclass
from typing import Any, NoReturn, TypeAlias

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


_NAMES = {
    dict: "an object", list: "a list", str: "text", bool: "true or false", int: "a number", float: "a number",
    type(None): "null",
}  # fmt: skip


def _refuse(where: str, value: Any, expected: str) -> NoReturn:
    found = _NAMES.get(type(value), type(value).__name__)
    raise RequestError(400, "bad_request", f"{where} must be {expected}, not {found}", where=where)


def an_object(body: Any) -> dict[str, Any]:
    """The body itself, which must be an object."""
    return body if isinstance(body, dict) else _refuse("the body", body, "an object")


def field(body: Mapping[str, Any], name: str) -> Any:
    """A field that must be there.

    Raises:
        RequestError: It is not.
    """
    if name not in body:
        has = ", ".join(sorted(body)[:20])[:200] or "none"
        raise RequestError(400, "bad_request", f"the body has no {name!r}; its fields are: {has}", where=name)
    return body[name]


def a_list(value: Any, where: str) -> list[Any]:
    """A list.

    Raises:
        RequestError: It is not a list.
    """
    return value if isinstance(value, list) else _refuse(where, value, "a list")


def texts(value: Any, where: str) -> list[str]:
    """A list of texts.

    Raises:
        RequestError: It is not a list, or contains a value that is not a text.
    """
    found = a_list(value, where)
    for at, one in enumerate(found):
        if not isinstance(one, str):
            _refuse(f"{where}[{at}]", one, "text")
    return found


def a_mapping(value: Any, where: str) -> dict[str, Any]:
    """An object; null counts as an empty one.

    Raises:
        RequestError: It is neither.
    """
    if value is None:
        return {}
    return value if isinstance(value, dict) else _refuse(where, value, "an object")


def same_length(name: str, values: list[Any], count: int, of: str) -> None:
    """Reject lists of different lengths.

    Raises:
        RequestError: `values` does not have `count` entries.
    """
    if len(values) != count:
        message = f"{name} has {len(values)} entries, and {of} has {count}"
        raise RequestError(400, "bad_request", message, where=name)


Scope: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send: TypeAlias = Callable[[MutableMapping[str, Any]], Awaitable[None]]
App: TypeAlias = Callable[[Scope, Receive, Send], Awaitable[None]]

JSON = "application/json"
_SAFE = (
    (b"x-content-type-options", b"nosniff"),
    (b"cache-control", b"no-store"),
)
_DIGITS = re.compile(r"[0-9]{1,19}")
_NETLOC = re.compile(r"(?:[A-Za-z0-9_][A-Za-z0-9_.-]{0,252}|\[[0-9A-Fa-f:.]{2,45}\])(?::[0-9]{1,5})?")
"""A name or an address with or without a port: nothing that has a meaning in a page, a shell or JSON."""


def header(scope: Scope, name: bytes) -> str | None:
    """The first header of a name, in lower case."""
    return next((value.decode("latin-1") for key, value in scope["headers"] if key == name), None)


def base_url(scope: Scope) -> str:
    """The server's address as the client of a request wrote it; the server's own value if that is not an address."""
    scheme = "https" if scope.get("scheme") == "https" else "http"
    host = header(scope, b"host") or ""
    if _NETLOC.fullmatch(host):
        return f"{scheme}://{host}"
    name, port = scope.get("server") or ("localhost", None)
    name = f"[{name}]" if ":" in name else name
    return f"{scheme}://{name}" if port is None else f"{scheme}://{name}:{port}"


async def read_body(scope: Scope, receive: Receive, admission: Admission, *, most: int) -> bytearray:
    """The body, counted in `admission` until the caller releases its length.

    Args:
        scope: Of the request.
        receive: Returns the parts of the body.
        admission: Counts the bytes in memory.
        most: Maximum bytes.

    Raises:
        RequestError: It is larger, the client disconnected, or all bodies together are too large.
    """
    declared = header(scope, b"content-length")
    if declared is not None and not (_DIGITS.fullmatch(declared) and int(declared) <= most):
        await _discard(receive, most)
        raise _too_large(most)
    body = bytearray()
    with contextlib.ExitStack() as undo:
        undo.callback(lambda: admission.drop(len(body)))
        while await _read_on(body, receive, admission, most):
            pass
        undo.pop_all()
    return body


async def _read_on(body: bytearray, receive: Receive, admission: Admission, most: int) -> bool:
    """Read the next part of a body; returns whether there is more."""
    message = await receive()
    if message["type"] == "http.disconnect":
        raise RequestError(400, "disconnected", "the client disconnected before its body had arrived")
    part = message.get("body", b"")
    if len(body) + len(part) > most:
        raise _too_large(most)
    admission.hold(len(part), before=len(body))
    body += part
    return bool(message.get("more_body"))


async def _discard(receive: Receive, most: int) -> None:
    """Read on for some seconds, so that a client which sends everything first can read the response."""
    seen = 0
    while seen <= most:
        message = await receive()
        seen += len(message.get("body", b""))
        if message["type"] == "http.disconnect" or not message.get("more_body"):
            return


def _too_large(most: int) -> RequestError:
    return RequestError(
        413, "too_large", f"the body has more than {most:,} bytes; send fewer rows per request",
        headers={"connection": "close"}, max_bytes=most,
    )  # fmt: skip


async def send_json(
    send: Send, value: Any, *, status: int = 200, headers: Mapping[str, str] | None = None
) -> None:
    """Send JSON values as the whole response."""
    await send_text(send, dumped(value), kind=JSON, status=status, headers=headers)


async def send_text(
    send: Send, body: bytes, *, kind: str, status: int = 200, headers: Mapping[str, str] | None = None
) -> None:
    """Send bytes as the whole response."""
    more = [(name.encode(), value.encode()) for name, value in (headers or {}).items()]
    fixed = [(b"content-type", kind.encode()), (b"content-length", str(len(body)).encode())]
    start = {"type": "http.response.start", "status": status, "headers": [*fixed, *_SAFE, *more]}
    await send(start)
    await send({"type": "http.response.body", "body": body})


def dumped(value: Any, *, in_pieces: bool = False) -> bytes:
    """JSON values as text; `in_pieces` takes longer and blocks no other thread.

    Texts are escaped, so that one with a lone surrogate can be sent as well.
    """
    encoder = json.JSONEncoder(ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    return ("".join(encoder.iterencode(value)) if in_pieces else encoder.encode(value)).encode()
