"""What surrounds every request: access control, errors as JSON, one log line, metrics."""

from __future__ import annotations

import asyncio
import logging
import time
import traceback
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from http import HTTPStatus
from typing import Any

from workbench.core.display_text import visible
from workbench.deploy.reward.stats import RewardStats
from workbench.deploy.serve.access import Access
from workbench.deploy.serve.connections import Connections
from workbench.deploy.serve.counted_log import LOG, CountedLog
from workbench.deploy.serve.http import App, Receive, Scope, Send, send_json
from workbench.deploy.serve.limits import Admission, RequestError, stopping
from workbench.sandbox.host.worker_pool import worker_pool

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 100.0)
"""Upper ends of the histogram's buckets."""

Sample = tuple[str, Mapping[str, str], float]


class _Histogram:
    """Seconds of requests to one path."""

    def __init__(self) -> None:
        self.buckets = [0] * (len(_SECONDS) + 1)
        self.total = 0.0

    def add(self, seconds: float) -> None:
        self.buckets[bisect_left(_SECONDS, seconds)] += 1
        self.total += seconds

    def samples(self, path: str) -> Iterator[Sample]:
        so_far = 0
        for end, count in zip([*map(_number, _SECONDS), "+Inf"], self.buckets, strict=True):
            so_far += count
            yield "_bucket", {"path": path, "le": end}, so_far
        yield "_sum", {"path": path}, self.total
        yield "_count", {"path": path}, so_far


class Metrics:
    """Counts since the start of the server.

    Args:
        stats: Of the reward.
        admission: The admitted rows and bytes.
        connections: Those of the server.
    """

    def __init__(self, stats: RewardStats, admission: Admission, connections: Connections) -> None:
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
