"""Which judges can be exported, and what the file needs of each: its fields, its prompt's placeholders, its rules."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from workbench.core.errors import FormatError
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
from workbench.judges.kinds.openai import TemplatedJudge

__all__ = ["JudgeForm", "check_judge", "columns_of", "fields_of", "form_of"]

_PLATFORMS = ("", "adaptive", "openai", "vllora")
_OUT = "write it as a rubric, binary, criteria, guardrail, score or label judge, or remove it"
_PLACE = re.compile(r"\{\{\{?\s*[\w.]+\s*\}?\}\}")
_COLUMN = re.compile(r"\{\{\{?\s*(?:item|metadata)\.(\w+)\s*\}?\}\}")


@dataclass(frozen=True)
class JudgeForm:
    """What a file needs for a kind of judge.

    Attributes:
        cls: Its class, whose `read` is copied.
        fields: The fields needed to read a reply.
        material: The texts between tags in its built-in prompt, in the order used to compute their mark.
    """

    cls: type[Judge]
    fields: tuple[str, ...]
    material: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The kind as an identifier."""
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
    """What a file needs for a judge.

    Raises:
        FormatError: The kind does not send one request and read one reply by rules alone.
    """
    form = next((form for form in _FORMS if type(judge) is form.cls), None)
    if form is None:
        raise FormatError(
            f"a file cannot represent a {judge.kind}: it sends other requests or reads replies by other rules",
            where="kind",
            hint=_OUT,
        )
    return form


def check_judge(judge: Judge) -> None:
    """Refuse settings of a judge that a file cannot contain.

    Raises:
        FormatError: Names the field and what to do.
    """
    if not judge.model.strip():
        hint = "set model=, or set WORKBENCH_MODEL before creating it"
        raise FormatError("the judge has no model", where="model", hint=hint)
    if judge.platform not in _PLATFORMS:
        raise FormatError(
            f"replies are read by the rules of {judge.platform!r}", where="platform", hint='use platform=""'
        )
    _check_client(judge)
    if judge.extractor.name and not judge.extractor.module:
        raise FormatError("custom extractor", where="extractor", found=judge.extractor.name,
                          hint="use one of the built-in extractors")  # fmt: skip
    for text, dialect in _templates(judge):
        _check_places(text, dialect)


def _check_client(judge: Judge) -> None:
    client = judge.client
    way = "set client=None: the file calls the server in OPENAI_BASE_URL with the key in OPENAI_API_KEY"
    if client is not None and not isinstance(client, OpenAIClient):
        raise FormatError("custom client", where="client", found=type(client).__name__, hint=way)
    if client is not None and client.models:
        raise FormatError("the client has settings for single models", where="client", hint=way)


def _templates(judge: Judge) -> Iterator[tuple[str, str]]:
    """The author's templates, with their dialects; Letta's have only placeholders."""
    if isinstance(judge, BinaryJudge):
        yield from ((text, "handlebars") for text in (judge.system_template, judge.user_template) if text)
    elif isinstance(judge, TemplatedJudge):
        yield from ((message["content"], "openai") for message in judge.input)
    elif isinstance(judge, RubricJudge) and judge.dialect not in {"", "braces"}:
        yield judge.prompt, judge.dialect


def _check_places(text: str, dialect: str) -> None:
    """Refuse a template with more than placeholders: its effect cannot be derived from sample rows."""
    rest = _PLACE.sub("", text)
    signs = ("{{", "{%", "{#") if dialect == "jinja2" else ("{{",)
    if found := next((sign for sign in signs if sign in rest), ""):
        at = rest.index(found)
        raise FormatError(
            "a template with conditions, loops or filters", where="prompt", found=rest[at : at + 40],
            hint="use only plain placeholders such as {{completion}}",
        )  # fmt: skip


def columns_of(judge: Judge) -> tuple[str, ...]:
    """The columns of the row that a judge's prompt shows."""
    named = [name for text, _ in _templates(judge) for name in _COLUMN.findall(text)]
    named += judge.rubric_vars if isinstance(judge, RubricJudge) else ()
    return tuple(dict.fromkeys(named))


def fields_of(judge: Judge) -> dict[str, Any]:
    """The fields needed to read a reply, as plain data."""
    values = {name: getattr(judge, name) for name in form_of(judge).fields}
    return {name: list(value) if isinstance(value, tuple) else value for name, value in values.items()}
