"""The rubric judge: a prompt, a score and a rationale; Letta's two releases of prompts, and dialects of one's own."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import InitVar, dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from workbench.errors import FormatError
from workbench.grade import ErrorKind, Grade
from workbench.graders.base import is_number, kind
from workbench.judges.answers.verdicts import AnswerError, number, verdict
from workbench.judges.asking.settings import check_setting
from workbench.judges.base import JSON_OBJECT, Judge, as_sample, check_number, json_schema, refuse_unless
from workbench.judges.client.openai import PROVIDERS, provider_client
from workbench.judges.prompts.files import prompt
from workbench.judges.protocol import ChatClient, Messages, Reply
from workbench.samples import Sample
from workbench.templates import Template, TemplateRunError, thread_variables
from workbench.templates import compile as compile_template
from workbench.templates.bounds import MAX_SOURCE
from workbench.templates.braces import check_names
from workbench.thread import StringThread

__all__ = ["RubricJudge", "RubricPrompt", "bounds"]

_EMPTY = "Empty submission - extractor found no content"
_DIALECTS = ("", "braces", "handlebars", "jinja2", "mustache")
_ENDINGS = {
    ".jinja": "jinja2", ".jinja2": "jinja2", ".j2": "jinja2", ".hbs": "handlebars", ".handlebars": "handlebars",
    ".mustache": "mustache",
}  # fmt: skip
_SUBMISSION = frozenset({"completion", "response", "submission", "turns"})
"""Variables that hold the text under judgement."""
_HOLE = re.compile(
    r"\{\{\s*\w[\w.]*\s*\}\}|\{(?:submission|input|ground_truth|completion|prompt|response|question|output|reference)\}"
)
"""What looks like a place to be filled: in two braces any name, in one a name that means a part of the row."""


def bounds(value: Any) -> tuple[float, float]:
    """A scale of scores as two numbers, the lower first.

    Raises:
        FormatError: It is none.
    """
    ends = list(value) if isinstance(value, list | tuple) else []
    numbers = all(map(is_number, ends))
    refuse_unless(
        len(ends) == 2 and numbers and ends[0] < ends[1], "scale must be two numbers, the lower first", value
    )
    return float(ends[0]), float(ends[1])


@dataclass(frozen=True, kw_only=True)
class RubricPrompt(Judge):
    """What judges with a rubric share.

    Without a dialect the prompt is Letta's. Generation "0.4" fills the listed variables into the rubric and puts
    question, expected answer and submission in sections after it. "0.17" takes the prompt as it is, with `{input}`,
    `{submission}`, `{ground_truth}` filled in.

    With a dialect the prompt is the whole message, filled in one pass. Each has `input`, `submission`, `ground_truth`
    and the rubric variables; handlebars and jinja2 have the variables of the Adaptive document (`completion`,
    `last_user_turn_content`, `context_str`, `metadata`, ...), mustache those of vLLora's (`response`, `messages`,
    ...). A prompt that asks for no variable with the submission is a rubric: the sections follow it.

    Attributes:
        prompt: The rubric.
        prompt_path: A file to read the prompt from, when the judge is made; not together with `prompt`. Its ending
            (.jinja, .jinja2, .j2, .hbs, .handlebars, .mustache) chooses the dialect where none is given. Specs
            carry the text, never the path.
        dialect: braces, handlebars, jinja2, mustache; "" for Letta's.
        rubric_vars: Names to fill from the row's `rubric_vars`, or from its columns.
        release: "0.4" or "0.17", where there is no dialect.
    """

    prompt: str = field(default="", kw_only=False)
    prompt_path: InitVar[str | os.PathLike[str] | None] = None
    dialect: str = ""
    rubric_vars: tuple[str, ...] = ()
    release: str = "0.4"

    def __post_init__(self, prompt_path: str | os.PathLike[str] | None) -> None:
        super().__post_init__()
        if prompt_path is not None:
            self._read_prompt(prompt_path)
        text = self.prompt
        refuse_unless(
            isinstance(text, str) and text.strip(), "prompt must be text", text, "prompt or prompt_path"
        )
        names = self.rubric_vars
        texts = isinstance(names, list | tuple) and all(isinstance(name, str) for name in names)
        refuse_unless(texts, "rubric_vars must be a list of names", names)
        object.__setattr__(self, "rubric_vars", tuple(names))
        refuse_unless(self.release in {"0.4", "0.17"}, "unknown release", self.release, "0.4, 0.17")
        refuse_unless(
            self.dialect in _DIALECTS, "unknown dialect", self.dialect, ", ".join(map(repr, _DIALECTS))
        )
        if self.dialect == "braces" and self.release == "0.17":
            object.__setattr__(self, "dialect", "")  # two names of one thing
        self._check_holes()
        self._template  # noqa: B018 (refuses a prompt that cannot be read)

    def _check_holes(self) -> None:
        """Under Letta's own rules an older prompt's braces stay as they are; under ours that is a mistake."""
        found = self.unfilled
        if found and not self.rules:
            raise FormatError(
                f"the prompt holds {found[0]}, which nothing fills in",
                expected="dialect='jinja2'" if found[0].startswith("{{") else "dialect='braces'",
                hint="or leave it out: question, expected answer and submission follow the rubric in sections of their own",
            )

    @property
    def unfilled(self) -> tuple[str, ...]:
        """What in the prompt looks like a place to be filled, such as `{input}`, and reaches the judge as it stands."""
        if self.dialect or self.release != "0.4":
            return ()
        found = [hole for hole in _HOLE.findall(self.prompt) if hole.strip("{ }") not in self.rubric_vars]
        return tuple(dict.fromkeys(found))

    def _read_prompt(self, prompt_path: str | os.PathLike[str]) -> None:
        refuse_unless(not self.prompt, "a rubric has prompt or prompt_path, not both", str(prompt_path))
        path = Path(prompt_path).expanduser()
        object.__setattr__(self, "prompt", _text_of(path))
        if not self.dialect:
            object.__setattr__(self, "dialect", _ENDINGS.get(path.suffix.lower(), ""))

    @property
    def _template(self) -> Template:
        if self.dialect in {"", "braces"}:
            release = "0.17" if self.dialect else self.release
            return compile_template(self.prompt, "braces", names=self.rubric_vars, release=release)
        return compile_template(self.prompt, self.dialect)

    @property
    def _in_sections(self) -> bool:
        """Whether question and submission follow the rubric in sections of ours."""
        if self.dialect:
            return not self._template.variables & _SUBMISSION
        return self.release == "0.4"

    def rendered(self, sample: Sample, *, low: float, high: float, tool: str = "") -> str:
        """The user message."""
        own = _own_variables(sample, self.rubric_vars)
        if self.release == "0.4":
            _check_all(own, self.rubric_vars)
        letta = {
            "input": _question(sample.thread),
            "submission": self.judged(sample),
            "ground_truth": "" if sample.reference is None else str(sample.reference),
        }
        values = self._values(sample, own, letta)
        if not self._in_sections:
            return self._template.render(values)
        material = {
            "question": letta["input"],
            "reference": letta["ground_truth"],
            "completion": letta["submission"],
        }
        rubric = self._template.render(values)
        return prompt("rubric_sections", material, rubric=rubric, low=low, high=high, tool=tool)

    def _values(self, sample: Sample, own: Mapping[str, str], letta: Mapping[str, str]) -> dict[str, Any]:
        """What the prompt can use of a row, as its dialect has it."""
        if not self.dialect and self.release == "0.4":
            return dict(own)
        if self.dialect in {"", "braces"}:
            check_names(tuple(own))
            return {**own, **letta}
        platform = "vllora" if self.dialect == "mustache" else "adaptive"
        values = {**own, **letta, **thread_variables(sample, platform, completion=letta["submission"])}
        return {name: values[name] for name in self._template.variables if name in values}


def _text_of(path: Path) -> str:
    try:
        if path.stat().st_size > 4 * MAX_SOURCE:
            raise FormatError(
                "the prompt is too long", where=str(path), expected=f"{MAX_SOURCE:,} characters"
            )
        return path.read_text("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        found = getattr(error, "strerror", None) or str(error)
        raise FormatError(
            "the prompt cannot be read", where=str(path), found=found, expected="a text file in UTF-8"
        ) from None


def _own_variables(sample: Sample, names: tuple[str, ...]) -> dict[str, str]:
    held = sample.thread.metadata if isinstance(sample.thread.metadata, Mapping) else {}
    given = held.get("rubric_vars")
    own = dict(given) if isinstance(given, Mapping) else {name: held[name] for name in names if name in held}
    return {str(name): value if isinstance(value, str) else str(value) for name, value in own.items()}


def _check_all(own: Mapping[str, str], names: tuple[str, ...]) -> None:
    if missing := [name for name in names if name not in own]:
        raise TemplateRunError(
            f"the row has no rubric variable {missing[0]!r}",
            found=", ".join(map(str, own)) or "no variables",
            hint="add it to the row's rubric_vars, or as a column",
        )


def _question(thread: StringThread) -> str:
    """What was asked; several turns as Letta writes a list."""
    asked = [turn.content for turn in thread.get_turns() if turn.role == "user"]
    return asked[0] if len(asked) == 1 else str(asked) if asked else ""


@kind("rubric-judge")
@dataclass(frozen=True, kw_only=True)
class RubricJudge(RubricPrompt):
    """A model's score by a rubric, with its rationale.

    Attributes:
        provider: openai, anthropic or google: who is asked where no client is given.
        max_retries: How often a failed request is tried again, 20 at most; None for what its client does.
        timeout: Seconds a request may take, 3,600 at most; None for what its client grants.
        scale: Lowest and highest score.
        pass_threshold: A score this high passes; None for no verdict.

    With `rules="letta"`: texts and booleans are read as numbers, scores are clamped, a missing rationale is "", and,
    in release "0.17", an empty submission is 0.0 without a question.

    Source: Letta Evals (`rubric`, `model_judge`).
    """

    provider: str = "openai"
    max_retries: int | None = None
    timeout: float | None = None
    scale: tuple[float, float] = (0.0, 1.0)
    pass_threshold: float | None = None

    def __post_init__(self, prompt_path: str | os.PathLike[str] | None) -> None:
        super().__post_init__(prompt_path)
        refuse_unless(self.provider in PROVIDERS, "unknown provider", self.provider, ", ".join(PROVIDERS))
        for limit in ("timeout", "max_retries"):
            if getattr(self, limit) is not None:
                check_setting(limit, getattr(self, limit))
        if self.pass_threshold is not None:
            check_number("pass_threshold", self.pass_threshold)
        object.__setattr__(self, "scale", bounds(self.scale))

    def chat_client(self) -> ChatClient:
        """The provider, unless a client was given."""
        return self.client if self.client is not None else provider_client(self.provider)

    def asked(self) -> dict[str, Any]:
        """With the time and tries of the fields."""
        return {**super().asked(), "timeout": self.timeout, "max_retries": self.max_retries}

    def answer_format(self) -> dict[str, Any] | None:
        """Rationale and score; JSON mode under platforms' rules."""
        if self.rules:
            return JSON_OBJECT
        low, high = self.scale
        parts = {
            "rationale": {"type": "string"},
            "score": {"type": "number", "minimum": low, "maximum": high},
        }
        return json_schema(
            {"type": "object", "properties": parts, "required": list(parts), "additionalProperties": False}
        )

    def preview(self, sample: Sample | StringThread) -> Messages:
        """See `Judge.preview`."""
        low, high = self.scale
        text = self.rendered(as_sample(sample), low=low, high=high)
        return [{"role": "system", "content": self._system}, {"role": "user", "content": text}]

    @cached_property
    def _system(self) -> str:
        return prompt("rubric_system", low=self.scale[0], high=self.scale[1])

    async def ask(self, sample: Sample, replies: list[Reply]) -> Grade:
        """See `Judge.ask`."""
        if self.rules == "letta" and self.release == "0.17" and not self.judged(sample):
            return Grade(self.scale[0], passed=False, reasoning=_EMPTY)
        return await super().ask(sample, replies)

    def read(self, text: str) -> Grade:
        """Score and rationale."""
        found = verdict(text, "score", self.rules)
        score = number(found.get("score"), self.rules, low=self.scale[0], high=self.scale[1])
        reasoning = found.get("rationale", found.get("reasoning", ""))
        if reasoning is not None and not isinstance(reasoning, str):
            raise AnswerError(
                ErrorKind.JUDGE_PARSE, f"the judge's rationale must be text, not {reasoning!r}"[:200]
            )
        passed = None if self.pass_threshold is None else score >= self.pass_threshold
        return Grade(score, passed=passed, reasoning=reasoning or "")

    def unread(self, error: AnswerError, replies: list[Reply]) -> Grade:
        """Failed; in Letta's words under its rules."""
        if self.rules != "letta":
            return super().unread(error, replies)
        return Grade.failed(error.kind, f"Error during grading: {error}", metadata={"error": str(error)})
