"""The rubric judge: a prompt, a score and a rationale; and the text of Letta's two generations of prompts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from workbench.dialects import TemplateRunError
from workbench.dialects import compile as compile_template
from workbench.dialects.braces import check_names
from workbench.grade import ErrorKind, Grade
from workbench.graders.base import is_number, kind
from workbench.judges.answers import AnswerError, number, verdict
from workbench.judges.base import Judge, as_sample, check_number, refuse_unless
from workbench.judges.client import ChatClient, Messages, Reply
from workbench.judges.openai_client import PROVIDERS, provider_client
from workbench.judges.prompt_files import prompt
from workbench.samples import Sample
from workbench.thread import StringThread

__all__ = ["RubricJudge", "RubricPrompt", "bounds"]

_EMPTY = "Empty submission - extractor found no content"


def bounds(value: Any) -> tuple[float, float]:
    """A range of scores as two numbers, the lower first.

    Raises:
        FormatError: It is none.
    """
    ends = list(value) if isinstance(value, list | tuple) else []
    numbers = all(map(is_number, ends))
    refuse_unless(
        len(ends) == 2 and numbers and ends[0] < ends[1], "range must be two numbers, the lower first", value
    )
    return float(ends[0]), float(ends[1])


@dataclass(frozen=True, kw_only=True)
class RubricPrompt(Judge):
    """What judges with Letta's prompts share.

    Generation "0.4" fills the listed variables into the rubric and puts question, expected answer and submission in
    sections after it. "0.17" takes the prompt as it is, with `{input}`, `{submission}`, `{ground_truth}` filled in.

    Attributes:
        prompt: The rubric.
        rubric_vars: Names to fill from the row's `rubric_vars`, or from its columns.
        generation: "0.4" or "0.17".
    """

    prompt: str
    rubric_vars: tuple[str, ...] = ()
    generation: str = "0.4"

    def __post_init__(self) -> None:
        super().__post_init__()
        refuse_unless(
            isinstance(self.prompt, str) and self.prompt.strip(), "prompt must be text", self.prompt
        )
        names = self.rubric_vars
        texts = isinstance(names, list | tuple) and all(isinstance(name, str) for name in names)
        refuse_unless(texts, "rubric_vars must be a list of names", names)
        object.__setattr__(self, "rubric_vars", tuple(names))
        refuse_unless(self.generation in {"0.4", "0.17"}, "unknown generation", self.generation, "0.4, 0.17")
        compile_template(self.prompt, "braces", names=self.rubric_vars, generation=self.generation)

    def rendered(self, sample: Sample, *, low: float, high: float, tool: str = "") -> str:
        """The user message."""
        own = _own_variables(sample, self.rubric_vars)
        if self.generation == "0.4":
            _check_all(own, self.rubric_vars)
        values = {
            "input": _question(sample.thread),
            "submission": self.judged(sample),
            "ground_truth": "" if sample.reference is None else str(sample.reference),
        }
        template = compile_template(self.prompt, "braces", names=self.rubric_vars, generation=self.generation)
        if self.generation == "0.17":
            check_names(tuple(own))
            return template.render({**own, **values})
        return prompt("rubric_sections", rubric=template.render(own), **values, low=low, high=high, tool=tool)


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
        max_retries: How often a failed request is tried again.
        timeout: Seconds a request may take.
        range: Lowest and highest score.
        pass_threshold: A score this high passes; None for no verdict.

    With `rules="letta"`: texts and booleans are read as numbers, scores are clamped, a missing rationale is "", and,
    in generation "0.17", an empty submission is 0.0 without a question.

    Source: Letta Evals (`rubric`, `model_judge`).
    """

    provider: str = "openai"
    max_retries: int = 5
    timeout: float = 120.0
    range: tuple[float, float] = (0.0, 1.0)
    pass_threshold: float | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        refuse_unless(self.provider in PROVIDERS, "unknown provider", self.provider, ", ".join(PROVIDERS))
        check_number("timeout in seconds", self.timeout, above=0)
        whole = isinstance(self.max_retries, int) and not isinstance(self.max_retries, bool)
        refuse_unless(
            whole and self.max_retries >= 0, "max_retries must be a whole number, 0 or more", self.max_retries
        )
        if self.pass_threshold is not None:
            check_number("pass_threshold", self.pass_threshold)
        object.__setattr__(self, "range", bounds(self.range))

    def chat_client(self) -> ChatClient:
        """The provider, unless a client was given."""
        return self.client if self.client is not None else provider_client(self.provider)

    def asked(self) -> dict[str, Any]:
        """With the time and tries of the fields."""
        return {**super().asked(), "timeout": self.timeout, "max_retries": self.max_retries}

    def preview(self, sample: Sample | StringThread) -> Messages:
        """See `Judge.preview`."""
        low, high = self.range
        text = self.rendered(as_sample(sample), low=low, high=high)
        system = prompt("rubric_system", low=low, high=high)
        return [{"role": "system", "content": system}, {"role": "user", "content": text}]

    async def ask(self, sample: Sample, replies: list[Reply]) -> Grade:
        """See `Judge.ask`."""
        if self.rules == "letta" and self.generation == "0.17" and not self.judged(sample):
            return Grade(self.range[0], passed=False, reasoning=_EMPTY)
        return await super().ask(sample, replies)

    def read(self, text: str) -> Grade:
        """Score and rationale."""
        found = verdict(text, "score", self.rules)
        score = number(found.get("score"), self.rules, low=self.range[0], high=self.range[1])
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
