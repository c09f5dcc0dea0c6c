"""The pages of a server: the list of its forms, the responses to their examples, the documentation and its OpenAPI document."""

from __future__ import annotations

import asyncio
import importlib.metadata
import json
import re
import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from html import escape
from typing import Any, TypeVar
from urllib.parse import quote

import numpy as np

from workbench.core.display_text import visible
from workbench.core.errors import SandboxError
from workbench.core.grades import Grades
from workbench.core.user_functions import attempt
from workbench.deploy.reward.grading import RewardGrades
from workbench.deploy.reward.trainer_rows import RewardRow
from workbench.deploy.serve.endpoint import Scoring
from workbench.deploy.serve.http import NO_SCORE_STATUS, RequestError
from workbench.deploy.serve.wire_forms import Outcomes, WireForm
from workbench.graders.code import SandboxedGrader
from workbench.graders.combine import Entry
from workbench.graders.combine.combined import combine
from workbench.graders.rule_grader import RuleGrader
from workbench.run.suite import Suite

T = TypeVar("T")

_FIRST = ("/score", "/batch_score")
"""One thread, then many: the form for a user without a trainer."""
PAGES = {
    "/info": "The server's description, as of Adaptive's reward servers.",
    "/health": "Whether the server is ready.",
    "/metrics": "Counts and times in Prometheus' text format.",
}
"""Pages in addition to the forms: the first follows the forms it belongs to, the others are at the end."""

_HOST = re.compile(r"\bHOST\b")


def in_order(forms: Iterable[type[WireForm]]) -> list[type[WireForm]]:
    """Forms in the order of the list: those of `_FIRST`, then the others by their paths."""
    known = {form.path: form for form in forms}
    first = [known.pop(path) for path in _FIRST if path in known]
    return [*first, *(known[path] for path in sorted(known))]


def with_pages(forms: Sequence[type[WireForm]]) -> list[type[WireForm] | str]:
    """Forms in order, with the paths of `PAGES` at their positions."""
    first = sum(form.path in _FIRST for form in forms)
    info, *others = PAGES
    return [*forms[:first], info, *forms[first:], *others]


def with_host(recipe: str, base: str) -> str:
    """A recipe with an address instead of HOST."""
    return _HOST.sub(lambda _: base, recipe)


_SECONDS = 5.0
"""Maximum seconds that the start of a server waits for examples."""
ASKED = "This server's response to the example."
MADE_UP = (
    "The shape of the response: the graders were not called for it, because that may be slow or cost money."
)
_REASONING = "The grader's reasoning."


@dataclass(frozen=True)
class Example:
    """The response to the example request of a form.

    Attributes:
        status: HTTP status.
        body: JSON values.
        graded: Whether this server's graders computed it; otherwise it has the response's shape, and a score of 1.0.
    """

    status: int
    body: Any
    graded: bool


class Examples:
    """The responses to the example requests, for the whole suite and for each grader.

    Code and rules are called once, by `ask`. Judges, endpoints and users' functions are not: they cost time or money;
    their responses are made up in the same shape.

    Args:
        forms: The wire forms.
        scoring: What grades.
        on_error: See `Outcomes`.
    """

    def __init__(
        self, forms: Sequence[type[WireForm]], scoring: Scoring, *, on_error: float | None = None
    ) -> None:
        self._forms, self._scoring, self._on_error = tuple(forms), scoring, on_error
        self._asked: dict[tuple[str, str], Example] = {}

    @property
    def of_suite(self) -> bool:
        """Whether the suite has one score and is called as a whole; otherwise only its graders are."""
        return self._scoring.reward.single

    def of(self, form: type[WireForm], only: str) -> Example:
        """The response to a form's example.

        Args:
            form: A wire form.
            only: The grader to call; "" for the suite.
        """
        if (form.path, only) in self._asked:
            return self._asked[form.path, only]

        def answer() -> Example:
            rows = form().read(form.example)
            return _answer(form, rows, self._made_up(rows, only), graded=False)

        return _of_form(answer) or Example(200, form.answer, graded=False)

    async def ask(self) -> None:
        """Call code and rules, for at most a few seconds; rows graded here are not counted."""
        whole = [""] if self.of_suite else []
        try:
            async with asyncio.timeout(_SECONDS):
                for only in [*whole, *(entry.name for entry in self._entries(""))]:
                    graders = [entry.grader for entry in self._entries(only)]
                    if all(isinstance(grader, SandboxedGrader | RuleGrader) for grader in graders):
                        await self._ask(only)
        except (TimeoutError, SandboxError):
            pass  # slow graders: the pages then show made-up responses, marked as such
        finally:
            self._scoring.reward.reset()

    async def _ask(self, only: str) -> None:
        """Grade the examples of all forms in one call."""
        examples = ((form, _of_form(partial(form().read, form.example))) for form in self._forms)
        read = [(form, rows) for form, rows in examples if rows is not None]
        outcomes = await self._scoring.score([row for _, rows in read for row in rows], only=only)
        first = 0
        for form, rows in read:
            part = outcomes.part(first, len(rows))
            answer = _of_form(partial(_answer, form, rows, part, graded=True))
            if answer is not None:
                self._asked[form.path, only] = answer
            first += len(rows)

    def _entries(self, only: str) -> list[Entry]:
        return [entry for entry in self._scoring.reward.suite.entries if not only or entry.name == only]

    def _made_up(self, rows: Sequence[RewardRow], only: str) -> Outcomes:
        """A score of 1.0 from every grader, and reasoning from those that give any."""
        reward, entries = self._scoring.reward, self._entries(only)
        parts = {entry.name: entry.apply(_ones(entry, len(rows))) for entry in entries}
        rule = None if only else reward.suite.combine
        graded = RewardGrades(rows, parts, combine(entries, parts, rule) if rule else None, 0.0)
        return Outcomes(graded, reward.column(graded)[2], reward.scores(graded), on_error=self._on_error)


def _ones(entry: Entry, count: int) -> Grades:
    grades = Grades.empty(count)
    grades.put_scores(0, np.ones(count), seconds=0.0)
    grades.passed[:] = 1
    if entry.grader.family == "judges":
        grades.reasoning.update(dict.fromkeys(range(count), _REASONING))
    return grades


def _of_form(call: Callable[[], T]) -> T | None:
    """The result of a form's method on its example; None if it fails, which the form's author has to find."""
    result = attempt(call)
    return None if isinstance(result, Exception) else result


def _answer(form: type[WireForm], rows: Sequence[RewardRow], outcomes: Outcomes, *, graded: bool) -> Example:
    try:
        return Example(200, form().write(form.example, rows, outcomes), graded)
    except RequestError as error:
        return Example(error.status, error.body, graded)


_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>{title}</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<style>
:root {{ color-scheme: light dark; }}
body {{ font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }}
pre {{ white-space: pre-wrap; overflow-wrap: anywhere; padding: .8rem; border: 1px solid color-mix(in srgb, currentColor 25%, transparent); }}
dt {{ font-weight: 600; }} dd {{ margin: 0 0 .6rem; }} code {{ overflow-wrap: anywhere; }}
</style></head><body>
<h1>{title}</h1>
<p>{description}</p>
<p>Graders: {names}. {asked} The document for
programs is <a href="openapi.json">openapi.json</a>; <a href="health">health</a> and <a href="metrics">metrics</a> report its state.</p>
{token}{sections}
</body></html>
"""
_FORM = """<h2><code>POST {path}</code> {title}</h2>
<p>{about}</p>
<dl><dt>Use</dt><dd><code>{recipe}</code></dd><dt>No score</dt><dd>{no_score}</dd><dt>Source</dt><dd>{source}</dd></dl>
<pre>{curl}</pre>
<p>{answered}</p>
<pre>{answer}</pre>
"""
_PLAIN = """<h2><code>GET {path}</code></h2>
<p>{about}</p>
<pre>{curl}</pre>
"""
_ACCESS = (
    "<p>Every request except <code>/health</code> needs the server's token instead of <code>TOKEN</code>: as a "
    "header, or as the password of the address.</p>\n"
)
_ACCESS_HEADER = "-H 'authorization: Bearer TOKEN'"
_CODE = re.compile(r"`([^`\n]+)`")


def docs_page(
    forms: Sequence[type[WireForm]], suite: Suite, examples: Examples, *, base: str, token: bool
) -> str:
    """The page as HTML; names and descriptions of graders are text in it.

    Args:
        forms: The wire forms, in order.
        suite: The served suite.
        examples: The responses to their examples.
        base: The server's address as the client sees it.
        token: Whether clients must send one.
    """
    names = ", ".join(f"<code>{_text(entry.name)}</code>" for entry in suite.entries)
    below = "below <code>/graders/NAME</code>"
    # Several graders without a rule can only be called one by one: the page shows the first.
    only = "" if examples.of_suite else suite.entries[0].name
    where = f"/graders/{quote(only)}" if only else ""
    header = [_ACCESS_HEADER] if token else []
    return _PAGE.format(
        title=_text(suite.name or "Graders"),
        description=_prose(suite.description),
        names=names,
        asked=f"Each form scores the suite; {below} it scores one grader."
        if examples.of_suite
        else f"Each grader is called separately, {below}; the requests here are for the first.",
        token=_ACCESS if token else "",
        sections="".join(
            _plain(listed, f"{base}{listed}", header)
            if isinstance(listed, str)
            else _form(listed, examples, only, where, base, header)
            for listed in with_pages(forms)
        ),
    )


def _form(
    form: type[WireForm], examples: Examples, only: str, where: str, base: str, header: list[str]
) -> str:
    example = examples.of(form, only)
    json_header = "-H 'content-type: application/json'"
    request = f"-d {shlex.quote(json.dumps(form.example))}"
    note = ASKED if example.graded else MADE_UP
    shown = {
        "path": _text(where + form.path),
        "recipe": _text(with_host(form.recipe, base + where)),
        "curl": _text(_curl(f"{base}{where}{form.path}", [*header, json_header, request])),
        "answered": _text(note if example.status == 200 else f"{note} Status {example.status}."),
        "answer": _text(json.dumps(example.body, indent=2)),
    }
    prose = {name: _prose(getattr(form, name)) for name in ("title", "about", "no_score", "source")}
    return _FORM.format(**shown, **prose)


def _plain(path: str, url: str, header: list[str]) -> str:
    curl = _curl(url, [] if path == "/health" else header)
    return _PLAIN.format(path=_text(path), about=_prose(PAGES[path]), curl=_text(curl))


def _curl(url: str, words: Sequence[str]) -> str:
    return " \\\n  ".join([f"curl {shlex.quote(url)}", *words])


def _prose(text: Any) -> str:
    """Text in which content between backticks is code."""
    return _CODE.sub(r"<code>\1</code>", _text(text))


def _text(text: str) -> str:
    return escape(visible(text))


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
            responses = {"200": {"description": PAGES[listed]}}
            paths[listed] = {"get": {"summary": PAGES[listed], "responses": responses}}
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
    responses = {200: _response("The response.", form.response)}
    responses |= {status: _response(text, _ref("Error")) for status, text in _ERRORS.items()}
    for name, example in answers.items():
        response = responses.setdefault(example.status, _response("A rejection.", _ref("Error")))
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


def _ref(name: str) -> dict[str, str]:
    return {"$ref": f"#/components/schemas/{name}"}


def _response(about: str, schema: Any) -> dict[str, Any]:
    return {"description": about, "content": {"application/json": {"schema": schema}}}
