"""The application: every wire form at its path, for the whole suite and for each grader, and the server's own pages."""

from __future__ import annotations

import contextlib
import importlib.util
import json
from collections.abc import AsyncIterator, Callable, Sequence
from typing import TYPE_CHECKING, Any

from workbench.core.errors import WorkbenchError
from workbench.deploy.reward import reward
from workbench.deploy.serve.access import Access
from workbench.deploy.serve.connections import Connections
from workbench.deploy.serve.counted_log import CountedLog
from workbench.deploy.serve.endpoint import Beside, GradingEndpoint
from workbench.deploy.serve.http import App, Receive, Scope, Send, base_url, send_json, send_text
from workbench.deploy.serve.limits import Admission, RequestError, RequestLimits
from workbench.deploy.serve.observed import CONTENT_TYPE, SEEN, Metrics, Observed
from workbench.deploy.serve.pages import Examples, docs_page, in_order, openapi, own_version
from workbench.deploy.serve.scoring import Scoring
from workbench.deploy.serve.wire_form import WIRE_FORMS, WireForm
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
            f"a server needs {' and '.join(missing)}", hint='pip install "grader-workbench[serve]"'
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
