"""The application: every wire form at its path, for the whole suite and for each grader, and the server's own pages."""

from __future__ import annotations

import contextlib
import importlib.util
from collections.abc import AsyncIterator, Callable
from typing import TYPE_CHECKING, Any

from workbench.errors import WorkbenchError
from workbench.rewards import reward
from workbench.serve.access import Access
from workbench.serve.admission import Admission
from workbench.serve.docs_page import docs_page
from workbench.serve.endpoint import Endpoint
from workbench.serve.errors import RequestError
from workbench.serve.http import App, Receive, Scope, Send, send_json, send_text
from workbench.serve.metrics import CONTENT_TYPE, Metrics
from workbench.serve.observed import SEEN, Observed
from workbench.serve.openapi import openapi, own_version
from workbench.serve.scoring import Scoring
from workbench.serve.settings import Limits
from workbench.serve.wire_form import WIRE_FORMS
from workbench.suite import Suite

if TYPE_CHECKING:
    from starlette.applications import Starlette

__all__ = ["create_app", "require_extra"]

_PAGE_HEADERS = {"content-security-policy": "default-src 'none'; style-src 'unsafe-inline'"}


def require_extra() -> None:
    """Refuse to serve without the packages that do it.

    Raises:
        WorkbenchError: It says how to install them.
    """
    missing = [name for name in ("starlette", "uvicorn") if importlib.util.find_spec(name) is None]
    if missing:
        raise WorkbenchError(
            f"a server needs {' and '.join(missing)}", hint='pip install "grader-workbench[serve]"'
        )


def create_app(
    suite: Any,
    *,
    workers: int | None = None,
    limits: Limits | None = None,
    on_error: float | None = None,
    token: str = "",
    log_rows: bool = False,
) -> Starlette:
    """Make the application of a server: an ASGI app for uvicorn, at the root of its address.

    Args:
        suite: A suite, a grader, or several; proved, as `wb.reward` wants it.
        workers: Sandbox processes of each grader that is code; all cores but one by default.
        limits: What one request, and all together, may have.
        on_error: What a row without a score counts as for forms that have no word for it; None for an error status.
        token: What clients must send; "" for none.
        log_rows: Whether what was sent goes into the log.

    Raises:
        NotValidatedError: A grader that was not proved, or did not pass.
        IsolationError: Imported source where this machine cannot confine it.
        WorkbenchError: The extra `serve` is not installed.
    """
    require_extra()
    from starlette.applications import Starlette
    from starlette.middleware import Middleware

    limits = limits or Limits()
    served = reward(suite, workers=workers, on_error="raise" if on_error is None else on_error)
    scoring, admission = Scoring(served, on_error=on_error), Admission(limits)
    metrics = Metrics(served.stats, admission)

    @contextlib.asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        await scoring.warm_up()
        app.state.ready = True
        try:
            yield
        finally:
            app.state.ready = False
            scoring.close()

    def endpoint(form: Any) -> App:
        return Endpoint(form(), scoring, admission, limits, log_rows=log_rows)

    app = Starlette(
        routes=_routes(endpoint, served.suite, metrics, token=bool(token)),
        middleware=[Middleware(Observed, access=Access(token), metrics=metrics)],
        exception_handlers={404: _not_found, 405: _not_allowed},
        lifespan=lifespan,
    )
    app.state.ready, app.state.admission, app.state.scoring = False, admission, scoring
    return app


def _routes(endpoint: Callable[[Any], App], suite: Suite, metrics: Metrics, *, token: bool) -> list[Any]:
    from starlette.routing import Route

    forms = [WIRE_FORMS[path] for path in sorted(WIRE_FORMS)]
    endpoints = [(form.path, endpoint(form)) for form in forms]
    document = openapi(forms, suite, token=token)
    page = docs_page(forms, suite).encode()
    pages: dict[str, App] = {
        "/health": _health,
        "/metrics": _page("/metrics", lambda: metrics.text().encode(), kind=CONTENT_TYPE),
        "/info": _json("/info", _info(suite)),
        "/openapi.json": _json("/openapi.json", document),
        "/docs": _page("/docs", lambda: page, kind="text/html; charset=utf-8"),
    }
    return [
        *(Route(path, app, methods=["POST"]) for path, app in endpoints),
        *(Route(path, app, methods=["GET"]) for path, app in pages.items()),
        *(Route(f"/graders/{{grader:path}}{path}", app, methods=["POST"]) for path, app in endpoints),
        Route("/graders/{grader:path}/info", pages["/info"], methods=["GET"]),
    ]


def _info(suite: Suite) -> dict[str, str]:
    """What Adaptive's servers say of themselves."""
    names = ", ".join(entry.name for entry in suite.entries)
    return {"version": own_version(), "name": suite.name or names, "description": suite.description or names}


def _page(path: str, text: Callable[[], bytes], *, kind: str) -> App:
    async def answer(scope: Scope, receive: Receive, send: Send) -> None:  # noqa: ARG001 (ASGI)
        scope[SEEN]["path"] = path
        await send_text(send, text(), kind=kind, headers=_PAGE_HEADERS)

    return _Callable(answer)


def _json(path: str, value: Any) -> App:
    async def answer(scope: Scope, receive: Receive, send: Send) -> None:  # noqa: ARG001 (ASGI)
        scope[SEEN]["path"] = path
        await send_json(send, value)

    return _Callable(answer)


class _Callable:
    """An ASGI function as an object: Starlette takes functions for those that return an answer."""

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
    paths = ", ".join(sorted(WIRE_FORMS))
    raise RequestError(404, "not_found", f"there is no such path; graders are asked at: {paths}") from error


async def _not_allowed(_: Any, error: Any) -> None:
    raise RequestError(
        405, "not_allowed", "graders are asked with POST", headers=error.headers or {}
    ) from error
