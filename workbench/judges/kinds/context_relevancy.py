"""The context relevancy judge: the share of documents that are relevant to the prompt."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from workbench.core.grade import Grade
from workbench.core.thread import StringThread
from workbench.data.samples import Sample
from workbench.graders.base import kind
from workbench.judges.answers.documents import documents
from workbench.judges.answers.verdicts import verdict_object
from workbench.judges.ask_each import ask_each
from workbench.judges.base import JSON_OBJECT, Judge, SampleError, as_sample, json_schema
from workbench.judges.kinds.claims_judge import no_documents_message, zero_or_one
from workbench.judges.prompts.files import prompt
from workbench.judges.prompts.thread_parts import question
from workbench.judges.protocol import Messages, Reply

__all__ = ["ContextRelevancyJudge"]

_ANSWER_SCHEMA = {
    "type": "object",
    "properties": {"reason": {"type": "string"}, "score": {"type": "integer", "enum": [0, 1]}},
    "required": ["reason", "score"],
    "additionalProperties": False,
}


@kind("context-relevancy", family="judges")
@dataclass(frozen=True, kw_only=True)
class ContextRelevancyJudge(Judge):
    """The share of the documents that help to respond to the prompt; one request per document.

    Documents are `document` turns and `metadata["documents"]`; with `platform="adaptive"` the latter only. A sample
    without documents fails, and so does one with a reply that cannot be parsed. `metadata["documents"]` has one dict for
    each document with `document` (its index), `relevant` and `reason`. With `platform="adaptive"` the share is rounded to
    three decimals.

    Source: Adaptive (`CONTEXT_RELEVANCY`).
    """

    @property
    def shows_question(self) -> bool:
        """Whether the request contains the row's prompt."""
        return True

    def preview(self, sample: Sample | StringThread) -> Messages:
        """The request for the first document; see `questions`."""
        return self.questions(sample)[0]

    def questions(self, sample: Sample | StringThread) -> list[Messages]:
        """One request for each document."""
        sample = as_sample(sample)
        sample_documents = documents(sample, self.platform)
        if not sample_documents:
            raise SampleError(no_documents_message(sample, self.platform))
        asked_question = question(sample.thread)
        texts = [
            prompt("context_relevancy_user", {"question": asked_question, "document": document})
            for document in sample_documents
        ]
        system = {"role": "system", "content": prompt("context_relevancy_system")}
        return [[dict(system), {"role": "user", "content": text}] for text in texts]

    async def ask(self, sample: Sample, replies: list[Reply]) -> Grade:
        """Send all requests concurrently; the row has no score if one reply cannot be parsed."""
        grades = await ask_each(self, sample, self.questions(sample), replies)
        scores = [grade.score or 0.0 for grade in grades]
        reasons = "\n".join(filter(None, (grade.reasoning for grade in grades)))
        verdicts = [
            {"document": index, "relevant": grade.score == 1.0, "reason": grade.reasoning or ""}
            for index, grade in enumerate(grades)
        ]
        share = sum(scores) / len(scores)
        share = round(share, 3) if self.platform == "adaptive" else share
        return Grade(share, reasoning=reasons, metadata={"scores": scores, "documents": verdicts})

    def read(self, text: str) -> Grade:
        """1.0 or 0.0 for one document."""
        answer = verdict_object(text, "score", self.platform)
        texts = ("0", "1") if self.platform == "adaptive" else ()
        return Grade(float(zero_or_one(answer, texts)), reasoning=str(answer.get("reason") or ""))

    def answer_format(self) -> dict[str, Any] | None:
        """A reason and 1 or 0."""
        return JSON_OBJECT if self.platform else json_schema(_ANSWER_SCHEMA)
