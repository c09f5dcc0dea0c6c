"""Judges of retrieval: relevance of the completion, relevance of the documents, and faithfulness to them, claim by claim."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from workbench.core.grade import ErrorKind, Grade
from workbench.core.thread import StringThread
from workbench.data.samples import Sample
from workbench.graders.base import as_sample, kind
from workbench.judges.claims import (
    Evidence,
    claims_schema,
    documents,
    read_claims,
    sentences,
    share_of,
)
from workbench.judges.kinds import JSON_OBJECT, Judge, json_schema
from workbench.judges.prompts import conversation, prompt, question
from workbench.judges.protocol import Messages, Reply, SampleError, refuse_unless
from workbench.judges.several_requests import ask_each
from workbench.judges.verdicts import AnswerError, verdict_object


@dataclass(frozen=True, kw_only=True)
class ClaimsJudge(Judge):
    """Judges a completion claim by claim, all in one request; under Adaptive's rules sentence by sentence."""

    verdict_key: ClassVar[str]
    """The key of a claim's verdict in a reply, such as "supported"."""
    statements_key: ClassVar[str]
    """The key of the list of verdicts in a reply under Adaptive's rules."""

    @property
    def _by_sentence(self) -> bool:
        return self.platform == "adaptive"

    def preview(self, sample: Sample | StringThread) -> Messages:
        """The messages that would be sent."""
        sample = as_sample(sample)
        completion = self.judged_text(sample)
        if not completion.strip():
            raise SampleError("there is no completion to judge")
        name = self.kind.replace("-", "_") + ("" if self._by_sentence else "_claims")
        judged = {"statements": sentences(completion)} if self._by_sentence else {"completion": completion}
        text = prompt(f"{name}_user", {**self.material(sample), **judged})
        return [{"role": "system", "content": prompt(f"{name}_system")}, {"role": "user", "content": text}]

    @property
    def shows_question(self) -> bool:
        """Whether the request contains the row's prompt."""
        return True

    def material(self, sample: Sample) -> dict[str, Any]:
        """The texts that the completion is compared with, by their names in the prompt."""
        return {"question": question(sample.thread)}

    def read(self, text: str) -> Grade:
        """The share of claims whose verdict is true; skipped if there are no claims."""
        if self._by_sentence:
            return _mean_score(verdict_object(text, self.statements_key, self.platform), self.statements_key)
        return share_of(read_claims(text, self.verdict_key), self.verdict_key)

    async def ask(self, sample: Sample, replies: list[Reply]) -> Grade:
        """See `Judge.ask`; by sentences, check the number of scores."""
        grade = await super().ask(sample, replies)
        if not self._by_sentence:
            return grade
        return self.check_count(grade, len(sentences(self.judged_text(sample))))

    def check_count(self, grade: Grade, expected: int) -> Grade:
        """The grade if there are as many scores as sentences; else skipped, as on Adaptive."""
        count = len(grade.metadata["scores"])
        if count == expected:
            return grade
        return Grade.skipped(f"the judge scored {count} of {expected} statements")

    def answer_format(self) -> dict[str, Any] | None:
        """A list of claims with their verdicts."""
        return JSON_OBJECT if self.platform else json_schema(claims_schema(self.verdict_key))


def _mean_score(answer: Mapping[str, Any], key: str) -> Grade:
    """The mean of the sentences' scores of 0 and 1, rounded to three decimals as Adaptive does."""
    verdicts = answer.get(key)
    if not isinstance(verdicts, list):
        raise AnswerError(ErrorKind.JUDGE_PARSE, f"the judge's reply has no list {key!r}")
    scores = [zero_or_one(verdict, ("0", "1")) for verdict in verdicts]
    reasons = [str(verdict.get("reasoning") or verdict.get("reason") or "") for verdict in verdicts]
    mean = round(sum(scores) / len(scores), 3) if scores else 0.0
    return Grade(mean, reasoning="\n".join(filter(None, reasons)), metadata={"scores": scores})


def zero_or_one(verdict: Any, texts: tuple[str, ...] = ()) -> int:
    """The `score` of one verdict.

    Args:
        verdict: An object of a reply.
        texts: Texts that count as numbers, if the platform's prompt requires text, as Adaptive's does.

    Raises:
        AnswerError: The score is neither 0 nor 1.
    """
    score = verdict.get("score") if isinstance(verdict, Mapping) else None
    if score is None or isinstance(score, bool) or score not in (0, 1, *texts):
        raise AnswerError(ErrorKind.JUDGE_PARSE, f"a verdict's score must be 1 or 0, not {score!r}"[:200])
    return int(score)


def no_documents_message(sample: Sample, platform: str) -> str:
    """Why a sample has no documents; under Adaptive's rules document turns do not count."""
    if platform != "adaptive":
        return "there are no documents: no document turns and no metadata['documents']"
    turns = sum(turn.role == "document" for turn in sample.thread.get_turns())
    ignored = f", and ignore the {turns} document turn{'s' if turns > 1 else ''} here" if turns else ""
    hint = "; put the documents there, or give the judge platform='' to read the turns" if turns else ""
    return f"there are no documents: Adaptive's rules read metadata['documents'] only{ignored}{hint}"


@kind("answer-relevancy", family="judges")
@dataclass(frozen=True, kw_only=True)
class AnswerRelevancyJudge(ClaimsJudge):
    """The share of the completion's claims that help to respond to the prompt.

    `metadata["claims"]` has one dict for each claim with `claim`, `relevant` and `reason`. A completion without claims is
    skipped. With `platform="adaptive"` sentences are judged, the number of scores is not checked, the share is rounded to
    three decimals, and a reply without any score is 0.0, as on the platform.

    Source: Adaptive (`ANSWER_RELEVANCY`).
    """

    verdict_key: ClassVar[str] = "relevant"
    statements_key: ClassVar[str] = "results"

    def check_count(self, grade: Grade, expected: int) -> Grade:  # noqa: ARG002 (Adaptive does not check here)
        """The unchanged grade."""
        return grade


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


_EVIDENCE_PROPERTIES = {"document": {"type": ["integer", "null"]}, "quote": {"type": "string"}}


@kind("faithfulness", family="judges")
@dataclass(frozen=True, kw_only=True)
class FaithfulnessJudge(ClaimsJudge):
    """The share of the completion's claims that the documents and the conversation support.

    Documents are `document` turns and `metadata["documents"]`. The model splits the completion into atomic claims and
    quotes its evidence: `metadata["claims"]` has one dict for each claim with `claim`, `supported`, `reason`, `evidence`
    and `evidence_found`. `evidence` is a dict with `quote` and `document`, the index in the list of documents or None for
    the conversation; it is None if nothing was quoted. `evidence_found` is False if neither a document nor the
    conversation contains the quote. A completion without claims is skipped.

    With `platform="adaptive"` sentences are judged instead of claims, the share is rounded to three decimals, and a reply
    whose number of scores differs from the number of sentences is skipped.

    Attributes:
        require_evidence: Whether a claim counts as supported only if its evidence was found.

    Source: Adaptive (`FAITHFULNESS`).
    """

    verdict_key: ClassVar[str] = "supported"
    statements_key: ClassVar[str] = "all_statements_scoring"

    require_evidence: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        is_bool = isinstance(self.require_evidence, bool)
        refuse_unless(is_bool, "require_evidence must be True or False", self.require_evidence)
        clash = self.require_evidence and self._by_sentence
        refuse_unless(not clash, "require_evidence does not apply: Adaptive's rules request no evidence")

    @property
    def shows_question(self) -> bool:
        """See `Judge.shows_question`: the completion is compared with documents and the conversation."""
        return False

    def material(self, sample: Sample) -> dict[str, Any]:
        """The documents and the conversation; by sentences as one text, the documents first."""
        sample_documents, thread = documents(sample), sample.thread
        turns = conversation(thread, exclude_role="document")
        if not self._by_sentence:
            if not sample_documents and not turns:
                raise SampleError(
                    "there is nothing to be faithful to: no documents and no turn before the completion"
                )
            return {"documents": sample_documents, "conversation": turns}
        parts = [f"[document]\n{text}" for text in sample_documents]
        return {"question": question(thread), "conversation": "\n\n".join([*parts, *filter(None, [turns])])}

    def read(self, text: str) -> Grade:
        """See `ClaimsJudge.read`; the model's evidence is stored unchanged, and checked by `ask`, which has the sample."""
        if self._by_sentence:
            return super().read(text)
        return share_of(read_claims(text, self.verdict_key, "document", "quote"), self.verdict_key)

    async def ask(self, sample: Sample, replies: list[Reply]) -> Grade:
        """See `Judge.ask`; then look for the evidence in the documents and the conversation."""
        grade = await super().ask(sample, replies)
        if self._by_sentence:
            return grade
        evidence = Evidence(documents(sample), conversation(sample.thread, exclude_role="document"))
        claims = [_with_evidence(claim, evidence) for claim in grade.metadata["claims"]]
        if self.require_evidence:
            claims = [
                {**claim, "supported": claim["supported"] and claim["evidence_found"]} for claim in claims
            ]
        return replace(share_of(claims, self.verdict_key), passed=grade.passed)

    def answer_format(self) -> dict[str, Any] | None:
        """A list of claims with their verdicts and evidence."""
        return (
            JSON_OBJECT
            if self.platform
            else json_schema(claims_schema(self.verdict_key, **_EVIDENCE_PROPERTIES))
        )


def _with_evidence(claim: Mapping[str, Any], evidence: Evidence) -> dict[str, Any]:
    quoted, is_found = evidence.find(claim["document"], claim["quote"])
    verdict = {key: claim[key] for key in ("claim", "supported", "reason")}
    return {**verdict, "evidence": quoted, "evidence_found": is_found}
