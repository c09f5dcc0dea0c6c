"""What surrounds the application of a server: its token, its metrics, and a log in which equal lines are counted."""

from __future__ import annotations

import asyncio
import base64
import functools
import hmac
import ipaddress
import logging
import re
import time
import traceback
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, Protocol

from workbench.core.display_text import visible
from workbench.core.errors import WorkbenchError
from workbench.deploy.reward.stats import RewardStats
from workbench.deploy.serve.http import (
    Admission,
    App,
    Receive,
    RequestError,
    Scope,
    Send,
    header,
    send_json,
    stopping,
)
from workbench.sandbox.host.worker_pool import worker_pool

LOG = logging.getLogger("workbench.deploy.serve")
_LINE_SECONDS = 10.0
"""Seconds for which equal lines are counted before their number is written."""
_MAX_LINE_KINDS = 256
"""Maximum kinds of lines that are distinguished; all others count as one, so that clients cannot create kinds."""
_OTHER_LINES = "other lines"


@dataclass
class _Counted:
    """Equal lines: the text of the first, when it was written, how many have followed since."""

    text: str
    level: int
    since: float
    more: int = 0


class CountedLog(logging.Filter):
    """Writes the first of equal lines immediately, and the number of further ones at the end of each ten seconds.

    Args:
        clock: Seconds.

    Attributes:
        logger: For uvicorn: its errors are counted by their text, and written with the server's lines. Its warnings are
            about requests that the server rejects and reports itself.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self._clock = clock
        self._kinds: dict[Hashable, _Counted] = {}
        # A separate logger, which is in no registry: its filter must not outlive the server.
        self.logger = logging.Logger("workbench.deploy.serve.connections")  # noqa: LOG001 (see above)
        self.logger.parent = LOG
        self.logger.setLevel(logging.ERROR)
        self.logger.addFilter(self)

    def filter(self, record: logging.LogRecord) -> bool:
        """Let the first of equal lines through."""
        text = record.getMessage()  # the arguments need not have a hash
        return self._is_new((record.name, text), record.levelno, text)

    def write(self, kind: Hashable, text: str, *, level: int = logging.INFO) -> None:
        """Write a line, or count it.

        Args:
            kind: What lines have in common that count as equal.
            text: The line.
            level: Of `logging`.
        """
        if LOG.isEnabledFor(level) and self._is_new(kind, level, text):
            LOG.log(level, "%s", text)

    def _is_new(self, kind: Hashable, level: int, text: str) -> bool:
        self.flush()
        if kind not in self._kinds and len(self._kinds) >= _MAX_LINE_KINDS:
            kind = _OTHER_LINES
        known = self._kinds.get(kind)
        if known is None:
            self._kinds[kind] = _Counted(text, level, self._clock())
            return True
        known.more += 1
        return False

    def flush(self, *, all_of_them: bool = False) -> None:
        """Write how many equal lines there were, of kinds whose time is over.

        Args:
            all_of_them: Also of the others, as at the end of a server.
        """
        now = self._clock()
        # Oldest first, since a kind is inserted again when its time is over.
        while self._kinds:
            kind, counted = next(iter(self._kinds.items()))
            if now - counted.since < _LINE_SECONDS and not all_of_them:
                return
            del self._kinds[kind]
            if counted.more:
                seconds = now - counted.since
                LOG.log(counted.level, "%d more in %.0f s like: %s", counted.more, seconds, counted.text)


_OPEN_PATHS = frozenset({"/health"})
"""Paths that need no token: monitoring has none, and they reveal only that the server runs."""
_MIN_TOKEN_CHARACTERS = 8
_PORT = re.compile(r":\d*\Z")


@functools.lru_cache(maxsize=64)
def is_loopback(host: str) -> bool:
    """Whether only programs of this machine reach a server that is bound to this host."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def check_binding(host: str, token: str, *, token_env: str, open_to_all: bool) -> None:
    """Refuse to serve a network without a token.

    Args:
        host: The host to bind to.
        token: The token that a client must send; "" for none.
        token_env: The environment variable it is read from.
        open_to_all: Whether the user requested a server without a token.

    Raises:
        WorkbenchError: It explains how to set one.
    """
    if token and len(token) < _MIN_TOKEN_CHARACTERS:
        raise WorkbenchError(
            "the token is too short", where=token_env, expected=f"at least {_MIN_TOKEN_CHARACTERS} characters"
        )
    if not token and not open_to_all and not is_loopback(host):
        raise WorkbenchError(
            f"{host!r} can be reached from other machines, and there is no token",
            expected=f"a token in the environment variable {token_env}",
            hint=f"export {token_env}=$(openssl rand -hex 16), or omit --host to serve this machine only",
        )


class Access:
    """Accepts or rejects requests.

    Args:
        token: The token that a client must send, as `Authorization: Bearer TOKEN`, or as the password of a URL such as
            http://any:TOKEN@host:8000, for clients that cannot set headers; "" for none.
    """

    def __init__(self, token: str) -> None:
        self._token = token.encode()

    def check(self, scope: Scope) -> None:
        """Reject a request without the token, and one that a web page sends.

        Raises:
            RequestError: 401 or 403.
        """
        if scope["path"] in _OPEN_PATHS:
            return
        if self._token:
            self._check_token(scope)
        else:
            _check_page(scope)

    def _check_token(self, scope: Scope) -> None:
        given = _credential(header(scope, b"authorization") or "")
        if not hmac.compare_digest(given, self._token):
            raise RequestError(
                401, "unauthorized", "this server requires a token: Authorization: Bearer TOKEN",
                headers={"www-authenticate": "Bearer"},
            )  # fmt: skip


def _credential(value: str) -> bytes:
    """The token in an Authorization header; empty if there is none."""
    scheme, _, rest = value.partition(" ")
    if scheme.lower() == "bearer":
        return rest.strip().encode("latin-1")
    if scheme.lower() == "basic":
        try:
            return base64.b64decode(rest.strip(), validate=True).partition(b":")[2]
        except ValueError:  # also for characters outside ASCII
            return b""
    return b""


def _check_page(scope: Scope) -> None:
    """Without a token: a page in a browser on this machine could send requests for its visitor, and spend a judge's budget.

    Browsers send the page's origin with every such request; a page that points its own name at this machine sends that
    name as the host.
    """
    origin, host = header(scope, b"origin"), header(scope, b"host") or ""
    if origin is not None and origin.partition("://")[2] != host:
        raise RequestError(
            403, "foreign_page", "web pages of other origins may not send requests to this server"
        )
    server = (scope.get("server") or ("", 0))[0]
    if is_loopback(server) and not is_loopback(_PORT.sub("", host)):
        raise RequestError(
            403, "foreign_host", "a server on loopback accepts only the hosts localhost and 127.0.0.1"
        )


CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_OBSERVED_SECONDS = (
    0.001,
    0.0025,
    0.005,
    0.01,
    0.025,
    0.05,
    0.1,
    0.25,
    0.5,
    1.0,
    2.5,
    5.0,
    10.0,
    30.0,
    100.0,
)
"""Upper ends of the histogram's buckets."""

Sample = tuple[str, Mapping[str, str], float]


class _Histogram:
    """Seconds of requests to one path."""

    def __init__(self) -> None:
        self.buckets = [0] * (len(_OBSERVED_SECONDS) + 1)
        self.total = 0.0

    def add(self, seconds: float) -> None:
        self.buckets[bisect_left(_OBSERVED_SECONDS, seconds)] += 1
        self.total += seconds

    def samples(self, path: str) -> Iterator[Sample]:
        so_far = 0
        for end, count in zip([*map(_number, _OBSERVED_SECONDS), "+Inf"], self.buckets, strict=True):
            so_far += count
            yield "_bucket", {"path": path, "le": end}, so_far
        yield "_sum", {"path": path}, self.total
        yield "_count", {"path": path}, so_far


class _Connections(Protocol):
    """What is counted of a server's connections; see `connections.Connections`."""

    refused: Counter[str]

    def __len__(self) -> int: ...


class Metrics:
    """Counts since the start of the server.

    Args:
        stats: Of the reward.
        admission: The admitted rows and bytes.
        connections: Those of the server.
    """

    def __init__(self, stats: RewardStats, admission: Admission, connections: _Connections) -> None:
        self._stats, self._admission, self._connections = stats, admission, connections
        self._requests: Counter[tuple[str, int]] = Counter()
        self._seconds: defaultdict[str, _Histogram] = defaultdict(_Histogram)

    def add(self, path: str, status: int, seconds: float) -> None:
        """Count a request.

        Args:
            path: One of the server's paths, or "" for all others: a path that a client makes up is not a label.
            status: Of the response.
            seconds: From its first byte to its response.
        """
        self._requests[path, status] += 1
        self._seconds[path].add(seconds)

    def text(self) -> str:
        """All of them."""
        return "".join(self._families())

    def _families(self) -> Iterator[str]:
        grades = list(self._grades())
        yield _family("workbench_rows_total", "counter", "Rows by grader and outcome.", grades)
        requests: list[Sample] = [
            ("", {"path": path, "status": str(status)}, count)
            for (path, status), count in self._requests.items()
        ]
        yield _family("workbench_requests_total", "counter", "Requests by path and status.", requests)
        times = [sample for path, histogram in self._seconds.items() for sample in histogram.samples(path)]
        yield _family("workbench_request_seconds", "histogram", "Seconds per request.", times)
        held = self._admission
        yield _family("workbench_queue_rows", "gauge", "Rows that wait or are graded.", [("", {}, held.rows)])
        yield _family("workbench_body_bytes", "gauge", "Bytes of bodies in memory.", [("", {}, held.held)])
        here = self._connections
        yield _family("workbench_connections", "gauge", "Connections.", [("", {}, len(here))])
        ended: list[Sample] = [("", {"kind": kind}, count) for kind, count in here.refused.items()]
        about = "Connections and requests rejected before they were parsed, by kind."
        yield _family("workbench_connections_refused_total", "counter", about, ended)
        workers: list[Sample] = [("", {}, worker_pool().started)]
        yield _family("workbench_workers_started_total", "counter", "Sandbox workers started.", workers)
        refused: list[Sample] = [("", {}, held.refused)]
        yield _family(
            "workbench_refused_total", "counter", "Requests rejected with a time to retry.", refused
        )

    def _grades(self) -> Iterator[Sample]:
        for name, stats in self._stats.graders.items():
            yield "", {"grader": name, "status": "scored", "kind": ""}, stats.scored
            yield "", {"grader": name, "status": "skipped", "kind": ""}, stats.skipped
            for kind, count in stats.failed.items():
                yield "", {"grader": name, "status": "failed", "kind": kind}, count


def _family(name: str, kind: str, about: str, samples: Iterable[Sample]) -> str:
    lines = [f"# HELP {name} {about}", f"# TYPE {name} {kind}"]
    lines += [f"{name}{suffix}{_labels(labels)} {_number(value)}" for suffix, labels, value in samples]
    return "\n".join(lines) + "\n"


def _labels(labels: Mapping[str, str]) -> str:
    parts = (f'{name}="{_escaped(value)}"' for name, value in labels.items())
    return f"{{{','.join(parts)}}}" if labels else ""


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace("\n", "\\n").replace('"', '\\"')


def _number(value: float) -> str:
    return f"{value:g}" if isinstance(value, float) and value < 1e6 else f"{value:.0f}"


SEEN = "workbench.seen"
"""Key in a request's scope under which its endpoint stores `path` (one of the server's) and `rows`."""
_FAULT = RequestError(500, "fault", "an internal error of the server; its log has the location")


class Observed:
    """An application with access control, which counts and logs each request.

    Args:
        app: The application.
        access: Access control.
        metrics: Counts requests.
        log: Counts equal lines.
    """

    def __init__(self, app: App, access: Access, metrics: Metrics, log: CountedLog) -> None:
        self._app, self._access, self._metrics, self._counted = app, access, metrics, log

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Process one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        start, sent = time.perf_counter(), [0]
        seen: dict[str, Any] = {"path": "", "rows": 0}
        scope[SEEN] = seen

        async def watched(message: Any) -> None:
            if message["type"] == "http.response.start":
                sent[0] = message["status"]
            await send(message)

        try:
            await self._answer(scope, receive, watched, sent)
        finally:
            seconds = time.perf_counter() - start
            self._metrics.add(seen["path"], sent[0], seconds)
            self._log(scope, sent[0], seen, seconds)

    async def _answer(self, scope: Scope, receive: Receive, send: Send, sent: list[int]) -> None:
        try:
            self._access.check(scope)
            await self._app(scope, receive, send)
        except RequestError as error:
            await _refuse(send, error, sent)
        except asyncio.CancelledError:  # the server stops, and its waiting time is over
            await _refuse(send, stopping(), sent)
        except Exception as error:  # noqa: BLE001 (a bug of the server costs one request)
            fault = f"fault: {type(error).__name__} at {_place(error)}"
            self._counted.write(fault, fault, level=logging.ERROR)
            await _refuse(send, _FAULT, sent)

    def _log(self, scope: Scope, status: int, seen: dict[str, Any], seconds: float) -> None:
        """Path and numbers; the query and the headers may contain secrets, and the body is not logged.

        One line for each request that was graded; others are counted by path and status.
        """
        if not LOG.isEnabledFor(logging.INFO):
            return
        method, path = scope["method"], visible(str(scope["path"]))[:200]
        line = f"{method} {path} {status} {seen['rows']} rows {1000 * seconds:.1f} ms"
        if status == HTTPStatus.OK and method == "POST":
            LOG.info("%s", line)
        else:
            self._counted.write((method, seen["path"], status), line)


async def _refuse(send: Send, error: RequestError, sent: list[int]) -> None:
    """Send an error as the response, if none was started."""
    if not sent[0]:
        await send_json(send, error.body, status=error.status, headers=error.headers)


def _place(error: Exception) -> str:
    """Where it was raised; its message may contain what was sent."""
    last = traceback.extract_tb(error.__traceback__)[-1]
    return f"{last.filename}:{last.lineno}"
