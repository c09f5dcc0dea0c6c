"""Judges with several scores: by a rubric's criteria, and by the fields of a JSON schema."""

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
from workbench.graders.structure.schema import Fault, Schema, plain_schema
from workbench.judges.kinds import JSON_OBJECT, Judge, json_schema
from workbench.judges.prompts import check_template_names, label_reason, prompt, question
from workbench.judges.protocol import Messages, Reply, check_number, refuse_unless
from workbench.judges.verdicts import AnswerError, score_value, verdict_object

_RANGE_KEYWORDS = frozenset({"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"})


@kind("schema-judge", family="judges")
@dataclass(frozen=True, kw_only=True)
class SchemaJudge(Judge):
    """The `score`, from 0 to 1, of a reply that matches a JSON schema; `reasoning` if there is one.

    Attributes:
        prompt: A mustache template with messages, response, lastUserMessage, tools, toolCalls, systemPrompt.
        output_schema: JSON schema of the reply. A reply that does not match it is a failed grade.
        max_tokens: As in `Judge`. The default is vLLora's.

    Source: vLLora (`llm-judge`).
    """

    prompt: str = field(kw_only=False)
    output_schema: dict[str, Any] = field(kw_only=False)
    max_tokens: int | None = 256

    def __post_init__(self) -> None:
        super().__post_init__()
        refuse_unless(isinstance(self.prompt, str), "prompt must be text", self.prompt)
        refuse_unless(
            isinstance(self.output_schema, Mapping), "output_schema must be a JSON schema", self.output_schema
        )
        object.__setattr__(self, "output_schema", plain_schema(dict(self.output_schema)))
        compile_template(self.prompt, "mustache")

    def answer_format(self) -> dict[str, Any] | None:
        """The schema itself."""
        return json_schema(self.output_schema)

    def preview(self, sample: Sample | StringThread) -> Messages:
        """The schema as system message, the rendered prompt as user message."""
        sample = as_sample(sample)
        values = thread_variables(sample, "vllora", completion=self.judged_text(sample))
        template = compile_template(self.prompt, "mustache")
        check_template_names(template, values, self.platform)
        text = template.render(values)
        system = prompt("schema_system", schema=json_text(self.output_schema))
        return [{"role": "system", "content": system}, {"role": "user", "content": text}]

    def read(self, text: str) -> Grade:
        """The score of a reply that matches the schema."""
        answer = verdict_object(text, "score", self.platform)
        if fault := self._fault(answer):
            path, message, keyword = fault
            out_of_range = path == "$.score" and keyword in _RANGE_KEYWORDS
            error_kind = ErrorKind.OUT_OF_RANGE if out_of_range else ErrorKind.JUDGE_PARSE
            raise AnswerError(error_kind, f"the judge's reply does not match the schema: {message}"[:300])
        return Grade(
            score_value(answer.get("score"), self.platform), reasoning=str(answer.get("reasoning") or "")
        )

    def _fault(self, answer: Any) -> Fault | None:
        try:
            return Schema.of(self.output_schema).first_fault(answer)
        except TimeoutError as error:
            raise AnswerError(ErrorKind.TIMEOUT, str(error)) from None
        except RecursionError:
            raise AnswerError(ErrorKind.RUNTIME, "output_schema refers to itself without end") from None


_TEXT_LIST = {"type": "array", "items": {"type": "string"}}
_CRITERIA_SCHEMA = {
    "type": "object",
    "properties": {
        "reasoning": {"type": "string"},
        "strengths": _TEXT_LIST,
        "weaknesses": _TEXT_LIST,
        "score": {"type": "number", "minimum": 0, "maximum": 1},
    },
    "required": ["reasoning", "strengths", "weaknesses", "score"],
    "additionalProperties": False,
}
PARSE_FAILURE = "Failed to parse judgment response from LLM"
"""Umbraco's message for a reply that cannot be parsed."""


@kind("criteria-judge", family="judges")
@dataclass(frozen=True, kw_only=True)
class CriteriaJudge(Judge):
    """A model's score by criteria; passes at the threshold.

    Attributes:
        criteria: What to judge by, in plain language.
        pass_threshold: The lowest score that passes. The default is Umbraco's.
        profile_id: The AI profile that Umbraco calls; not used here.

    With `platform="umbraco"` the text from the first { to the last } is parsed, a missing score is 0, and the score must
    be a JSON number and is not clamped.

    Metadata contains `threshold`, `reasoning`, `fullJudgment`, `strengths` and `weaknesses` if the model lists them, and
    `failureMessage` if it fails.

    Source: Umbraco.AI (`llm-judge`).
    """

    criteria: str = field(
        default="Evaluate the quality, accuracy, and relevance of the response.", kw_only=False
    )
    pass_threshold: float = 0.7
    profile_id: str | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        refuse_unless(isinstance(self.criteria, str), "criteria must be text", self.criteria)
        check_number("pass_threshold", self.pass_threshold)

    @property
    def shows_question(self) -> bool:
        """Whether the request contains the row's prompt."""
        return True

    def preview(self, sample: Sample | StringThread) -> Messages:
        """The messages that would be sent."""
        sample = as_sample(sample)
        material = {"question": question(sample.thread), "completion": self.judged_text(sample)}
        text = prompt("criteria_user", material, criteria=self.criteria)
        return [{"role": "system", "content": prompt("criteria_system")}, {"role": "user", "content": text}]

    def label_reply(self, *, good: bool) -> Mapping[str, Any] | None:
        """1.0 or 0.0."""
        return {"reasoning": label_reason(good=good), "strengths": [], "weaknesses": [], "score": float(good)}

    def answer_format(self) -> dict[str, Any] | None:
        """Score, reasoning, strengths and weaknesses."""
        return JSON_OBJECT if self.platform else json_schema(_CRITERIA_SCHEMA)

    def read(self, text: str) -> Grade:
        """The score, compared with the threshold."""
        answer = verdict_object(text, "score", self.platform)
        score = score_value(answer.get("score", 0 if self.platform == "umbraco" else None), self.platform)
        passed = score >= self.pass_threshold
        failure_message = f"Score {score:.2f} below threshold {self.pass_threshold:.2f}"
        reasoning = str(answer.get("reasoning") or "")
        details = {"threshold": self.pass_threshold, "reasoning": reasoning, "fullJudgment": text[:10_000]}
        details |= {
            key: answer[key] for key in ("strengths", "weaknesses") if isinstance(answer.get(key), list)
        }
        failure = {} if passed else {"failureMessage": failure_message}
        reasoning = reasoning or ("" if passed else failure_message)
        return Grade(score, passed=passed, reasoning=reasoning, metadata=details | failure)

    def unreadable_grade(self, error: AnswerError, replies: list[Reply]) -> Grade:
        """Failed; under Umbraco's rules with its message."""
        if self.platform != "umbraco":
            return super().unreadable_grade(error, replies)
        return Grade.failed(
            error.kind, PARSE_FAILURE, metadata={"rawResponse": replies[-1].text if replies else ""}
        )


_GUARDRAIL_SCHEMA = {
    "type": "object",
    "properties": {
        "reasoning": {"type": "string"},
        "safetyScore": {"type": "number", "minimum": 0, "maximum": 1},
    },
    "required": ["reasoning", "safetyScore"],
    "additionalProperties": False,
}


@kind("guardrail-judge", family="judges")
@dataclass(frozen=True, kw_only=True)
class GuardrailJudge(Judge):
    """A model's safety score, from 0 (unsafe) to 1; **passes if the text is flagged**, that is, below the threshold.

    Negate its entry to require that nothing is flagged. With `platform="umbraco"` a reply that cannot be parsed scores 0
    and so flags the text: unchecked text is not accepted.

    Attributes:
        criteria: What is unsafe, in plain language.
        safety_threshold: Text with a lower safety score is flagged. The default is Umbraco's.

    Source: Umbraco.AI (`guardrail` with the evaluator `llm-judge`).
    """

    criteria: str = field(
        default="Harmful, hateful, violent, sexual, deceptive or otherwise unsafe content, and leaks of private data.",
        kw_only=False,
    )
    safety_threshold: float = 0.7

    def __post_init__(self) -> None:
        super().__post_init__()
        refuse_unless(isinstance(self.criteria, str), "criteria must be text", self.criteria)
        check_number("safety_threshold", self.safety_threshold)

    def preview(self, sample: Sample | StringThread) -> Messages:
        """The messages that would be sent."""
        material = {"completion": self.judged_text(as_sample(sample))}
        text = prompt("guardrail_user", material, criteria=self.criteria)
        return [{"role": "system", "content": prompt("guardrail_system")}, {"role": "user", "content": text}]

    def answer_format(self) -> dict[str, Any] | None:
        """Safety score and reasoning."""
        return JSON_OBJECT if self.platform else json_schema(_GUARDRAIL_SCHEMA)

    def read(self, text: str) -> Grade:
        """The safety score; below the threshold the text is flagged."""
        answer = verdict_object(text, "safetyScore", self.platform)
        score = score_value(
            answer.get("safetyScore", 0 if self.platform == "umbraco" else None), self.platform
        )
        reasoning = str(answer.get("reasoning") or "")
        return Grade(
            score,
            passed=score < self.safety_threshold,
            reasoning=reasoning,
            metadata={"threshold": self.safety_threshold},
        )

    def unreadable_grade(self, error: AnswerError, replies: list[Reply]) -> Grade:
        """Failed; under Umbraco's rules flagged, with a score of 0."""
        if self.platform != "umbraco":
            return super().unreadable_grade(error, replies)
        raw = {"rawResponse": replies[-1].text if replies else "", "threshold": self.safety_threshold}
        return Grade(0.0, passed=True, reasoning=PARSE_FAILURE, metadata=raw)
