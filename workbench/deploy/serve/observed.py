"""What surrounds every request: access control, errors as JSON, one log line, counts."""

from __future__ import annotations

import asyncio
import logging
import time
import traceback
from http import HTTPStatus
from typing import Any

from workbench.core.display_text import visible
from workbench.deploy.serve.access import Access
from workbench.deploy.serve.counted_log import LOG, CountedLog
from workbench.deploy.serve.errors import RequestError, stopping
from workbench.deploy.serve.http import App, Receive, Scope, Send, send_json
from workbench.deploy.serve.metrics import Metrics

__all__ = ["LOG", "SEEN", "Observed"]

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
