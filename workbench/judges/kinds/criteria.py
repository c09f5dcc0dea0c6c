"""Umbraco's judge of criteria with a threshold."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from workbench.grade import Grade
from workbench.graders.base import kind
from workbench.judges.answers.verdicts import AnswerError, number, verdict
from workbench.judges.base import JSON_OBJECT, Judge, as_sample, check_number, json_schema, refuse_unless
from workbench.judges.prompts.files import prompt
from workbench.judges.prompts.thread_parts import question
from workbench.judges.protocol import Messages, Reply
from workbench.samples import Sample
from workbench.thread import StringThread

__all__ = ["UNREAD", "CriteriaJudge"]

_TEXTS = {"type": "array", "items": {"type": "string"}}
_JUDGMENT = {
    "type": "object",
    "properties": {
        "reasoning": {"type": "string"},
        "strengths": _TEXTS,
        "weaknesses": _TEXTS,
        "score": {"type": "number", "minimum": 0, "maximum": 1},
    },
    "required": ["reasoning", "strengths", "weaknesses", "score"],
    "additionalProperties": False,
}
UNREAD = "Failed to parse judgment response from LLM"


@kind("criteria-judge")
@dataclass(frozen=True, kw_only=True)
class CriteriaJudge(Judge):
    """A model's score by criteria; passes at the threshold.

    Attributes:
        criteria: What to look at.
        pass_threshold: A score this high passes.
        profile_id: The AI profile Umbraco asks; not used here.

    With `rules="umbraco"`: the text from the first { to the last } is read, a missing score is 0, the score must be a
    JSON number and is not clamped.
    Metadata holds `threshold`, `reasoning`, `fullJudgment`, `strengths` and `weaknesses` where the model lists them, and
    `failureMessage` where it fails.

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

    def preview(self, sample: Sample | StringThread) -> Messages:
        """See `Judge.preview`."""
        sample = as_sample(sample)
        material = {"question": question(sample.thread), "completion": self.judged(sample)}
        text = prompt("criteria_user", material, criteria=self.criteria)
        return [{"role": "system", "content": prompt("criteria_system")}, {"role": "user", "content": text}]

    def answer_format(self) -> dict[str, Any] | None:
        """Score, reasoning, strengths and weaknesses."""
        return JSON_OBJECT if self.rules else json_schema(_JUDGMENT)

    def read(self, text: str) -> Grade:
        """Score against threshold."""
        found = verdict(text, "score", self.rules)
        told = found.get("score", 0 if self.rules == "umbraco" else None)
        score = number(told, self.rules)
        passed = score >= self.pass_threshold
        short = f"Score {score:.2f} below threshold {self.pass_threshold:.2f}"
        reasoning = str(found.get("reasoning") or "")
        details = {"threshold": self.pass_threshold, "reasoning": reasoning, "fullJudgment": text[:10_000]}
        details |= {
            key: found[key] for key in ("strengths", "weaknesses") if isinstance(found.get(key), list)
        }
        failure = {} if passed else {"failureMessage": short}
        return Grade(
            score, passed=passed, reasoning=reasoning or ("" if passed else short), metadata=details | failure
        )

    def unread(self, error: AnswerError, replies: list[Reply]) -> Grade:
        """Failed; in Umbraco's words under its rules."""
        if self.rules != "umbraco":
            return super().unread(error, replies)
        return Grade.failed(error.kind, UNREAD, metadata={"rawResponse": replies[-1].text if replies else ""})
