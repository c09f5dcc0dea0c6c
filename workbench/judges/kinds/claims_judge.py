"""The base of the judges that judge a completion claim by claim."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from workbench.core.grade import ErrorKind, Grade
from workbench.core.thread import StringThread
from workbench.data.samples import Sample
from workbench.judges.answers.claim_verdicts import claims_schema, read_claims, share_of
from workbench.judges.answers.documents import sentences
from workbench.judges.answers.verdicts import AnswerError, verdict_object
from workbench.judges.base import JSON_OBJECT, Judge, SampleError, as_sample, json_schema
from workbench.judges.prompts.files import prompt
from workbench.judges.prompts.thread_parts import question
from workbench.judges.protocol import Messages, Reply

__all__ = ["ClaimsJudge", "no_documents_message", "zero_or_one"]


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
