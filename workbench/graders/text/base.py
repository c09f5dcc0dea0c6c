"""What code graders share: a rule over a thread and a reference, run over many rows in one plain loop."""

from __future__ import annotations

import asyncio
import time
from abc import abstractmethod
from dataclasses import Field, dataclass, field
from typing import Any, ClassVar

import numpy as np

from workbench.errors import FormatError
from workbench.extractors import Extractor, as_extractor
from workbench.grade import ErrorKind, Grade, GradeError
from workbench.graders.base import Control, Grader, _explain
from workbench.graders.rules.text import as_text
from workbench.graders.rules.verdict import Verdict
from workbench.grades import Grades
from workbench.samples import Sample, Samples
from workbench.samples.columns import ROLES
from workbench.thread import StringThread

__all__ = ["ByRule", "CodeGrader", "TextGrader", "Unscored", "WordedGrader", "choice"]

_CHUNK = 4096
"""Rows whose threads are made at once."""
_NEWS_SECONDS = 0.1


class ByRule(str):
    """The reason of a score that a setting gave without grading, such as 0.0 where there is no text."""

    __slots__ = ()


_EMPTY: Verdict = (0.0, ByRule("Empty submission: the extractor found no text"), {})
_NO_TRAJECTORY: Verdict = (0.0, ByRule("Empty trajectory: nobody answered the user"), {})
_NO_GROUND_TRUTH: Verdict = (0.0, ByRule("No ground_truth answer provided"), {})
_LETTA_WORDS = {
    _EMPTY[1]: "Empty submission - extractor found no content",
    _NO_TRAJECTORY[1]: "Empty trajectory - agent produced no messages",
}


class Unscored(Exception):  # noqa: N818 (no error of ours: it carries a kind to the border)
    """Raised by a rule that cannot decide: the row is a failed grade of this kind.

    Args:
        kind: What went wrong.
        message: A sentence for people.
    """

    def __init__(self, kind: ErrorKind, message: str) -> None:
        super().__init__(message)
        self.kind = kind


def choice(field_name: str, value: object, allowed: tuple[str, ...], hint: str = "") -> None:
    """Refuse a setting that is none of the allowed ones.

    Raises:
        FormatError: With what there is to choose from.
    """
    if value not in allowed:
        raise FormatError(
            f"{field_name} must be one of {', '.join(map(repr, allowed))}",
            found=repr(value)[:80],
            hint=hint,
        )


@dataclass(frozen=True, kw_only=True)
class CodeGrader(Grader):
    """A deterministic grader of our own code: no sandbox, no network, no model.

    To add one, write `judge`. Rows are graded in one loop on a worker thread.
    """

    machinery = "compare constant gives_verdict judge judge_text letta_reasons text"

    gives_verdict: ClassVar[bool] = True
    """Whether a score of 1.0 is a pass and anything less is not. If not, grades have no verdict."""

    @abstractmethod
    def judge(self, thread: StringThread, reference: Any) -> Verdict:
        """The verdict on one thread: score, reason, details. Raise `Unscored` where there is none."""

    async def grade(self, sample: Sample) -> Grade:
        """Grade one sample, away from the loop's thread: a slow pattern must not hold up others."""
        start = time.perf_counter()
        result = await asyncio.to_thread(self._safely, sample.thread, sample.reference)
        seconds = time.perf_counter() - start
        if isinstance(result, GradeError):
            return Grade.failed(result.kind, result.message, seconds=seconds)
        score, reason, details = result
        passed = score >= 1.0 if self.gives_verdict else None
        return Grade(score, passed=passed, reasoning=reason, metadata=details, seconds=seconds)

    async def grade_all(self, samples: Samples, control: Control) -> Grades:
        """Grade every row in order; rows not reached when `control.cancel` is set are failed as cancelled."""
        return await asyncio.to_thread(self._grade_rows, samples, control)

    def _grade_rows(self, samples: Samples, control: Control) -> Grades:
        grades = Grades.empty(len(samples))
        news = _News(control)
        for start in range(0, len(samples), _CHUNK):
            if control.cancel.is_set():
                break
            self._grade_chunk(samples[start : start + _CHUNK], start, grades, news)
        news.tell()
        grades.finish()
        grades.code = True
        return grades

    def _grade_chunk(self, samples: Samples, start: int, grades: Grades, news: _News) -> None:
        built = samples._build()  # noqa: SLF001 (one pass for threads and faults; samples[i] would take three)
        samples._faults = built.faults  # noqa: SLF001 (else `problems` would build them again)
        problems = samples.problems if built.faults else {}
        scores = np.full(len(samples), np.nan)
        begun = time.perf_counter()
        for at, (wire, reference) in enumerate(zip(built.wires, samples.references, strict=True)):
            if news.stopped:
                break
            if at in problems:
                result: Verdict | GradeError = GradeError(ErrorKind.SAMPLE, problems[at])
            else:
                result = self._safely(StringThread.from_wire(wire), reference)
            if isinstance(result, GradeError):
                grades.fail(start + at, result)
            else:
                scores[at], grades.reasoning[start + at], details = result
                if isinstance(result[1], ByRule):
                    grades.ungraded[start + at] = result[1]
                if details:
                    grades.metadata[start + at] = details
            news.row(isinstance(result, GradeError))
        self._store(scores, start, grades, (time.perf_counter() - begun) / len(samples))

    def _store(self, scores: Any, start: int, grades: Grades, seconds: float) -> None:
        errors = grades.codes[start : start + len(scores)].copy()
        grades.put_scores(start, scores, seconds=seconds)
        rows = grades.codes[start : start + len(scores)]
        rows[errors != 0] = errors[errors != 0]
        if self.gives_verdict:
            grades.passed[start : start + len(scores)] = np.where(np.isnan(scores), -1, scores >= 1.0)

    def _safely(self, thread: StringThread, reference: Any) -> Verdict | GradeError:
        try:
            return self.judge(thread, reference)
        except Unscored as error:
            return GradeError(error.kind, str(error))
        except Exception as error:  # noqa: BLE001 (the border: an extractor of the user's may raise anything)
            return GradeError(*_explain(error))


class _News:
    """Counts rows, tells how far the run is, ten times a second."""

    def __init__(self, control: Control) -> None:
        self._control = control
        self._done = self._failed = 0
        self._next = 0.0

    @property
    def stopped(self) -> bool:
        return self._control.cancel.is_set()

    def row(self, failed: bool) -> None:
        self._done += 1
        self._failed += failed
        if self._control.on_rows and (now := time.monotonic()) >= self._next:
            self._next = now + _NEWS_SECONDS
            self.tell()

    def tell(self) -> None:
        if self._control.on_rows and self._done:
            self._control.on_rows(self._done, self._failed)


@dataclass(frozen=True, kw_only=True)
class TextGrader(CodeGrader):
    """A code grader that looks at one text.

    Attributes:
        extractor: Which part of the conversation is graded: a name, a dict, or an `Extractor`. The last
            assistant message by default.
        on_empty: What an empty text means: "grade" it like any other, or "zero" (Letta from 0.8: score 0.0,
            "Empty submission", or "Empty trajectory" where nobody answered).
    """

    extractor: Extractor = field(default_factory=Extractor)
    on_empty: str = "grade"

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "extractor", as_extractor(self.extractor))
        choice("on_empty", self.on_empty, ("grade", "zero"))

    def _field_spec(self, f: Field[Any]) -> Any:
        value = getattr(self, f.name)
        if isinstance(value, Extractor):
            return value.spec()
        return list(value) if isinstance(value, tuple) else value

    def judge(self, thread: StringThread, reference: Any) -> Verdict:
        """See `CodeGrader.judge`."""
        text = self.text(thread)
        if not text and self.on_empty == "zero":
            answered = any(turn.role not in {"user", "system"} for turn in thread.get_turns())
            return _EMPTY if answered else _NO_TRAJECTORY
        return self.judge_text(text, thread, reference)

    @abstractmethod
    def judge_text(self, text: str, thread: StringThread, reference: Any) -> Verdict:
        """The verdict on the extracted text."""

    def text(self, thread: StringThread) -> str:
        """The text to grade."""
        if self.extractor.name == "last_assistant" and (said := thread.completion()):
            return said  # what the rule would find, without looking at every turn
        return self.extractor.extract(thread)


@dataclass(frozen=True, kw_only=True)
class WordedGrader(TextGrader):
    """A text grader that Letta has as well, and whose reasons can be said as Letta says them.

    Attributes:
        wording: Whose words the reasons are in: "" for ours, "letta" for its rationales, such as
            `Exact match: True`. No score depends on it.
    """

    letta_reasons: ClassVar[tuple[str, str]] = ("", "")
    """Letta's rationale of a 1.0 and of a 0.0; where it is "" ours is the same."""

    wording: str = ""

    def __post_init__(self) -> None:
        super().__post_init__()
        choice("wording", self.wording, ("", "letta"))

    def judge(self, thread: StringThread, reference: Any) -> Verdict:
        """See `CodeGrader.judge`."""
        score, reason, details = super().judge(thread, reference)
        return score, self._in_lettas_words(score, reason) if self.wording else reason, details

    def _in_lettas_words(self, score: float, reason: str) -> str:
        if isinstance(reason, ByRule):
            return ByRule(_LETTA_WORDS.get(reason, reason))
        return self.letta_reasons[0 if score else 1] or reason


@dataclass(frozen=True, kw_only=True)
class ReferenceGrader(WordedGrader):
    """A text grader that compares with something: its own constant, or the sample's reference.

    Attributes:
        on_no_reference: What a sample without a reference means where one is needed: "fail" (the grade
            fails, kind sample) or "zero" (Letta: score 0.0, for an empty reference too).
    """

    on_no_reference: str = "fail"

    def __post_init__(self) -> None:
        super().__post_init__()
        choice("on_no_reference", self.on_no_reference, ("fail", "zero"))

    @property
    def constant(self) -> str | None:
        """The grader's own expectation; None where the sample's reference is it."""
        raise NotImplementedError

    def judge_text(self, text: str, thread: StringThread, reference: Any) -> Verdict:  # noqa: ARG002
        """See `TextGrader.judge_text`."""
        expected = self.constant
        if expected is None:
            expected = None if reference is None else as_text(reference)
            if not expected and self.on_no_reference == "zero":
                return _NO_GROUND_TRUTH
            if expected is None:
                raise no_reference()
        return self.compare(text, expected)

    @abstractmethod
    def compare(self, text: str, expected: str) -> Verdict:
        """The verdict on the text and what was expected of it."""


def no_reference() -> Unscored:
    """The failure of a sample that lacks the reference it is graded against."""
    names = ", ".join(ROLES["reference"])
    return Unscored(
        ErrorKind.SAMPLE,
        f"no reference: this sample has none; name its column one of {names}, map it with "
        'columns={"reference": ...}, or give the grader a constant',
    )
