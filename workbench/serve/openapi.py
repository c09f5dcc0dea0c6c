"""The OpenAPI document, made of the wire forms."""

from __future__ import annotations

import importlib.metadata
from collections.abc import Sequence
from typing import Any

from workbench.serve.errors import NO_SCORE_STATUS
from workbench.serve.wire_form import WireForm
from workbench.suite import Suite

__all__ = ["openapi", "own_version"]

_ERRORS = {
    400: "The body is no JSON, or has another shape.",
    401: "The token is missing or wrong.",
    408: "The body did not arrive in time.",
    413: "More bytes or rows than one request may have.",
    NO_SCORE_STATUS: "A row has no score, and the form has no word for that.",
    429: "The queue is full: come again after Retry-After seconds.",
    503: "The sandbox cannot work, or the server stops.",
    504: "The rows were not graded in time.",
}
_ERROR_SCHEMA = {
    "type": "object",
    "properties": {
        "error": {
            "type": "object",
            "properties": {
                "status": {"type": "integer"},
                "type": {"type": "string"},
                "message": {"type": "string"},
            },
            "required": ["status", "type", "message"],
        }
    },
    "required": ["error"],
}
_PAGES = {
    "/health": "Whether the server is ready.",
    "/info": "What it says of itself, as Adaptive's reward servers do.",
    "/metrics": "Counts and times in Prometheus' text form.",
}


def own_version() -> str:
    """The version of the installed package; empty where it is not installed but on the path."""
    try:
        return importlib.metadata.version("grader-workbench")
    except importlib.metadata.PackageNotFoundError:
        return ""


def openapi(forms: Sequence[type[WireForm]], suite: Suite, *, token: bool) -> dict[str, Any]:
    """The document.

    Args:
        forms: The wire forms.
        suite: What is served.
        token: Whether clients must send one.
    """
    names = [entry.name for entry in suite.entries]
    several = "".join(f"\n- {name}" for name in names)
    paths = {
        **{form.path: {"post": _operation(form)} for form in forms},
        **{f"/graders/{{grader}}{form.path}": {"post": _of_grader(form, names)} for form in forms},
        **{path: {"get": _page(about)} for path, about in _PAGES.items()},
    }
    document: dict[str, Any] = {
        "openapi": "3.1.0",
        "info": {
            "title": suite.name or "Graders",
            "version": own_version(),
            "description": f"{suite.description}\n\nGraders:{several}".strip(),
        },
        "paths": paths,
        "components": {"schemas": {"Error": _ERROR_SCHEMA}},
    }
    if token:
        document["components"]["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
        document["security"] = [{"token": []}]
    return document


def _operation(form: type[WireForm]) -> dict[str, Any]:
    return {
        "summary": form.title,
        "description": f"{form.about}\n\nNo score: {form.no_score}\n\nUse: `{form.recipe}`\n\nSource: {form.source}",
        "operationId": form.path.strip("/"),
        "requestBody": {
            "required": True,
            "content": {"application/json": {"schema": form.request, "example": form.example}},
        },
        "responses": {
            "200": _answer("The answer.", form.response, form.answer),
            **{str(status): _answer(about, _ref("Error")) for status, about in _ERRORS.items()},
        },
    }


def _of_grader(form: type[WireForm], names: Sequence[str]) -> dict[str, Any]:
    """The same for one grader of the suite."""
    parameter = {
        "name": "grader",
        "in": "path",
        "required": True,
        "schema": {"type": "string", "enum": list(names)},
    }
    operation = _operation(form)
    return {
        **operation, "summary": f"{form.title}, one grader", "operationId": f"grader_{operation['operationId']}",
        "parameters": [parameter],
    }  # fmt: skip


def _page(about: str) -> dict[str, Any]:
    return {"summary": about, "responses": {"200": {"description": about}}}


def _ref(name: str) -> dict[str, str]:
    return {"$ref": f"#/components/schemas/{name}"}


def _answer(about: str, schema: Any, example: Any = None) -> dict[str, Any]:
    content = {"schema": schema, **({} if example is None else {"example": example})}
    return {"description": about, "content": {"application/json": content}}
