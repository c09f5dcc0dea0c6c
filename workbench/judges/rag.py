"""Judges of answers from documents: faithfulness, context relevancy, answer relevancy."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from workbench.dialects import thread_variables
from workbench.dialects.variables import context_text
from workbench.grade import ErrorKind, Grade
from workbench.graders.base import kind
from workbench.judges.answers import AnswerError, verdict
from workbench.judges.base import Judge, SampleError, as_sample
from workbench.judges.client import Messages, Reply
from workbench.judges.prompt_files import prompt
from workbench.samples import Sample
from workbench.thread import StringThread

__all__ = ["AnswerRelevancy", "ContextRelevancy", "Faithfulness", "documents", "sentences"]

_END = re.compile(r"(?<=[.!?])[\"')\]]*\s+|\n+")
_NO_END = re.compile(
    r"(?:\b(?:mr|mrs|ms|dr|prof|st|vs|etc|e\.g|i\.e|cf|fig|no|approx|inc|ltd)|\b[a-z])\.\Z", re.IGNORECASE
)


def sentences(text: str) -> list[str]:
    """The sentences of a text: at . ! ? before a space, and at line ends; not after "Dr." or an initial.

    Example:
        >>> sentences("Dr. No is a film. It is from 1962.")
        ['Dr. No is a film.', 'It is from 1962.']
    """
    found: list[str] = []
    start = 0
    for end in _END.finditer(text):
        so_far = text[start : end.end()].strip()
        if "\n" in end[0] or not _NO_END.search(so_far):
            found, start = [*found, so_far], end.end()
    return [one for one in (*found, text[start:].strip()) if one]


def documents(sample: Sample, rules: str = "") -> list[str]:
    """What was found for a question: the thread's document turns, then `metadata["documents"]`.

    Adaptive's own code looks at the metadata only, though its document prescribes turns; so do its rules here.
    """
    thread = sample.thread
    turns = [turn.content for turn in thread.get_turns() if turn.role == "document"]
    held = thread.metadata.get("documents") if isinstance(thread.metadata, Mapping) else None
    listed = [_document(one) for one in held] if isinstance(held, list | tuple) else []
    return listed if rules == "adaptive" else turns + listed


def _document(one: Any) -> str:
    if isinstance(one, Mapping):
        return str(one.get("content", one.get("text", one)))
    return str(one)


@dataclass(frozen=True, kw_only=True)
class _OfStatements(Judge):
    """Judges a completion sentence by sentence, all in one question."""

    def preview(self, sample: Sample | StringThread) -> Messages:
        """See `Judge.preview`."""
        sample = as_sample(sample)
        parts = self.statements(sample)
        if not parts:
            raise SampleError("there is no completion to judge")
        name = self.kind.replace("-", "_")
        text = prompt(f"{name}_user", statements=parts, **self.material(sample))
        return [{"role": "system", "content": prompt(f"{name}_system")}, {"role": "user", "content": text}]

    def statements(self, sample: Sample) -> list[str]:
        """The parts of the completion."""
        return sentences(self.judged(sample))

    def material(self, sample: Sample) -> dict[str, Any]:
        """What the statements are held against."""
        return {"question": thread_variables(sample)["last_user_turn_content"]}

    async def ask(self, sample: Sample, replies: list[Reply]) -> Grade:
        """Ask, then hold the answer against the number of statements."""
        grade = await super().ask(sample, replies)
        return self.counted(grade, len(self.statements(sample)))

    def counted(self, grade: Grade, expected: int) -> Grade:
        """The grade, if every statement was judged."""
        found = len(grade.metadata["scores"])
        if found == expected:
            return grade
        message = f"the judge scored {found} of {expected} statements"
        if self.rules == "adaptive":
            return Grade.skipped(message)
        raise AnswerError(ErrorKind.JUDGE_PARSE, message)


def _mean(found: Mapping[str, Any], key: str) -> Grade:
    """The share of ones in a list of judged parts, to three decimals as Adaptive rounds it."""
    parts = found.get(key)
    if not isinstance(parts, list):
        raise AnswerError(ErrorKind.JUDGE_PARSE, f"the judge's answer has no list {key!r}")
    scores = [_one_or_zero(one) for one in parts]
    reasons = [str(one.get("reasoning") or one.get("reason") or "") for one in parts]
    share = round(sum(scores) / len(scores), 3) if scores else 0.0
    return Grade(share, reasoning="\n".join(filter(None, reasons)), metadata={"scores": scores})


def _one_or_zero(part: Any) -> int:
    score = part.get("score") if isinstance(part, Mapping) else None
    if isinstance(score, bool) or score not in (0, 1, "0", "1"):
        raise AnswerError(ErrorKind.JUDGE_PARSE, f"a part's score must be 1 or 0, not {score!r}"[:200])
    return int(score)


@kind("faithfulness")
@dataclass(frozen=True, kw_only=True)
class Faithfulness(_OfStatements):
    """The share of the completion's sentences that the documents and the conversation support.

    Documents are `document` turns and `metadata["documents"]`. An answer with another number of scores than there are
    sentences is a failed grade; with `rules="adaptive"` the row is skipped, as there.

    Source: Adaptive (`FAITHFULNESS`), which rounds to three decimals.
    """

    def material(self, sample: Sample) -> dict[str, Any]:
        """The conversation, with documents out of the metadata in front."""
        values = thread_variables(sample)
        shown = [turn for turn in values["context_turns"] if turn["role"] != "document"]
        turns = [{"role": "document", "content": text} for text in documents(sample)]
        return {"question": values["last_user_turn_content"], "conversation": context_text(turns + shown)}

    def read(self, text: str) -> Grade:
        """The share of ones."""
        return _mean(verdict(text, "all_statements_scoring", self.rules), "all_statements_scoring")


@kind("answer-relevancy")
@dataclass(frozen=True, kw_only=True)
class AnswerRelevancy(_OfStatements):
    """The share of the completion's sentences that answer the question.

    An answer with another number of scores is a failed grade; with `rules="adaptive"` the number is not checked and
    no scores at all are 0.0, as there.

    Source: Adaptive (`ANSWER_RELEVANCY`).
    """

    def counted(self, grade: Grade, expected: int) -> Grade:
        """See `_OfStatements.counted`; Adaptive does not count here."""
        return grade if self.rules == "adaptive" else super().counted(grade, expected)

    def read(self, text: str) -> Grade:
        """The share of ones."""
        return _mean(verdict(text, "results", self.rules), "results")


@kind("context-relevancy")
@dataclass(frozen=True, kw_only=True)
class ContextRelevancy(Judge):
    """The share of the documents that help to answer the question; one question a document.

    Documents are `document` turns and `metadata["documents"]`; with `rules="adaptive"` the latter only. None is a
    failed grade.

    Source: Adaptive (`CONTEXT_RELEVANCY`).
    """

    def preview(self, sample: Sample | StringThread) -> Messages:
        """The question about the first document."""
        return self._questions(as_sample(sample))[0]

    def _questions(self, sample: Sample) -> list[Messages]:
        found = documents(sample, self.rules)
        if not found:
            raise SampleError("there are no documents: no document turns and no metadata['documents']")
        asked = thread_variables(sample)["last_user_turn_content"]
        system = {"role": "system", "content": prompt("context_relevancy_system")}
        texts = [prompt("context_relevancy_user", question=asked, document=one) for one in found]
        return [[system, {"role": "user", "content": text}] for text in texts]

    async def ask(self, sample: Sample, replies: list[Reply]) -> Grade:
        """Every document in turn; one answer that cannot be read leaves the row without a score."""
        grades = [await self.ask_messages(messages, replies) for messages in self._questions(sample)]
        scores = [grade.score or 0.0 for grade in grades]
        reasons = "\n".join(filter(None, (grade.reasoning for grade in grades)))
        return Grade(round(sum(scores) / len(scores), 3), reasoning=reasons, metadata={"scores": scores})

    def read(self, text: str) -> Grade:
        """1 or 0 for one document."""
        found = verdict(text, "score", self.rules)
        return Grade(float(_one_or_zero(found)), reasoning=str(found.get("reason") or ""))
