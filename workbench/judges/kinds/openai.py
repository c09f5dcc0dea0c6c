"""OpenAI's judges: message templates for the request, and a label or a score as the result of steps."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from workbench.core.grade import ErrorKind, Grade
from workbench.core.thread import StringThread
from workbench.data.samples import Sample
from workbench.data.templates import compile as compile_template
from workbench.data.templates import thread_variables
from workbench.data.templates.values import json_text
from workbench.graders.base import as_sample, kind
from workbench.judges.kinds import Judge, json_schema
from workbench.judges.kinds.rubric import check_scale
from workbench.judges.prompts import label_reason, prompt
from workbench.judges.protocol import ANSWER_LIMITS, Messages, check_sampling, refuse_unless
from workbench.judges.verdicts import AnswerError, score_value, verdict_object

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
class TemplatedJudge(Judge):
    """A judge whose messages are OpenAI templates with the variables `item` and `sample`.

    Attributes:
        input: Dicts with `role` and `content`.
    """

    input: tuple[Mapping[str, str], ...] = field(kw_only=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        messages = self.input if isinstance(self.input, list | tuple) else [None]
        for message in messages:
            is_message = isinstance(message, Mapping) and all(
                isinstance(message.get(key), str) for key in ("role", "content")
            )
            refuse_unless(
                is_message, "input must be messages with role and content", message, "[{role, content}, ...]"
            )
        refuse_unless(messages, "input needs a message", expected="[{role, content}, ...]")
        plain = tuple({"role": message["role"], "content": message["content"]} for message in messages)
        object.__setattr__(self, "input", plain)
        for message in self.input:
            compile_template(message["content"], "openai")

    def system_prompt(self) -> str:
        """The required format of the reply; precedes the author's messages."""
        raise NotImplementedError

    def preview(self, sample: Sample | StringThread) -> Messages:
        """The messages that would be sent."""
        sample = as_sample(sample)
        values = thread_variables(sample, "openai", completion=self.judged_text(sample))
        messages = [
            {"role": message["role"], "content": _render(message["content"], values)}
            for message in self.input
        ]
        return [{"role": "system", "content": self.system_prompt()}, *messages]


def steps_format(result: Mapping[str, Any]) -> dict[str, Any]:
    """The `response_format` of a reply with `steps` and a `result` of this JSON schema."""
    properties = {"steps": _STEPS, "result": dict(result)}
    return json_schema(
        {
            "type": "object",
            "properties": properties,
            "required": list(properties),
            "additionalProperties": False,
        }
    )


def _render(text: str, values: Mapping[str, Any]) -> str:
    template = compile_template(text, "openai")
    return template.render({name: values[name] for name in template.variables})


def conclusions(answer: Mapping[str, Any]) -> str:
    """The conclusions of a reply's steps, one per line."""
    steps = answer.get("steps")
    if not isinstance(steps, list):
        return ""
    texts = [step.get("conclusion") for step in steps if isinstance(step, Mapping)]
    return "\n".join(str(text) for text in texts if text)


@kind("label-judge", family="judges")
@dataclass(frozen=True, kw_only=True)
class LabelJudge(TemplatedJudge):
    """1.0 if the model chooses a passing label, else 0.0.

    Attributes:
        input: Messages; their contents are templates over `item` and `sample`.
        labels: The labels that the model may choose. Any other reply is a failed grade.
        passing_labels: Which of them pass.

    Source: OpenAI (`label_model`).
    """

    labels: tuple[str, ...] = field(kw_only=False)
    passing_labels: tuple[str, ...] = field(kw_only=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("labels", "passing_labels"):
            labels = getattr(self, name)
            are_texts = isinstance(labels, list | tuple) and all(isinstance(label, str) for label in labels)
            refuse_unless(are_texts and labels, f"{name} must be a list of labels", labels)
            object.__setattr__(self, name, tuple(labels))
        unknown = [label for label in self.passing_labels if label not in self.labels]
        message = "a passing label is not one of the labels"
        refuse_unless(not unknown, message, unknown[:1], ", ".join(self.labels))

    def answer_format(self) -> dict[str, Any] | None:
        """Steps and one of the labels."""
        return steps_format({"type": "string", "enum": list(self.labels)})

    def system_prompt(self) -> str:
        """The required format of the reply; precedes the author's messages."""
        return prompt("label_system", labels=json_text(list(self.labels)))

    def label_reply(self, *, good: bool) -> Mapping[str, Any] | None:
        """The first passing label, or the first other one; None if all labels pass."""
        chosen = next((label for label in self.labels if (label in self.passing_labels) == good), None)
        return None if chosen is None else _labelled_reply(chosen, good=good)

    def read(self, text: str) -> Grade:
        """The label, from the JSON object or as the whole reply."""
        answer = {"result": text} if text in self.labels else verdict_object(text, "result", self.platform)
        label = answer.get("result")
        if label not in self.labels:
            raise AnswerError(
                ErrorKind.JUDGE_PARSE, f"the judge's label {label!r} is not one of the labels"[:300]
            )
        passed = label in self.passing_labels
        return Grade(float(passed), passed=passed, reasoning=conclusions(answer), metadata={"label": label})


@kind("score-judge", family="judges")
@dataclass(frozen=True, kw_only=True)
class ScoreJudge(TemplatedJudge):
    """A model's score on a scale; its steps are the reasoning.

    Attributes:
        input: Messages; their contents are templates over `item` and `sample`.
        scale: Lowest and highest score.
        sampling_params: Further settings of the request: temperature, top_p, seed, reasoning_effort, penalties, and the
            reply limit (max_completions_tokens, as OpenAI's graders call it). No others, and each within its bounds:
            see `judges.protocol`.

    With `platform="openai"` a score outside the scale is clamped. A reply without a number is a failed grade; OpenAI counts
    it as 0.

    Source: OpenAI (`score_model`).
    """

    scale: tuple[float, float] = (0.0, 1.0)
    sampling_params: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "scale", check_scale(self.scale))
        object.__setattr__(self, "sampling_params", check_sampling(self.sampling_params))

    def answer_format(self) -> dict[str, Any] | None:
        """Steps and a number."""
        return steps_format({"type": "number"})

    def request_settings(self) -> dict[str, Any]:
        """With the sampling parameters."""
        params = check_sampling(self.sampling_params)
        params = {name: value for name, value in params.items() if value is not None}
        settings = super().request_settings()
        # One limit only: the parameters may have it already, under another of its names.
        if any(name in params for name in ANSWER_LIMITS):
            settings.pop("max_tokens")
        return {**settings, **params}

    def system_prompt(self) -> str:
        """The required format of the reply; precedes the author's messages."""
        low, high = self.scale
        return prompt("score_system", low=f"{low:g}", high=f"{high:g}")

    def label_reply(self, *, good: bool) -> Mapping[str, Any] | None:
        """An end of the scale."""
        return _labelled_reply(self.scale[good], good=good)

    def read(self, text: str) -> Grade:
        """The result, on the scale."""
        answer = verdict_object(text, "result", self.platform)
        score = score_value(answer.get("result"), self.platform, low=self.scale[0], high=self.scale[1])
        return Grade(score, reasoning=conclusions(answer), metadata={"steps": answer.get("steps") or []})


def _labelled_reply(result: str | float, *, good: bool) -> dict[str, Any]:
    """The reply that a label means: a result after one step."""
    step = {"description": "read the labels of annotators", "conclusion": label_reason(good=good)}
    return {"steps": [step], "result": result}
