"""The OpenAPI document, generated from the wire forms."""

from __future__ import annotations

import importlib.metadata
from collections.abc import Mapping, Sequence
from typing import Any

from workbench.deploy.serve.errors import NO_SCORE_STATUS
from workbench.deploy.serve.examples import ASKED, MADE_UP, Example, Examples
from workbench.deploy.serve.listing import PAGES, with_host, with_pages
from workbench.deploy.serve.wire_form import WireForm
from workbench.run.suite import Suite

__all__ = ["openapi", "own_version"]

_ERRORS = {
    400: "The body is not JSON, or has another shape.",
    401: "The token is missing or wrong.",
    408: "The body did not arrive in time.",
    413: "More bytes or rows than one request may have.",
    NO_SCORE_STATUS: "A row has no score, and the form cannot represent that.",
    429: "The queue is full: retry after Retry-After seconds.",
    503: "The sandbox does not work, or the server stops.",
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


def own_version() -> str:
    """The version of the installed package; empty if it is not installed but on the path."""
    try:
        return importlib.metadata.version("grader-workbench")
    except importlib.metadata.PackageNotFoundError:
        return ""


def openapi(
    forms: Sequence[type[WireForm]], suite: Suite, examples: Examples, *, base: str, token: bool
) -> dict[str, Any]:
    """The document.

    Args:
        forms: The wire forms, in order.
        suite: The served suite.
        examples: The responses to their examples.
        base: The server's address as the client sees it.
        token: Whether clients must send one.
    """
    names = [entry.name for entry in suite.entries]
    several = "".join(f"\n- {name}" for name in names)
    paths: dict[str, Any] = {}
    for listed in with_pages(forms):
        if isinstance(listed, str):
            paths[listed] = {"get": _page(PAGES[listed])}
        elif examples.of_suite:  # several graders without a rule can only be called one by one
            paths[listed.path] = {"post": _operation(listed, {"": examples.of(listed, "")}, base)}
    for form in forms:
        answers = {name: examples.of(form, name) for name in names}
        paths[f"/graders/{{grader}}{form.path}"] = {"post": _of_grader(form, answers, base)}
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


def _operation(form: type[WireForm], answers: Mapping[str, Example], base: str) -> dict[str, Any]:
    about = f"{form.about}\n\nNo score: {form.no_score}\n\nUse: `{with_host(form.recipe, base)}`\n\nSource: {form.source}"
    responses = {200: _answer("The response.", form.response)}
    responses |= {status: _answer(text, _ref("Error")) for status, text in _ERRORS.items()}
    for name, example in answers.items():
        response = responses.setdefault(example.status, _answer("A rejection.", _ref("Error")))
        examples = response["content"]["application/json"].setdefault("examples", {})
        examples[name or "answer"] = {"summary": ASKED if example.graded else MADE_UP, "value": example.body}
    return {
        "summary": form.title,
        "description": about,
        "operationId": form.path.strip("/"),
        "requestBody": {
            "required": True,
            "content": {"application/json": {"schema": form.request, "example": form.example}},
        },
        "responses": {str(status): response for status, response in responses.items()},
    }


def _of_grader(form: type[WireForm], answers: Mapping[str, Example], base: str) -> dict[str, Any]:
    """The same for one grader of the suite."""
    parameter = {
        "name": "grader",
        "in": "path",
        "required": True,
        "schema": {"type": "string", "enum": list(answers)},
    }
    operation = _operation(form, answers, f"{base}/graders/NAME")
    return {
        **operation, "summary": f"{form.title}, one grader", "operationId": f"grader_{operation['operationId']}",
        "parameters": [parameter],
    }  # fmt: skip


def _page(about: str) -> dict[str, Any]:
    return {"summary": about, "responses": {"200": {"description": about}}}


def _ref(name: str) -> dict[str, str]:
    return {"$ref": f"#/components/schemas/{name}"}


def _answer(about: str, schema: Any) -> dict[str, Any]:
    return {"description": about, "content": {"application/json": {"schema": schema}}}
