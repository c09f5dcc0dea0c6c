"""OpenAI's two model graders: a score on a scale, and a label."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from workbench.grade import ErrorKind, Grade
from workbench.graders.base import kind
from workbench.judges.answers.verdicts import AnswerError, number, verdict
from workbench.judges.asking.settings import ANSWER_LIMITS, sampling
from workbench.judges.base import Judge, as_sample, json_schema, refuse_unless
from workbench.judges.kinds.rubric import bounds
from workbench.judges.prompts.files import prompt
from workbench.judges.protocol import Messages
from workbench.samples import Sample
from workbench.templates import compile as compile_template
from workbench.templates import thread_variables
from workbench.thread import StringThread

__all__ = ["LabelModel", "ScoreModel"]

_STEPS = {
    "type": "array",
    "items": {
        "type": "object",
        "properties": {"description": {"type": "string"}, "conclusion": {"type": "string"}},
        "required": ["description", "conclusion"],
        "additionalProperties": False,
    },
}


@dataclass(frozen=True, kw_only=True)
class _Templated(Judge):
    """Messages whose contents are OpenAI templates over `item` and `sample`."""

    input: tuple[Mapping[str, str], ...] = field(kw_only=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        messages = self.input if isinstance(self.input, list | tuple) else [None]
        for one in messages:
            right = isinstance(one, Mapping) and all(
                isinstance(one.get(key), str) for key in ("role", "content")
            )
            refuse_unless(
                right, "input must be messages with role and content", one, "[{role, content}, ...]"
            )
        refuse_unless(messages, "input needs a message", expected="[{role, content}, ...]")
        object.__setattr__(
            self, "input", tuple({"role": one["role"], "content": one["content"]} for one in messages)
        )
        for one in self.input:
            compile_template(one["content"], "openai")

    def system(self) -> str:
        """What the answer must look like."""
        raise NotImplementedError

    def preview(self, sample: Sample | StringThread) -> Messages:
        """See `Judge.preview`."""
        sample = as_sample(sample)
        values = thread_variables(sample, "openai", completion=self.judged(sample))
        told = [{"role": one["role"], "content": _filled(one["content"], values)} for one in self.input]
        return [{"role": "system", "content": self.system()}, *told]


def _steps_and(result: Mapping[str, Any]) -> dict[str, Any]:
    """The format of an answer with steps and a result."""
    parts = {"steps": _STEPS, "result": dict(result)}
    return json_schema(
        {"type": "object", "properties": parts, "required": list(parts), "additionalProperties": False}
    )


def _filled(text: str, values: Mapping[str, Any]) -> str:
    template = compile_template(text, "openai")
    return template.render({name: values[name] for name in template.variables})


def _steps(found: Mapping[str, Any]) -> str:
    steps = found.get("steps")
    said = (
        [one.get("conclusion") for one in steps if isinstance(one, Mapping)]
        if isinstance(steps, list)
        else []
    )
    return "\n".join(str(one) for one in said if one)


@kind("score-model")
@dataclass(frozen=True, kw_only=True)
class ScoreModel(_Templated):
    """A model's score on a scale; its steps are the reasoning.

    Attributes:
        input: Messages; their contents are templates over `item` and `sample`.
        scale: Lowest and highest score.
        sampling_params: More settings of the request: temperature, top_p, seed, reasoning_effort, penalties, and the
            answer's limit (max_completions_tokens, as OpenAI's graders call it). Nothing else, and each within its
            bounds: see `judges.settings`.

    With `rules="openai"` a number off the scale is clamped. An answer without a number is a failed grade; OpenAI
    counts it as 0.

    Source: OpenAI (`score_model`).
    """

    scale: tuple[float, float] = (0.0, 1.0)
    sampling_params: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "scale", bounds(self.scale))
        object.__setattr__(self, "sampling_params", sampling(self.sampling_params))

    def answer_format(self) -> dict[str, Any] | None:
        """Steps and a number."""
        return _steps_and({"type": "number"})

    def asked(self) -> dict[str, Any]:
        """With the sampling parameters."""
        params = {name: value for name, value in sampling(self.sampling_params).items() if value is not None}
        own = super().asked()
        if any(name in params for name in ANSWER_LIMITS):
            own.pop("max_tokens")
        return {**own, **params}

    def system(self) -> str:
        """See `_Templated.system`."""
        low, high = self.scale
        return prompt("score_system", low=f"{low:g}", high=f"{high:g}")

    def read(self, text: str) -> Grade:
        """The result, on the scale."""
        found = verdict(text, "result", self.rules)
        score = number(found.get("result"), self.rules, low=self.scale[0], high=self.scale[1])
        return Grade(score, reasoning=_steps(found), metadata={"steps": found.get("steps") or []})


@kind("label-model")
@dataclass(frozen=True, kw_only=True)
class LabelModel(_Templated):
    """1.0 where a model's label is a passing one, else 0.0.

    Attributes:
        input: Messages; their contents are templates over `item` and `sample`.
        labels: What the model may answer.
        passing_labels: Which of them pass.

    A label that is none of them is a failed grade.

    Source: OpenAI (`label_model`).
    """

    labels: tuple[str, ...] = field(kw_only=False)
    passing_labels: tuple[str, ...] = field(kw_only=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("labels", "passing_labels"):
            given = getattr(self, name)
            texts = isinstance(given, list | tuple) and all(isinstance(one, str) for one in given)
            refuse_unless(texts and given, f"{name} must be a list of labels", given)
            object.__setattr__(self, name, tuple(given))
        stray = [one for one in self.passing_labels if one not in self.labels]
        refuse_unless(not stray, "a passing label is none of the labels", stray[:1], ", ".join(self.labels))

    def answer_format(self) -> dict[str, Any] | None:
        """Steps and one of the labels."""
        return _steps_and({"type": "string", "enum": list(self.labels)})

    def system(self) -> str:
        """See `_Templated.system`."""
        from workbench.templates.values import json_text

        return prompt("label_system", labels=json_text(list(self.labels)))

    def read(self, text: str) -> Grade:
        """The label; the bare label alone counts too."""
        found = {"result": text} if text in self.labels else verdict(text, "result", self.rules)
        label = found.get("result")
        if label not in self.labels:
            raise AnswerError(
                ErrorKind.JUDGE_PARSE, f"the judge's label {label!r} is none of the labels"[:300]
            )
        passed = label in self.passing_labels
        return Grade(float(passed), passed=passed, reasoning=_steps(found), metadata={"label": label})
