"""What the judges of answers from documents share: claims, documents, and parts scored 1 or 0."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from workbench.grade import ErrorKind, Grade
from workbench.judges.answers.claims import claims_schema, read_claims, share_of
from workbench.judges.answers.documents import sentences
from workbench.judges.answers.verdicts import AnswerError, verdict
from workbench.judges.base import JSON_OBJECT, Judge, SampleError, as_sample, json_schema
from workbench.judges.prompts.files import prompt
from workbench.judges.prompts.thread_parts import question
from workbench.judges.protocol import Messages, Reply
from workbench.samples import Sample
from workbench.thread import StringThread

__all__ = ["ClaimsJudge", "no_documents", "one_or_zero"]


@dataclass(frozen=True, kw_only=True)
class ClaimsJudge(Judge):
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
    scores = [one_or_zero(one, ("0", "1")) for one in parts]
    reasons = [str(one.get("reasoning") or one.get("reason") or "") for one in parts]
    share = round(sum(scores) / len(scores), 3) if scores else 0.0
    return Grade(share, reasoning="\n".join(filter(None, reasons)), metadata={"scores": scores})


def one_or_zero(part: Any, texts: tuple[str, ...] = ()) -> int:
    """A part's score; as text only where the platform's own prompt asks for text, as Adaptive's does."""
    score = part.get("score") if isinstance(part, Mapping) else None
    if score is None or isinstance(score, bool) or score not in (0, 1, *texts):
        raise AnswerError(ErrorKind.JUDGE_PARSE, f"a part's score must be 1 or 0, not {score!r}"[:200])
    return int(score)


def no_documents(sample: Sample, rules: str) -> str:
    """Why nothing was found: Adaptive's rules pass document turns over."""
    if rules != "adaptive":
        return "there are no documents: no document turns and no metadata['documents']"
    turns = sum(turn.role == "document" for turn in sample.thread.get_turns())
    passed = f", and pass over the {turns} document turn{'s' if turns > 1 else ''} here" if turns else ""
    way = "; put the documents there, or give the judge rules='' to read the turns" if turns else ""
    return f"there are no documents: Adaptive's rules look in metadata['documents'] only{passed}{way}"
