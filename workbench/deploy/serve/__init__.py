"""Graders over HTTP: one server that implements the wire forms of trainers and platforms; one file per form in `wire_forms`.

`create_app` makes the application, each form at its path; `serve` runs it: a socket, uvicorn on it, and signals that stop it
in order. Starlette and uvicorn, the extra `serve`, are loaded on use.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import importlib.util
import json
import os
import socket
import sys
import time
from collections.abc import AsyncIterator, Callable, Sequence
from typing import TYPE_CHECKING, Any

from workbench.core.discovery import load_modules
from workbench.core.errors import WorkbenchError
from workbench.deploy.reward import reward
from workbench.deploy.serve import wire_forms
from workbench.deploy.serve.connections import Connections, protocol
from workbench.deploy.serve.endpoint import Beside, GradingEndpoint, Scoring
from workbench.deploy.serve.http import (
    Admission,
    App,
    Receive,
    RequestError,
    RequestLimits,
    Scope,
    Send,
    base_url,
    send_json,
    send_text,
)
from workbench.deploy.serve.middleware import CONTENT_TYPE, SEEN, Access, CountedLog, Metrics, Observed
from workbench.deploy.serve.pages import Examples, docs_page, in_order, openapi, own_version
from workbench.deploy.serve.wire_forms import WIRE_FORMS, WireForm, wire_form
from workbench.run.suite import Suite

if TYPE_CHECKING:
    from starlette.applications import Starlette


_JSON = "application/json"
_PAGE_HEADERS = {"content-security-policy": "default-src 'none'; style-src 'unsafe-inline'"}


def require_extra() -> None:
    """Refuse to serve without the required packages.

    Raises:
        WorkbenchError: It explains how to install them.
    """
    missing = [
        name for name in ("starlette", "uvicorn", "httptools") if importlib.util.find_spec(name) is None
    ]
    if missing:
        raise WorkbenchError(
            "a server needs " + " and ".join(filter(None, [", ".join(missing[:-1]), missing[-1]])),
            hint='pip install "grader-workbench[serve]"',
        )


def create_app(
    suite: Any,
    *,
    workers: int | None = None,
    limits: RequestLimits | None = None,
    on_error: float | None = None,
    reference: str = "",
    token: str = "",
    log_rows: bool = False,
) -> Starlette:
    """Create the application of a server: an ASGI app for uvicorn, at the root of its address.

    Args:
        suite: A suite, a grader, or several; validated, as `wb.reward` requires.
        workers: Sandbox processes of each grader that is code; all cores but one by default.
        limits: Limits of one request, and of all together.
        on_error: Score of a row without one, for forms that cannot represent a missing score; None for an error status.
        reference: The column under which graders get a row's label or reference, in addition to the usual names; "" for
            none.
        token: The token that clients must send; "" for none.
        log_rows: Whether to write request bodies to the log.

    Raises:
        NotValidatedError: A grader is not validated, or failed validation.
        IsolationError: Imported source on a machine that cannot confine it.
        WorkbenchError: The extra `serve` is not installed.
    """
    require_extra()
    from starlette.applications import Starlette
    from starlette.middleware import Middleware

    limits = limits or RequestLimits()
    stands_for_none = "raise" if on_error is None else on_error
    served = reward(suite, workers=workers, on_error=stands_for_none, reference=reference)
    scoring, admission = Scoring(served, on_error=on_error), Admission(limits)
    forms = in_order(WIRE_FORMS.values())
    examples = Examples(forms, scoring, on_error=on_error)
    log = CountedLog()
    connections = Connections(limits, log)
    metrics = Metrics(served.stats, admission, connections)

    beside = Beside()

    def endpoint(form: Any) -> App:
        return GradingEndpoint(form(), scoring, admission, limits, beside=beside, log_rows=log_rows)

    app = Starlette(
        routes=_routes(endpoint, _Pages(forms, served.suite, examples, metrics, token=bool(token))),
        middleware=[Middleware(Observed, access=Access(token), metrics=metrics, log=log)],
        exception_handlers={404: _not_found, 405: _not_allowed},
        lifespan=_lifespan(scoring, examples, log),
    )
    app.state.ready, app.state.admission, app.state.scoring = False, admission, scoring
    app.state.connections = connections
    return app


def _lifespan(scoring: Scoring, examples: Examples, log: CountedLog) -> Any:
    """Start-up before the first request, and clean-up after the last one."""

    @contextlib.asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        await scoring.warm_up()
        await examples.ask()
        app.state.ready = True
        try:
            yield
        finally:
            app.state.ready = False
            scoring.close()
            log.flush(all_of_them=True)

    return lifespan


class _Pages:
    """A path for GET requests."""

    def __init__(
        self,
        forms: Sequence[type[WireForm]],
        suite: Suite,
        examples: Examples,
        metrics: Metrics,
        *,
        token: bool,
    ) -> None:
        self.forms, self._suite, self._examples, self._metrics = forms, suite, examples, metrics
        self._token = token

    @property
    def by_path(self) -> dict[str, App]:
        """The pages."""
        return {
            "/": _page("/", lambda _: b"", kind="text/plain", status=307, location="docs"),
            "/docs": _page("/docs", self._docs, kind="text/html; charset=utf-8"),
            "/openapi.json": _page("/openapi.json", self._openapi, kind=_JSON),
            "/info": _page("/info", lambda _: json.dumps(_info(self._suite)).encode(), kind=_JSON),
            "/metrics": _page("/metrics", lambda _: self._metrics.text().encode(), kind=CONTENT_TYPE),
            "/health": _health,
        }

    def _docs(self, base: str) -> bytes:
        return docs_page(self.forms, self._suite, self._examples, base=base, token=self._token).encode()

    def _openapi(self, base: str) -> bytes:
        return json.dumps(
            openapi(self.forms, self._suite, self._examples, base=base, token=self._token)
        ).encode()


def _routes(endpoint: Callable[[Any], App], pages: _Pages) -> list[Any]:
    from starlette.routing import Route

    endpoints = [(form.path, endpoint(form)) for form in pages.forms]
    by_path = pages.by_path
    return [
        *(Route(path, app, methods=["POST"]) for path, app in endpoints),
        *(Route(path, app, methods=["GET"]) for path, app in by_path.items()),
        *(Route(f"/graders/{{grader:path}}{path}", app, methods=["POST"]) for path, app in endpoints),
        Route("/graders/{grader:path}/info", by_path["/info"], methods=["GET"]),
    ]


def _info(suite: Suite) -> dict[str, str]:
    """The description that Adaptive's servers return."""
    names = ", ".join(entry.name for entry in suite.entries)
    return {"version": own_version(), "name": suite.name or names, "description": suite.description or names}


def _page(path: str, body: Callable[[str], bytes], *, kind: str, status: int = 200, **headers: str) -> App:
    """A page; `body` renders it for a client that sees the server at an address."""

    async def answer(scope: Scope, receive: Receive, send: Send) -> None:  # noqa: ARG001 (ASGI)
        scope[SEEN]["path"] = path
        headers_sent = {**_PAGE_HEADERS, **headers}
        await send_text(send, body(base_url(scope)), kind=kind, status=status, headers=headers_sent)

    return _Callable(answer)


class _Callable:
    """An ASGI function as an object: Starlette takes functions for endpoints that return a response."""

    def __init__(self, answer: App) -> None:
        self._answer = answer

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._answer(scope, receive, send)


async def _health_answer(scope: Scope, receive: Receive, send: Send) -> None:  # noqa: ARG001 (ASGI)
    scope[SEEN]["path"] = "/health"
    ready = bool(scope["app"].state.ready)
    await send_json(send, {"status": "ready" if ready else "not ready"}, status=200 if ready else 503)


_health = _Callable(_health_answer)


async def _not_found(_: Any, error: Exception) -> None:
    paths = ", ".join(form.path for form in in_order(WIRE_FORMS.values()))
    raise RequestError(404, "not_found", f"there is no such path; available: {paths}, /docs") from error


async def _not_allowed(_: Any, error: Any) -> None:
    headers = error.headers or {}
    words = (
        "send requests to graders with POST"
        if "POST" in headers.get("Allow", "POST")
        else "request pages with GET"
    )
    raise RequestError(405, "not_allowed", words, headers=headers) from error


_SWITCH_SECONDS = 0.0001
"""Seconds for which a Python thread blocks the others. The usual 5 ms would delay every transfer between the threads of the
server and of the sandbox, and each step while a large body is parsed on another thread."""
_COLLECT_SECONDS, _COLLECT_LATEST_SECONDS = 5.0, 300.0
"""Seconds between two garbage collections of all generations: when no large request is in memory, and the maximum."""
_NEVER = 1_000_000
"""Python's own collection threshold, too high to be reached: a collection in the middle of a large body takes 0.2 s."""
_BACKLOG = 2048
"""Maximum connections that wait to be accepted."""
_OTHER_DESCRIPTORS = 256
"""Descriptors for everything except connections: workers take a handful each."""
_MIN_DESCRIPTORS = _OTHER_DESCRIPTORS + 64


def bound(host: str, port: int) -> socket.socket:
    """A socket that listens.

    Args:
        host: A name or an address.
        port: 0 for any that is free.

    Raises:
        WorkbenchError: Another program uses it, or there is no such host.
    """
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0][0]
        return _listening(family, host, port)
    except (OSError, OverflowError) as error:
        raise WorkbenchError(
            f"the server cannot listen on {host}:{port}", found=str(error), hint="choose another --port"
        ) from None


def _listening(family: int, host: str, port: int) -> socket.socket:
    # TCP by name: else asyncio does not switch off the delay that puts 40 ms between the head of a response and its body.
    with contextlib.ExitStack() as undo:
        listening = undo.enter_context(socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP))
        if os.name == "posix":
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((host, port))
        listening.listen(_BACKLOG)
        undo.pop_all()
    return listening


def address(listening: socket.socket) -> str:
    """The address of a socket, as clients write it."""
    host, port = listening.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def _descriptors() -> int:
    """Maximum number of descriptors of this process."""
    try:
        import resource
    except ImportError:  # Windows, which has no such limit
        return sys.maxsize
    soft = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return sys.maxsize if soft == resource.RLIM_INFINITY else max(soft, _MIN_DESCRIPTORS)


def _raise_descriptors(wanted: int) -> None:
    """Raise this process's descriptor limit as far as allowed: often it is 1,024, and a connection takes one."""
    with contextlib.suppress(ImportError, ValueError, OSError):
        import resource

        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        most = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        if soft != resource.RLIM_INFINITY and soft < most:
            resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))


def _collect(last: float, *, is_quiet: bool) -> float:
    """Collect garbage when Python does not; returns when that was done last."""
    now = time.monotonic()
    if gc.get_threshold()[2] != _NEVER or now - last < (
        _COLLECT_SECONDS if is_quiet else _COLLECT_LATEST_SECONDS
    ):
        return last
    gc.collect()
    return now


def serve(
    app: Starlette,
    listening: socket.socket,
    *,
    stop_seconds: float = 30.0,
    ready: Callable[[], object] = lambda: None,
) -> None:
    """Serve until SIGTERM or SIGINT: requests in flight are completed, then the workers end; a second signal ends immediately.

    Args:
        app: From `create_app`.
        listening: From `bound`.
        stop_seconds: Seconds that requests in flight may take after the signal.
        ready: Called when the server accepts requests.

    Raises:
        WorkbenchError: The workers did not start.
    """
    require_extra()
    _raise_descriptors(app.state.connections.limits.max_connections + _OTHER_DESCRIPTORS)
    before, thresholds = sys.getswitchinterval(), gc.get_threshold()
    sys.setswitchinterval(_SWITCH_SECONDS)
    gc.set_threshold(*thresholds[:2], _NEVER)
    # Objects loaded so far stay: to scan all of them again takes 50 ms, in the middle of a request.
    gc.collect()
    gc.freeze()
    try:
        server = uvicorn_server(app, stop_seconds=stop_seconds, ready=ready)
        with contextlib.closing(listening):
            asyncio.run(server.serve(sockets=[listening]))
        if not server.started:
            raise WorkbenchError("the server did not start", found="its workers did not; see above")
    finally:
        gc.unfreeze()
        gc.set_threshold(*thresholds)
        sys.setswitchinterval(before)


def uvicorn_server(
    app: Starlette, *, stop_seconds: float = 30.0, ready: Callable[[], object] = lambda: None
) -> Any:
    """A `uvicorn.Server` for an application; see `serve`."""
    import uvicorn

    class Server(uvicorn.Server):
        """uvicorn's server, which also reports when it is ready; any second signal ends it immediately."""

        collected = time.monotonic()

        async def startup(self, sockets: list[socket.socket] | None = None) -> None:
            await super().startup(sockets)
            if self.started:
                ready()

        async def on_tick(self, counter: int) -> bool:
            self.collected = _collect(self.collected, is_quiet=not app.state.admission.values)
            return await super().on_tick(counter)

        async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
            await super().shutdown(sockets)
            if self.force_exit:  # which uvicorn leaves out then: the workers would end with a traceback
                await self.lifespan.shutdown()

        def handle_exit(self, sig: int, frame: Any) -> None:  # noqa: ARG002 (uvicorn's)
            # Not remembered as uvicorn does, which would raise it again at the end: this is an orderly end.
            self.force_exit = self.should_exit
            self.should_exit = True

    connections = app.state.connections
    connections.most = min(connections.most, _descriptors() - _OTHER_DESCRIPTORS)
    config = uvicorn.Config(
        app, http=protocol(connections), log_config=None, access_log=False, lifespan="on", ws="none", server_header=False,
        backlog=_BACKLOG, timeout_graceful_shutdown=max(1, round(stop_seconds)),
    )  # fmt: skip
    return Server(config)


# Wire forms are found by import: every module in `wire_forms` registers its form.
load_modules(wire_forms)

__all__ = ["WIRE_FORMS", "RequestLimits", "WireForm", "create_app", "serve", "wire_form"]
