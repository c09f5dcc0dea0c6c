"""The connections of a server: limits on their number, their time, and the bytes they may send before a check.

uvicorn bounds neither the head of a request nor the time a client takes. So its protocol is extended here: received bytes
are counted before they are parsed, and one timer checks all connections.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections import Counter
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from workbench.deploy.serve.http import RequestError, RequestLimits
from workbench.deploy.serve.middleware import CountedLog

if TYPE_CHECKING:
    import httptools
    from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol


MAX_HEAD_BYTES = 32 * 1024
"""Maximum bytes of a request's first line and headers; those of trainers have some hundreds."""
MAX_HEADERS = 100
"""Maximum headers of a request, with the trailers after a chunked body."""
HEAD_SECONDS = 10.0
"""Seconds from a connection, or the first byte of its next request, to the end of the headers."""
GAP_SECONDS = 10.0
"""Seconds between two parts of a body, and between two parts of a response that a client reads."""
MIN_BYTES_PER_SECOND = 1024
"""Minimum bytes per second of a body, after its first `GAP_SECONDS`: a byte at a time would never end."""
KEEP_ALIVE_SECONDS = 5
"""Seconds after a response, until the next request starts."""
MAX_PIPELINED = 16
"""Maximum requests that a client sends on one connection before it has the response to the first."""
_OVERHEAD_BYTES = 64 * 1024
"""Bytes of sizes, extensions and trailers of chunks, plus a quarter of their content: chunks of a byte take five times as much."""
_SLICE_BYTES = 256 * 1024
"""Bytes of a body that are parsed per step; the head of a request after it may have as many more."""
_LINGER_SECONDS, _LINGER_BYTES, _MAX_LINGERING = 1.0, 2**20, 64
"""Limits for reading on after a rejection (seconds, bytes, clients): otherwise the client's system drops the response unread."""
_ANSWERS_AT_ONCE = 4
"""Responses as large as the largest body that may wait for clients to read them."""
_SWEEP_SECONDS = 0.25


class Connections:
    """All connections of a server.

    Args:
        limits: Maximum number of connections, and maximum time of a request.
        log: Where rejections are counted.

    Attributes:
        refused: Connections and requests that were rejected before the application saw them, by kind.
    """

    def __init__(self, limits: RequestLimits, log: CountedLog) -> None:
        self.limits, self.log = limits, log
        self.refused: Counter[str] = Counter()
        self.lingering = 0
        self.most = limits.max_connections
        self._open: dict[Any, None] = {}
        self._by_address: Counter[str] = Counter()
        self._silent: dict[Any, None] = {}  # those that have sent no whole head yet, the oldest first
        self._timer: asyncio.TimerHandle | None = None

    def __len__(self) -> int:
        return len(self._open)

    def add(self, connection: Any) -> str:
        """Admit a connection; returns the reason for a rejection, "" if it is admitted.

        If there is no more room, the oldest connection that has sent no request yet is closed.
        """
        address = connection.address
        if self._by_address[address] >= min(self.limits.max_connections_per_address, self.most):
            self._end_silent(lambda other: other.address == address)
        elif len(self._open) >= self.most:
            self._end_silent(lambda _: True)
        own = self._by_address[address]
        if own >= self.limits.max_connections_per_address:
            return f"{own:,} open connections from one address; retry later"
        if len(self._open) >= self.most:
            return f"{len(self._open):,} open connections; retry later"
        self._open[connection] = self._silent[connection] = None
        self._by_address[address] += 1
        self._begin(connection.loop)
        return ""

    def _end_silent(self, is_one: Callable[[Any], bool]) -> None:
        # Not a new one, whose head may still arrive.
        now = asyncio.get_running_loop().time()
        for number, other in enumerate(self._silent):
            if number >= _MAX_LINGERING or now - other.since < _SWEEP_SECONDS:
                return
            if is_one(other):
                other.refuse(503, "too_many_connections", "too many open connections; retry later")
                self.drop(other)
                return

    def asked(self, connection: Any) -> None:
        """Note that a connection has sent a whole head."""
        self._silent.pop(connection, None)

    def drop(self, connection: Any) -> None:
        """Forget a connection."""
        if connection in self._open:
            del self._open[connection]
            self._silent.pop(connection, None)
            self._by_address[connection.address] -= 1
            if self._by_address[connection.address] <= 0:
                del self._by_address[connection.address]

    def _begin(self, loop: asyncio.AbstractEventLoop) -> None:
        if self._timer is None:
            self._timer = loop.call_later(_SWEEP_SECONDS, self._sweep, loop)

    def _sweep(self, loop: asyncio.AbstractEventLoop) -> None:
        self._timer, now = None, loop.time()
        waiting = 0
        for connection in list(self._open):
            waiting += connection.look(now)
        if waiting > _ANSWERS_AT_ONCE * self.limits.max_bytes:
            max(self._open, key=lambda one: one.unsent).give_up("unread_answers")
        self.log.flush()
        if self._open:
            self._begin(loop)

    def note(self, kind: str, message: str) -> None:
        """Count a refusal, and write it to the log."""
        self.refused[kind] += 1
        self.log.write(("refused", kind), f"refused {kind}: {message}", level=logging.WARNING)


class _TooMuchError(Exception):
    """Raised inside the parser to stop it: the request is rejected already."""


def protocol(connections: Connections) -> type[HttpToolsProtocol]:
    """The protocol class for uvicorn, whose connections belong to a server."""
    from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

    class Bounded(_Bounded, HttpToolsProtocol):
        """One connection."""

        owner = connections

    return Bounded


class _Bounded:
    """The additions to uvicorn's protocol.

    A connection is in its *head* until the headers of a request have ended, then in its *body* until that has ended.
    """

    owner: Connections
    parser: httptools.HttpRequestParser
    cycle: Any
    flow: Any
    transport: Any
    pipeline: Any
    client: Any
    loop: asyncio.AbstractEventLoop

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.logger = self.owner.log.logger
        self.timeout_keep_alive = KEEP_ALIVE_SECONDS
        self.address, self.since = "", self.loop.time()
        self.lingers_until: float | None = None
        self._in_body = self._counted = False
        self._head_since: float | None = self.since
        self._head_bytes = self._headers = 0
        self._body_since = self._last_byte = self.since
        self._wire_bytes = self._body_bytes = self._linger_bytes = 0
        self._unsent, self._unsent_since, self._unsent_moved = 0, self.since, self.since

    # Called by uvicorn and asyncio

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)  # type: ignore[misc]
        self.address = str(self.client[0]) if self.client else ""
        why = self.owner.add(self)
        if why:
            self.refuse(503, "too_many_connections", why)

    def connection_lost(self, exc: Exception | None) -> None:
        self._end_linger()
        self.owner.drop(self)
        super().connection_lost(exc)  # type: ignore[misc]

    def data_received(self, data: bytes) -> None:
        """Count, then parse: a head never has more bytes in the parser than its limit."""
        if self.lingers_until is not None:
            self._discard(len(data))
            return
        self._last_byte = self.loop.time()
        left = memoryview(data)
        while left and self.lingers_until is None and not self.transport.is_closing():
            part = left[: self._room()]
            left = left[len(part) :]
            self._count(len(part))
            super().data_received(data if len(part) == len(data) else bytes(part))  # type: ignore[misc]
            self._check()

    def _room(self) -> int:
        """Bytes that may be parsed before the next check."""
        return _SLICE_BYTES if self._in_body else max(1, MAX_HEAD_BYTES + 1 - self._head_bytes)

    def _count(self, count: int) -> None:
        if self._in_body:
            self._wire_bytes += count
            return
        if self._head_since is None:
            self._head_since = self._last_byte
        self._head_bytes += count

    def _check(self) -> None:
        if self.lingers_until is not None or self.transport.is_closing():
            return
        if not self._in_body and self._head_bytes > MAX_HEAD_BYTES:
            self._refuse_head(f"the headers have more than {MAX_HEAD_BYTES:,} bytes")
        elif self._in_body and self._wire_bytes - self._body_bytes > _OVERHEAD_BYTES + self._body_bytes // 4:
            self.refuse(413, "too_large", "chunk sizes, extensions and trailers exceed the limit")
        elif (
            self._in_body and self.cycle.response_complete and self._wire_bytes > self.owner.limits.max_bytes
        ):
            self.give_up("too_large")

    def _refuse_head(self, message: str) -> None:
        self.refuse(431, "headers_too_large", message)

    def on_header(self, name: bytes, value: bytes) -> None:
        self._headers += 1
        if self._headers > MAX_HEADERS:
            self._refuse_head(f"there are more than {MAX_HEADERS} headers")
            raise _TooMuchError
        if not self._in_body:  # trailers are not used
            super().on_header(name, value)  # type: ignore[misc]

    def on_headers_complete(self) -> None:
        if len(self.pipeline) >= MAX_PIPELINED:
            self.refuse(429, "pipelined", f"more than {MAX_PIPELINED} requests wait on this connection")
            raise _TooMuchError
        self._wire_bytes = self._body_bytes = 0
        self.owner.asked(self)
        super().on_headers_complete()  # type: ignore[misc]
        self._in_body, self._body_since = True, self.loop.time()

    def on_body(self, body: bytes) -> None:
        self._body_bytes += len(body)
        # Those of the slice in which the headers ended were not counted.
        self._wire_bytes = max(self._wire_bytes, self._body_bytes)
        super().on_body(body)  # type: ignore[misc]

    def on_message_complete(self) -> None:
        self._in_body, self._head_since, self._head_bytes, self._headers = False, None, 0, 0
        super().on_message_complete()  # type: ignore[misc]

    def send_400_response(self, msg: str) -> None:
        """Called by uvicorn when the parser stopped: by a parse error, or by a rejection."""
        if self.lingers_until is None and not self.transport.is_closing():
            self.refuse(400, "bad_http", msg)

    # Called by `Connections`

    @property
    def unsent(self) -> int:
        """Bytes of responses that the client has not read."""
        return self._unsent

    def look(self, now: float) -> int:
        """End the connection if its time is over; returns the bytes of responses that it has not read."""
        if self.lingers_until is not None:
            if now >= self.lingers_until:
                self.transport.abort()
            return 0
        if self._has_unread_answer(now):
            self.give_up("slow_reader")
        elif self._in_body:
            self._look_at_body(now)
        elif (
            self._head_since is not None and now - self._head_since > HEAD_SECONDS and not self._is_answering
        ):
            self.refuse(408, "slow_headers", f"the headers did not arrive within {HEAD_SECONDS:g} s")
        return self._unsent

    @property
    def _is_answering(self) -> bool:
        return self.cycle is not None and not self.cycle.response_complete

    def _look_at_body(self, now: float) -> None:
        if self.flow.read_paused:  # reading is paused on the server's side
            self._body_since += now - self._last_byte
            self._last_byte = now
            return
        earned = GAP_SECONDS + self._body_bytes / MIN_BYTES_PER_SECOND
        if now - self._last_byte > GAP_SECONDS or now - self._body_since > earned:
            self.refuse(408, "slow_body", "the body did not arrive in time")

    def _has_unread_answer(self, now: float) -> bool:
        """Whether a client does not read its response, or reads it too slowly."""
        unsent = self.transport.get_write_buffer_size()
        if not unsent or not self._unsent:
            self._unsent_since = now
        if unsent != self._unsent:
            self._unsent_moved = now
        self._unsent = unsent
        waited, still = now - self._unsent_since, now - self._unsent_moved
        return bool(unsent) and (still > GAP_SECONDS or waited > self.owner.limits.timeout)

    def give_up(self, kind: str) -> None:
        """End the connection without a response."""
        self.owner.note(kind, "the connection was ended")
        self.transport.abort()

    def refuse(self, status: int, kind: str, message: str) -> None:
        """Send an error and end the connection; without a response if another one is due first."""
        self.owner.note(kind, message)
        answering, answered = self._is_answering, self._in_body and not self._is_answering
        self._in_body = False
        if answering:
            self.cycle.disconnected = True
            self.cycle.message_event.set()
        if answered or (answering and self.cycle.response_started) or self.pipeline:
            self.transport.abort()
            return
        more = {"retry-after": "1"} if status in {429, 503} else {}
        self.transport.write(_answer(RequestError(status, kind, message, headers=more)))
        self._linger()

    def _linger(self) -> None:
        self._unset_keepalive_if_required()  # type: ignore[attr-defined]
        self.lingers_until = self.loop.time() + _LINGER_SECONDS
        if self.owner.lingering >= _MAX_LINGERING or not self.transport.can_write_eof():
            self.transport.close()
            return
        self.owner.lingering += 1
        self._counted = True
        self.flow.resume_reading()
        self.transport.write_eof()
        self.loop.call_later(_LINGER_SECONDS, self.transport.abort)

    def _discard(self, count: int) -> None:
        self._linger_bytes += count
        if self._linger_bytes > _LINGER_BYTES:
            self.transport.abort()

    def _end_linger(self) -> None:
        if self._counted:
            self._counted = False
            self.owner.lingering -= 1


def _answer(error: RequestError) -> bytes:
    body = json.dumps(error.body, separators=(",", ":")).encode()
    headers = {
        "content-type": "application/json",
        "content-length": str(len(body)),
        "cache-control": "no-store",
        "connection": "close",
        **error.headers,
    }
    lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    return f"HTTP/1.1 {error.status} {_WORDS.get(error.status, 'Error')}\r\n{lines}\r\n".encode() + body


_WORDS = {
    400: "Bad Request", 408: "Request Timeout", 413: "Content Too Large", 429: "Too Many Requests",
    431: "Request Header Fields Too Large", 503: "Service Unavailable",
}  # fmt: skip
