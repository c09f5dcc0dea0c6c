"""Which judges go into a file, and what the file needs of each: its fields, its question's places, its rules."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from workbench.errors import FormatError
from workbench.judges import (
    BinaryJudge,
    CriteriaJudge,
    GuardrailJudge,
    LabelJudge,
    OpenAIClient,
    RubricJudge,
    ScoreJudge,
)
from workbench.judges.base import Judge
from workbench.judges.kinds.templated import TemplatedJudge

__all__ = ["JudgeForm", "check_judge", "columns_of", "fields_of", "form_of"]

_PLATFORMS = ("", "adaptive", "openai", "vllora")
_OUT = "write it as a rubric, binary, criteria, guardrail, score or label judge, or leave it out"
_PLACE = re.compile(r"\{\{\{?\s*[\w.]+\s*\}?\}\}")
_COLUMN = re.compile(r"\{\{\{?\s*(?:item|metadata)\.(\w+)\s*\}?\}\}")


@dataclass(frozen=True)
class JudgeForm:
    """What a file needs of a kind of judge.

    Attributes:
        cls: Its class, whose `read` is copied.
        fields: The fields that reading an answer needs.
        material: The texts between tags in its built-in prompt, in the order in which their mark is computed.
    """

    cls: type[Judge]
    fields: tuple[str, ...]
    material: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The kind, as Python's functions are named."""
        return self.cls.kind.replace("-", "_")


_FORMS = (
    JudgeForm(BinaryJudge, ("platform",), ("context", "question", "completion")),
    JudgeForm(CriteriaJudge, ("platform", "pass_threshold"), ("question", "completion")),
    JudgeForm(GuardrailJudge, ("platform", "safety_threshold"), ("completion",)),
    JudgeForm(RubricJudge, ("platform", "scale", "pass_threshold"), ("questions", "reference", "completion")),
    JudgeForm(ScoreJudge, ("platform", "scale")),
    JudgeForm(LabelJudge, ("platform", "labels", "passing_labels")),
)


def form_of(judge: Judge) -> JudgeForm:
    """What a file needs of a judge.

    Raises:
        FormatError: It is of no kind that asks one question and reads one answer by rules alone.
    """
    form = next((form for form in _FORMS if type(judge) is form.cls), None)
    if form is None:
        raise FormatError(
            f"a {judge.kind} asks more, or reads answers otherwise, than a file can", where="kind", hint=_OUT
        )
    return form


def check_judge(judge: Judge) -> None:
    """Refuse what a file cannot hold of a judge.

    Raises:
        FormatError: It names the field and the way out.
    """
    if not judge.model.strip():
        hint = "give it model=, or set WORKBENCH_MODEL before it is made"
        raise FormatError("the judge names no model", where="model", hint=hint)
    if judge.platform not in _PLATFORMS:
        raise FormatError(
            f"answers read by the rules of {judge.platform!r}", where="platform", hint='use platform=""'
        )
    _check_client(judge)
    if judge.extractor.name and not judge.extractor.module:
        raise FormatError("an extractor of your own", where="extractor", found=judge.extractor.name,
                          hint="use one of the built-in extractors")  # fmt: skip
    for text, dialect in _templates(judge):
        _check_places(text, dialect)


def _check_client(judge: Judge) -> None:
    client = judge.client
    way = "set client=None: the file asks the server in OPENAI_BASE_URL with the key in OPENAI_API_KEY"
    if client is not None and not isinstance(client, OpenAIClient):
        raise FormatError("a client of your own", where="client", found=type(client).__name__, hint=way)
    if client is not None and client.models:
        raise FormatError("settings of the client's own for a model", where="client", hint=way)


def _templates(judge: Judge) -> Iterator[tuple[str, str]]:
    """The author's templates, with their dialects; Letta's have places alone."""
    if isinstance(judge, BinaryJudge):
        yield from ((text, "handlebars") for text in (judge.system_template, judge.user_template) if text)
    elif isinstance(judge, TemplatedJudge):
        yield from ((message["content"], "openai") for message in judge.input)
    elif isinstance(judge, RubricJudge) and judge.dialect not in {"", "braces"}:
        yield judge.prompt, judge.dialect


def _check_places(text: str, dialect: str) -> None:
    """Refuse a template with more than places to fill: what depends on the row cannot be seen from samples of it."""
    rest = _PLACE.sub("", text)
    signs = ("{{", "{%", "{#") if dialect == "jinja2" else ("{{",)
    if found := next((sign for sign in signs if sign in rest), ""):
        at = rest.index(found)
        raise FormatError(
            "a template with conditions, loops or filters", where="prompt", found=rest[at : at + 40],
            hint="use plain places such as {{completion}} alone",
        )  # fmt: skip


def columns_of(judge: Judge) -> tuple[str, ...]:
    """The columns of the row that a judge's question shows."""
    named = [name for text, _ in _templates(judge) for name in _COLUMN.findall(text)]
    named += judge.rubric_vars if isinstance(judge, RubricJudge) else ()
    return tuple(dict.fromkeys(named))


def fields_of(judge: Judge) -> dict[str, Any]:
    """The fields that reading an answer needs, as plain data."""
    values = {name: getattr(judge, name) for name in form_of(judge).fields}
    return {name: list(value) if isinstance(value, tuple) else value for name, value in values.items()}
