"""Judges of answers from documents: faithfulness, context relevancy, answer relevancy."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from workbench.grade import ErrorKind, Grade
from workbench.graders.base import kind
from workbench.judges.answers.claims import claims_schema, read_claims, share_of
from workbench.judges.answers.documents import Evidence, documents, sentences
from workbench.judges.answers.verdicts import AnswerError, verdict
from workbench.judges.ask_each import ask_each
from workbench.judges.base import JSON_OBJECT, Judge, SampleError, as_sample, json_schema, refuse_unless
from workbench.judges.prompts.files import prompt
from workbench.judges.prompts.thread_parts import conversation, question
from workbench.judges.protocol import Messages, Reply
from workbench.samples import Sample
from workbench.thread import StringThread

__all__ = ["AnswerRelevancy", "ContextRelevancy", "Faithfulness", "documents", "sentences"]

_RELEVANT = {
    "type": "object",
    "properties": {"reason": {"type": "string"}, "score": {"type": "integer", "enum": [0, 1]}},
    "required": ["reason", "score"],
    "additionalProperties": False,
}
_QUOTED = {"document": {"type": ["integer", "null"]}, "quote": {"type": "string"}}


@dataclass(frozen=True, kw_only=True)
class _OfClaims(Judge):
    """Judges a completion claim by claim, all in one question; under Adaptive's rules sentence by sentence."""

    label: ClassVar[str]
    """What a claim is, or is not."""
    statements_key: ClassVar[str]
    """Where the list of verdicts stands in an answer under Adaptive's rules."""

    @property
    def _by_sentence(self) -> bool:
        return self.rules == "adaptive"

    def preview(self, sample: Sample | StringThread) -> Messages:
        """See `Judge.preview`."""
        sample = as_sample(sample)
        judged = self.judged(sample)
        if not judged.strip():
            raise SampleError("there is no completion to judge")
        name = self.kind.replace("-", "_") + ("" if self._by_sentence else "_claims")
        shown = {"statements": sentences(judged)} if self._by_sentence else {"completion": judged}
        text = prompt(f"{name}_user", {**self.material(sample), **shown})
        return [{"role": "system", "content": prompt(f"{name}_system")}, {"role": "user", "content": text}]

    def material(self, sample: Sample) -> dict[str, Any]:
        """What the completion is held against."""
        return {"question": question(sample.thread)}

    def read(self, text: str) -> Grade:
        """The share of claims that are what they should be; skipped where there are none."""
        if self._by_sentence:
            return _mean(verdict(text, self.statements_key, self.rules), self.statements_key)
        return share_of(read_claims(text, self.label), self.label)

    async def ask(self, sample: Sample, replies: list[Reply]) -> Grade:
        """Ask; by sentences, hold the answer against their number."""
        grade = await super().ask(sample, replies)
        return self.counted(grade, len(sentences(self.judged(sample)))) if self._by_sentence else grade

    def counted(self, grade: Grade, expected: int) -> Grade:
        """The grade, if every sentence was judged; Adaptive leaves the row out."""
        found = len(grade.metadata["scores"])
        return (
            grade
            if found == expected
            else Grade.skipped(f"the judge scored {found} of {expected} statements")
        )

    def answer_format(self) -> dict[str, Any] | None:
        """A list of claims with their verdicts."""
        return JSON_OBJECT if self.rules else json_schema(claims_schema(self.label))


def _mean(found: Mapping[str, Any], key: str) -> Grade:
    """The share of ones in a list of judged sentences, to three decimals as Adaptive rounds it."""
    parts = found.get(key)
    if not isinstance(parts, list):
        raise AnswerError(ErrorKind.JUDGE_PARSE, f"the judge's answer has no list {key!r}")
    scores = [_one_or_zero(one, ("0", "1")) for one in parts]
    reasons = [str(one.get("reasoning") or one.get("reason") or "") for one in parts]
    share = round(sum(scores) / len(scores), 3) if scores else 0.0
    return Grade(share, reasoning="\n".join(filter(None, reasons)), metadata={"scores": scores})


def _one_or_zero(part: Any, texts: tuple[str, ...] = ()) -> int:
    """A part's score; as text only where the platform's own prompt asks for text, as Adaptive's does."""
    score = part.get("score") if isinstance(part, Mapping) else None
    if score is None or isinstance(score, bool) or score not in (0, 1, *texts):
        raise AnswerError(ErrorKind.JUDGE_PARSE, f"a part's score must be 1 or 0, not {score!r}"[:200])
    return int(score)


@kind("faithfulness")
@dataclass(frozen=True, kw_only=True)
class Faithfulness(_OfClaims):
    """The share of the completion's claims that the documents and the conversation support.

    Documents are `document` turns and `metadata["documents"]`. The judge breaks the completion into atomic claims and
    names its evidence: `metadata["claims"]` holds one dict a claim with `claim`, `supported`, `reason`, `evidence`
    (`document`, the place in the list of documents from 0, None for the conversation; `quote`; None where nothing was
    quoted) and `evidence_found`, False where the quote stands in no document and not in the conversation. A completion
    that claims nothing is skipped.

    With `rules="adaptive"` sentences are judged in the place of claims, the share is rounded to three decimals, and an
    answer with another number of scores is skipped.

    Attributes:
        require_evidence: Whether a claim counts as supported only where its evidence was found.

    Source: Adaptive (`FAITHFULNESS`).
    """

    label: ClassVar[str] = "supported"
    statements_key: ClassVar[str] = "all_statements_scoring"

    require_evidence: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        wanted = isinstance(self.require_evidence, bool)
        refuse_unless(wanted, "require_evidence must be True or False", self.require_evidence)
        clash = self.require_evidence and self._by_sentence
        refuse_unless(not clash, "Adaptive's rules ask for no evidence, so none can be required")

    def material(self, sample: Sample) -> dict[str, Any]:
        """The conversation and the documents; by sentences, with the documents in its front."""
        found, thread = documents(sample), sample.thread
        said = conversation(thread, leave="document")
        if not self._by_sentence:
            if not found and not said:
                raise SampleError(
                    "there is nothing to be faithful to: no documents and no turn before the answer"
                )
            return {"documents": found, "conversation": said}
        shown = [f"[document]\n{text}" for text in found]
        return {"question": question(thread), "conversation": "\n\n".join([*shown, *filter(None, [said])])}

    def read(self, text: str) -> Grade:
        """See `_OfClaims.read`; the evidence is as the judge told it until `ask` has looked for it."""
        if self._by_sentence:
            return super().read(text)
        return share_of(read_claims(text, self.label, "document", "quote"), self.label)

    async def ask(self, sample: Sample, replies: list[Reply]) -> Grade:
        """Ask, and look for the evidence."""
        grade = await super().ask(sample, replies)
        if self._by_sentence:
            return grade
        evidence = Evidence(documents(sample), conversation(sample.thread, leave="document"))
        claims = [_with_evidence(claim, evidence) for claim in grade.metadata["claims"]]
        if self.require_evidence:
            claims = [{**one, "supported": one["supported"] and one["evidence_found"]} for one in claims]
        return replace(share_of(claims, self.label), passed=grade.passed)

    def answer_format(self) -> dict[str, Any] | None:
        """A list of claims with their verdicts and evidence."""
        return JSON_OBJECT if self.rules else json_schema(claims_schema(self.label, **_QUOTED))


def _with_evidence(claim: Mapping[str, Any], evidence: Evidence) -> dict[str, Any]:
    kept, found = evidence.of(claim["document"], claim["quote"])
    told = {key: claim[key] for key in ("claim", "supported", "reason")}
    return {**told, "evidence": kept, "evidence_found": found}


@kind("answer-relevancy")
@dataclass(frozen=True, kw_only=True)
class AnswerRelevancy(_OfClaims):
    """The share of the completion's claims that help to answer the question.

    `metadata["claims"]` holds one dict a claim with `claim`, `relevant` and `reason`. A completion that claims nothing
    is skipped. With `rules="adaptive"` sentences are judged, their number is not checked, the share is rounded to
    three decimals and no scores at all are 0.0, as there.

    Source: Adaptive (`ANSWER_RELEVANCY`).
    """

    label: ClassVar[str] = "relevant"
    statements_key: ClassVar[str] = "results"

    def counted(self, grade: Grade, expected: int) -> Grade:  # noqa: ARG002 (Adaptive does not count here)
        """The grade as it is."""
        return grade


def _no_documents(sample: Sample, rules: str) -> str:
    """Why nothing was found: Adaptive's rules pass document turns over."""
    if rules != "adaptive":
        return "there are no documents: no document turns and no metadata['documents']"
    turns = sum(turn.role == "document" for turn in sample.thread.get_turns())
    passed = f", and pass over the {turns} document turn{'s' if turns > 1 else ''} here" if turns else ""
    way = "; put the documents there, or give the judge rules='' to read the turns" if turns else ""
    return f"there are no documents: Adaptive's rules look in metadata['documents'] only{passed}{way}"


@kind("context-relevancy")
@dataclass(frozen=True, kw_only=True)
class ContextRelevancy(Judge):
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
            raise SampleError(_no_documents(sample, self.rules))
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
        return Grade(float(_one_or_zero(found, texts)), reasoning=str(found.get("reason") or ""))

    def answer_format(self) -> dict[str, Any] | None:
        """A reason and 1 or 0."""
        return JSON_OBJECT if self.rules else json_schema(_RELEVANT)
