"""The context relevancy judge: how many documents help with the question."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from workbench.grade import Grade
from workbench.graders.base import kind
from workbench.judges.answers.documents import documents
from workbench.judges.answers.verdicts import verdict
from workbench.judges.ask_each import ask_each
from workbench.judges.base import JSON_OBJECT, Judge, SampleError, as_sample, json_schema
from workbench.judges.kinds.claims import no_documents, one_or_zero
from workbench.judges.prompts.files import prompt
from workbench.judges.prompts.thread_parts import question
from workbench.judges.protocol import Messages, Reply
from workbench.samples import Sample
from workbench.thread import StringThread

__all__ = ["ContextRelevancyJudge"]

_RELEVANT = {
    "type": "object",
    "properties": {"reason": {"type": "string"}, "score": {"type": "integer", "enum": [0, 1]}},
    "required": ["reason", "score"],
    "additionalProperties": False,
}


@kind("context-relevancy")
@dataclass(frozen=True, kw_only=True)
class ContextRelevancyJudge(Judge):
    """The share of the documents that help to answer the question; one question a document.

    Documents are `document` turns and `metadata["documents"]`; with `rules="adaptive"` the latter only. None is a
    failed grade, and so is one that cannot be judged. `metadata["documents"]` holds one dict a document with
    `document` (its place, from 0), `relevant` and `reason`. With `rules="adaptive"` the share is rounded to three
    decimals.

    Source: Adaptive (`CONTEXT_RELEVANCY`).
    """

    def preview(self, sample: Sample | StringThread) -> Messages:
        """The question about the first document; see `questions`."""
        return self.questions(sample)[0]

    def questions(self, sample: Sample | StringThread) -> list[Messages]:
        """All that would be asked: one question a document."""
        sample = as_sample(sample)
        found = documents(sample, self.rules)
        if not found:
            raise SampleError(no_documents(sample, self.rules))
        asked = question(sample.thread)
        texts = [prompt("context_relevancy_user", {"question": asked, "document": one}) for one in found]
        system = {"role": "system", "content": prompt("context_relevancy_system")}
        return [[dict(system), {"role": "user", "content": text}] for text in texts]

    async def ask(self, sample: Sample, replies: list[Reply]) -> Grade:
        """Every document, side by side; one answer that cannot be read leaves the row without a score."""
        grades = await ask_each(self, sample, self.questions(sample), replies)
        scores = [grade.score or 0.0 for grade in grades]
        reasons = "\n".join(filter(None, (grade.reasoning for grade in grades)))
        told = [
            {"document": at, "relevant": grade.score == 1.0, "reason": grade.reasoning or ""}
            for at, grade in enumerate(grades)
        ]
        share = sum(scores) / len(scores)
        share = round(share, 3) if self.rules == "adaptive" else share
        return Grade(share, reasoning=reasons, metadata={"scores": scores, "documents": told})

    def read(self, text: str) -> Grade:
        """1 or 0 for one document."""
        found = verdict(text, "score", self.rules)
        texts = ("0", "1") if self.rules == "adaptive" else ()
        return Grade(float(one_or_zero(found, texts)), reasoning=str(found.get("reason") or ""))

    def answer_format(self) -> dict[str, Any] | None:
        """A reason and 1 or 0."""
        return JSON_OBJECT if self.rules else json_schema(_RELEVANT)
