"""The rubric judge: a prompt, a score and a rationale. Prompts are those of two Letta releases, or templates."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import InitVar, dataclass, field, replace
from pathlib import Path
from typing import Any

from workbench.core.errors import FormatError
from workbench.core.files import read_bytes
from workbench.core.grade import ErrorKind, Grade
from workbench.core.python_text import cached_property
from workbench.core.thread import StringThread
from workbench.data.samples import Sample
from workbench.data.templates import Template, thread_variables
from workbench.data.templates import compile as compile_template
from workbench.data.templates.small_dialects import check_names
from workbench.data.templates.values import MAX_SOURCE, TemplateRunError
from workbench.graders.arguments import HANDLING, LIMIT
from workbench.graders.base import as_sample, is_number, kind
from workbench.judges.kinds import JSON_OBJECT, Judge, json_schema
from workbench.judges.openai_client import PROVIDERS, provider_client
from workbench.judges.prompts import label_reason, prompt
from workbench.judges.protocol import ChatClient, Messages, Reply, check_number, check_setting, refuse_unless
from workbench.judges.token_odds import LOGPROBS, weighted
from workbench.judges.verdicts import AnswerError, score_value, verdict_object

_EMPTY_SUBMISSION = "Empty submission - extractor found no content"
"""Letta's reasoning for a submission without text."""
_MAX_STEPS = 20
"""Maximum steps of a scale whose scores are weighted by probabilities: as many tokens as servers return."""
_DIALECTS = ("", "braces", "handlebars", "jinja2", "mustache")
_DIALECT_OF_SUFFIX = {
    ".jinja": "jinja2", ".jinja2": "jinja2", ".j2": "jinja2", ".hbs": "handlebars", ".handlebars": "handlebars",
    ".mustache": "mustache",
}  # fmt: skip
_SUBMISSION_VARIABLES = frozenset({"completion", "response", "submission", "turns"})
"""Template variables that contain the judged text."""
_PLACEHOLDER = re.compile(
    r"\{\{\s*\w[\w.]*\s*\}\}|\{(?:submission|input|ground_truth|completion|prompt|response|question|output|reference)\}"
)
"""What looks like a template variable: any name in double braces; in single braces a name that means a part of the row."""


def check_scale(value: Any) -> tuple[float, float]:
    """A scale of scores as two floats, the lower first.

    Raises:
        FormatError: It is not two numbers, the lower first.
    """
    ends = list(value) if isinstance(value, list | tuple) else []
    numbers = all(map(is_number, ends))
    refuse_unless(
        len(ends) == 2 and numbers and ends[0] < ends[1], "scale must be two numbers, the lower first", value
    )
    return float(ends[0]), float(ends[1])


@dataclass(frozen=True, kw_only=True)
class RubricPrompt(Judge):
    """The base of the judges with a rubric: their prompt.

    Without a dialect the prompt is Letta's. Release "0.4" fills the rubric variables into the rubric and appends sections
    with prompt, reference and submission. "0.17" uses the prompt as the whole message and fills in `{input}`,
    `{submission}` and `{ground_truth}`.

    With a dialect the prompt is a template of the whole message. All dialects have `input`, `submission`,
    `ground_truth` and the rubric variables; handlebars and jinja2 also have the variables that Adaptive documents
    (`completion`, `last_user_turn_content`, `context_str`, `metadata`, ...), mustache those of vLLora (`response`,
    `messages`, ...). A template that uses no variable with the submission is a rubric: the sections follow it.

    Attributes:
        prompt: The rubric.
        prompt_path: A file to read the prompt from, when the judge is made; not together with `prompt`. Its suffix
            (.jinja, .jinja2, .j2, .hbs, .handlebars, .mustache) chooses the dialect if none is given. Specs contain the
            text, never the path.
        dialect: braces, handlebars, jinja2, mustache; "" for Letta's.
        rubric_vars: Names of variables to take from the row's `rubric_vars`, or from its columns.
        release: Letta's, "0.4" or "0.17", if there is no dialect.
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
        are_names = isinstance(names, list | tuple) and all(isinstance(name, str) for name in names)
        refuse_unless(are_names, "rubric_vars must be a list of names", names)
        object.__setattr__(self, "rubric_vars", tuple(names))
        refuse_unless(self.release in {"0.4", "0.17"}, "unknown release", self.release, "0.4, 0.17")
        refuse_unless(
            self.dialect in _DIALECTS, "unknown dialect", self.dialect, ", ".join(map(repr, _DIALECTS))
        )
        if self.dialect == "braces" and self.release == "0.17":
            object.__setattr__(self, "dialect", "")  # two names of the same rules; equal judges stay equal
        self._check_placeholders()
        self._template  # noqa: B018 (rejects a prompt that cannot be parsed)

    def _check_placeholders(self) -> None:
        """Reject unknown placeholders; under Letta's rules they are sent literally."""
        placeholders = self.unfilled_placeholders
        if placeholders and not self.platform:
            raise FormatError(
                f"the prompt contains {placeholders[0]}, which has no value",
                expected="dialect='jinja2'" if placeholders[0].startswith("{{") else "dialect='braces'",
                hint="or leave it out: sections with prompt, reference and submission follow the rubric",
            )

    @property
    def unfilled_placeholders(self) -> tuple[str, ...]:
        """What looks like a variable in the prompt, such as `{input}`, but is sent to the model literally."""
        if self.dialect or self.release != "0.4":
            return ()
        placeholders = _PLACEHOLDER.findall(self.prompt)
        unfilled = [text for text in placeholders if text.strip("{ }") not in self.rubric_vars]
        return tuple(dict.fromkeys(unfilled))

    def _read_prompt(self, prompt_path: str | os.PathLike[str]) -> None:
        refuse_unless(not self.prompt, "a rubric has prompt or prompt_path, not both", str(prompt_path))
        path = Path(prompt_path).expanduser()
        object.__setattr__(self, "prompt", _read_text(path))
        if not self.dialect:
            object.__setattr__(self, "dialect", _DIALECT_OF_SUFFIX.get(path.suffix.lower(), ""))

    @property
    def _template(self) -> Template:
        if self.dialect in {"", "braces"}:
            release = "0.17" if self.dialect else self.release
            return compile_template(self.prompt, "braces", names=self.rubric_vars, release=release)
        return compile_template(self.prompt, self.dialect)

    @property
    def _has_sections(self) -> bool:
        """Whether sections with prompt, reference and submission follow the rubric."""
        if self.dialect:
            return not self._template.variables & _SUBMISSION_VARIABLES
        return self.release == "0.4"

    @property
    def shows_question(self) -> bool:
        """Whether the request contains the row's prompt."""
        return self._has_sections or bool(_QUESTIONS & set(self._template.variables))

    def user_message(self, sample: Sample, *, low: float, high: float, tool: str = "") -> str:
        """The prompt rendered for a sample.

        Args:
            sample: The sample.
            low: The lowest score.
            high: The highest score.
            tool: Tool that the model is to submit its grade with; "" for a reply in text.
        """
        rubric_values = _rubric_values(sample, self.rubric_vars)
        if self.release == "0.4":
            _require_all(rubric_values, self.rubric_vars)
        letta_values = {
            "input": _question(sample.thread),
            "submission": self.judged_text(sample),
            "ground_truth": "" if sample.reference is None else str(sample.reference),
        }
        values = self._template_values(sample, rubric_values, letta_values)
        if not self._has_sections:
            return self._template.render(values)
        material = {
            "question": letta_values["input"],
            "reference": letta_values["ground_truth"],
            "completion": letta_values["submission"],
        }
        rubric = self._template.render(values)
        return prompt("rubric_sections", material, rubric=rubric, low=low, high=high, tool=tool)

    def _template_values(
        self, sample: Sample, rubric_values: Mapping[str, str], letta_values: Mapping[str, str]
    ) -> dict[str, Any]:
        """The values of the variables that the prompt's dialect has."""
        if not self.dialect and self.release == "0.4":
            return dict(rubric_values)
        if self.dialect in {"", "braces"}:
            check_names(tuple(rubric_values))
            return {**rubric_values, **letta_values}
        names_of = "vllora" if self.dialect == "mustache" else "adaptive"
        thread_values = thread_variables(sample, names_of, completion=letta_values["submission"])
        values = {**rubric_values, **letta_values, **thread_values}
        # Only what the template uses: rendering rejects values that are not plain data, used or not.
        return {name: values[name] for name in self._template.variables if name in values}


_QUESTIONS = frozenset({"input", "lastUserMessage", "last_user_turn_content"})
"""Variables that contain the prompt, by their names in the judge's dialect."""


def _read_text(path: Path) -> str:
    try:
        # A character of UTF-8 takes at most four bytes.
        data = read_bytes(path, FormatError, 4 * MAX_SOURCE + 1)
        if len(data) > 4 * MAX_SOURCE:
            raise FormatError(
                "the prompt is too long", where=str(path), expected=f"{MAX_SOURCE:,} characters"
            )
        return data.decode("utf-8-sig")  # editors on Windows put a byte order mark in front
    except (OSError, UnicodeDecodeError) as error:
        found = getattr(error, "strerror", None) or str(error)
        raise FormatError(
            "the prompt cannot be read", where=str(path), found=found, expected="a text file in UTF-8"
        ) from None


def _rubric_values(sample: Sample, names: tuple[str, ...]) -> dict[str, str]:
    """A row's rubric variables: all of its `rubric_vars`, else the columns of these names."""
    metadata = sample.thread.metadata if isinstance(sample.thread.metadata, Mapping) else {}
    rubric_vars = metadata.get("rubric_vars")
    if not isinstance(rubric_vars, Mapping):
        rubric_vars = {name: metadata[name] for name in names if name in metadata}
    return {str(name): value if isinstance(value, str) else str(value) for name, value in rubric_vars.items()}


def _require_all(rubric_values: Mapping[str, str], names: tuple[str, ...]) -> None:
    if missing := [name for name in names if name not in rubric_values]:
        raise TemplateRunError(
            f"the row has no rubric variable {missing[0]!r}",
            found=", ".join(map(str, rubric_values)) or "no variables",
            hint="add it to the row's rubric_vars, or as a column",
        )


def _question(thread: StringThread) -> str:
    """The user turns. Several are written as a Python list, as in Letta."""
    texts = [turn.content for turn in thread.get_turns() if turn.role == "user"]
    return texts[0] if len(texts) == 1 else str(texts) if texts else ""


@kind("rubric-judge", family="judges")
@dataclass(frozen=True, kw_only=True)
class RubricJudge(RubricPrompt):
    """A model's score by a rubric, with its rationale.

    Attributes:
        provider: openai, anthropic or google: whose client is used if none is given.
        max_retries: Retries of a failed request, up to 20; None for the client's value.
        timeout: Seconds a request may take, up to 3,600; None for the client's value.
        scale: Lowest and highest score.
        pass_threshold: The lowest score that passes; None for neither pass nor fail.
        logprobs: Whether the score is the mean of the whole scores, weighted by their probabilities, where the server
            returns those of tokens: `metadata["sampled_score"]` is then the reply's score. Needs a scale of whole numbers.

    With `platform="letta"` strings and booleans are parsed as numbers, scores are clamped, a missing rationale is "", and
    in release "0.17" an empty submission gets the lowest score without a request.

    Source: Letta Evals (`rubric`, `model_judge`).
    """

    provider: str = "openai"
    max_retries: int | None = field(default=None, metadata=HANDLING)
    timeout: float | None = field(default=None, metadata=LIMIT)
    scale: tuple[float, float] = (0.0, 1.0)
    pass_threshold: float | None = None
    logprobs: bool = False

    def __post_init__(self, prompt_path: str | os.PathLike[str] | None) -> None:
        super().__post_init__(prompt_path)
        refuse_unless(self.provider in PROVIDERS, "unknown provider", self.provider, ", ".join(PROVIDERS))
        for name in ("timeout", "max_retries"):
            if getattr(self, name) is not None:
                check_setting(name, getattr(self, name))
        if self.pass_threshold is not None:
            check_number("pass_threshold", self.pass_threshold)
        object.__setattr__(self, "scale", check_scale(self.scale))
        refuse_unless(isinstance(self.logprobs, bool), "logprobs must be True or False", self.logprobs)
        whole = all(end.is_integer() for end in self.scale) and self.scale[1] - self.scale[0] <= _MAX_STEPS
        refuse_unless(
            whole or not self.logprobs, "logprobs need a scale of whole numbers", self.scale, "(1, 5)"
        )

    def chat_client(self) -> ChatClient:
        """The client that was given, else the provider's."""
        return self.client if self.client is not None else provider_client(self.provider)

    def request_settings(self) -> dict[str, Any]:
        """See `Judge.request_settings`; with timeout and retries."""
        settings = {**super().request_settings(), "timeout": self.timeout, "max_retries": self.max_retries}
        return settings | (LOGPROBS if self.logprobs else {})

    def read_reply(self, sample: Sample, messages: Messages, reply: Reply) -> Grade:
        """See `Judge.read_reply`; the expected score if the reply has probabilities."""
        grade = super().read_reply(sample, messages, reply)
        if not self.logprobs:
            return grade
        low, high = map(int, self.scale)
        made = weighted(grade, reply, {str(score): float(score) for score in range(low, high + 1)})
        if self.pass_threshold is None:
            return made
        return replace(made, passed=(made.score or 0.0) >= self.pass_threshold)

    def answer_format(self) -> dict[str, Any] | None:
        """Rationale and score; JSON mode under platforms' rules."""
        if self.platform:
            return JSON_OBJECT
        low, high = self.scale
        properties = {
            "rationale": {"type": "string"},
            "score": {"type": "number", "minimum": low, "maximum": high},
        }
        return json_schema(
            {
                "type": "object",
                "properties": properties,
                "required": list(properties),
                "additionalProperties": False,
            }
        )

    def label_reply(self, *, good: bool) -> Mapping[str, Any] | None:
        """An end of the scale."""
        return {"rationale": label_reason(good=good), "score": self.scale[good]}

    def preview(self, sample: Sample | StringThread) -> Messages:
        """The messages that would be sent."""
        low, high = self.scale
        text = self.user_message(as_sample(sample), low=low, high=high)
        return [{"role": "system", "content": self._system_prompt}, {"role": "user", "content": text}]

    @cached_property
    def _system_prompt(self) -> str:
        return prompt("rubric_system", low=self.scale[0], high=self.scale[1])

    async def ask(self, sample: Sample, replies: list[Reply]) -> Grade:
        """The grade of the reply, or of several."""
        if self.platform == "letta" and self.release == "0.17" and not self.judged_text(sample):
            return Grade(self.scale[0], passed=False, reasoning=_EMPTY_SUBMISSION)
        return await super().ask(sample, replies)

    def read(self, text: str) -> Grade:
        """Score and rationale."""
        answer = verdict_object(text, "score", self.platform)
        score = score_value(answer.get("score"), self.platform, low=self.scale[0], high=self.scale[1])
        reasoning = answer.get("rationale", answer.get("reasoning", ""))
        if reasoning is not None and not isinstance(reasoning, str):
            raise AnswerError(
                ErrorKind.JUDGE_PARSE, f"the judge's rationale must be text, not {reasoning!r}"[:200]
            )
        passed = None if self.pass_threshold is None else score >= self.pass_threshold
        return Grade(score, passed=passed, reasoning=reasoning or "")

    def unreadable_grade(self, error: AnswerError, replies: list[Reply]) -> Grade:
        """Failed; under Letta's rules with its message."""
        if self.platform != "letta":
            return super().unreadable_grade(error, replies)
        return Grade.failed(error.kind, f"Error during grading: {error}", metadata={"error": str(error)})
