"""Graders that apply a rule of the workbench's own: many rows in one plain loop, and as code for other platforms."""

from __future__ import annotations

import asyncio
import time
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from workbench.grade import ErrorKind, Grade, GradeError, Skip
from workbench.graders.base import Control, Grader, error_of
from workbench.graders.portable.refusals import refusal
from workbench.graders.portable.rule import PythonBody, Rule
from workbench.graders.rules.verdict import Verdict
from workbench.grades import Grades
from workbench.samples import Sample, Samples
from workbench.samples.columns import ROLES
from workbench.thread import StringThread

__all__ = ["RuleGrader", "UngradedReason", "Unscored", "no_reference"]

_CHUNK = 4096
"""Rows whose threads are made at once."""
_REPORT_SECONDS = 0.1


class UngradedReason(str):
    """The reason of a score that a setting gave without grading, such as 0.0 where there is no text."""

    __slots__ = ()


class Unscored(Exception):  # noqa: N818 (no error for users: it carries an error kind to the grade)
    """Raised by a rule that cannot decide: the row is a failed grade of this kind.

    Args:
        kind: What went wrong.
        message: A sentence for people.
    """

    def __init__(self, kind: ErrorKind, message: str) -> None:
        super().__init__(message)
        self.kind = kind


@dataclass(frozen=True, kw_only=True)
class RuleGrader(Grader):
    """A grader that applies a rule of the workbench's own: no sandbox, no network, no model.

    To add one, write `grade_thread`. Rows are graded in one loop on a worker thread.
    """

    hidden_from_dir = "gives_verdict grade_samples grade_thread javascript_body python_body rule"

    deterministic: ClassVar[bool] = True
    gives_verdict: ClassVar[bool] = True
    """Whether a score of 1.0 is a pass and anything less is not. If not, grades have no verdict."""

    rule: ClassVar[Rule | None] = None
    """What other platforms are given as code; None for a kind that stays here, or that writes the bodies itself."""

    @abstractmethod
    def grade_thread(self, thread: StringThread, reference: Any) -> Verdict:
        """The verdict on one thread: score, reason, details. Raise `Unscored` where it fails, `Skip` where the rule does not apply."""

    def python_body(self, reference_names: tuple[str, ...]) -> PythonBody:  # noqa: ARG002
        """See `Portable.python_body`.

        Raises:
            FormatError: The kind has no form in Python.
        """
        raise refusal(self, "", "this kind has no Python form")

    def javascript_body(self, reference_names: tuple[str, ...]) -> list[str]:  # noqa: ARG002
        """See `Portable.javascript_body`.

        Raises:
            FormatError: The kind has no form in JavaScript.
        """
        raise refusal(
            self, "", "this kind has no JavaScript form: its rule names no function of rules/rules.js"
        )

    async def grade(self, sample: Sample) -> Grade:
        """Grade one sample, away from the loop's thread: a slow pattern must not hold up others."""
        start = time.perf_counter()
        result = await asyncio.to_thread(self._safely, sample.thread, sample.reference)
        return self._grade_of(result, time.perf_counter() - start)

    def _grade_of(self, result: Verdict | GradeError | Skip, seconds: float) -> Grade:
        if isinstance(result, GradeError):
            return Grade.failed(result.kind, result.message, seconds=seconds)
        if isinstance(result, Skip):
            return Grade.skipped(str(result) or None, seconds=seconds)
        score, reason, details = result
        passed = score >= 1.0 if self.gives_verdict else None
        return Grade(score, passed=passed, reasoning=reason, metadata=details, seconds=seconds)

    def grade_samples(self, samples: Sequence[Sample]) -> Grades:
        """Grade samples in this thread, in order."""
        grades = Grades.empty(len(samples))
        for at, sample in enumerate(samples):
            start = time.perf_counter()
            result = self._safely(sample.thread, sample.reference)
            grades.put(at, self._grade_of(result, time.perf_counter() - start))
        grades.code = True
        return grades

    async def grade_all(self, samples: Samples, control: Control) -> Grades:
        """Grade every row in order; rows not reached when `control.cancel` is set are failed as cancelled."""
        return await asyncio.to_thread(self._grade_rows, samples, control)

    def _grade_rows(self, samples: Samples, control: Control) -> Grades:
        grades = Grades.empty(len(samples))
        progress = _Progress(control)
        for start in range(0, len(samples), _CHUNK):
            if control.cancel.is_set():
                break
            self._grade_chunk(samples[start : start + _CHUNK], start, grades, progress)
        progress.report()
        grades.finish()
        grades.code = True
        return grades

    def _grade_chunk(self, samples: Samples, start: int, grades: Grades, progress: _Progress) -> None:
        built = samples._build()  # noqa: SLF001 (one pass for threads and faults; samples[i] would take three)
        samples._faults = built.faults  # noqa: SLF001 (else `problems` would build them again)
        problems = samples.problems if built.faults else {}
        scores = np.full(len(samples), np.nan)
        begun = time.perf_counter()
        for at, (wire, reference) in enumerate(zip(built.wires, samples.references, strict=True)):
            if progress.stopped:
                break
            if at in problems:
                result: Verdict | GradeError | Skip = GradeError(ErrorKind.SAMPLE, problems[at])
            else:
                result = self._safely(StringThread.from_wire(wire), reference)
            if isinstance(result, GradeError):
                grades.fail(start + at, result)
            elif isinstance(result, Skip):
                grades.put(start + at, Grade.skipped(str(result) or None))
            else:
                scores[at], grades.reasoning[start + at], details = result
                if isinstance(result[1], UngradedReason):
                    grades.ungraded[start + at] = result[1]
                if details:
                    grades.metadata[start + at] = details
            progress.row(isinstance(result, GradeError))
        self._store(scores, start, grades, (time.perf_counter() - begun) / len(samples))

    def _store(self, scores: Any, start: int, grades: Grades, seconds: float) -> None:
        # Failed and skipped rows were put there before, and `put_scores` writes over them.
        unscored = grades.codes[start : start + len(scores)].copy()
        grades.put_scores(start, scores, seconds=seconds)
        codes = grades.codes[start : start + len(scores)]
        codes[unscored != 0] = unscored[unscored != 0]
        if self.gives_verdict:
            grades.passed[start : start + len(scores)] = np.where(np.isnan(scores), -1, scores >= 1.0)

    def _safely(self, thread: StringThread, reference: Any) -> Verdict | GradeError | Skip:
        try:
            return self.grade_thread(thread, reference)
        except Skip as skip:
            return skip
        except Unscored as error:
            return GradeError(error.kind, str(error))
        except Exception as error:  # noqa: BLE001 (a user's extractor may raise anything)
            return GradeError(*error_of(error))


class _Progress:
    """Counts rows and reports how far the run is, at most ten times a second."""

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
            self._next = now + _REPORT_SECONDS
            self.report()

    def report(self) -> None:
        if self._control.on_rows and self._done:
            self._control.on_rows(self._done, self._failed)


def no_reference() -> Unscored:
    """The failure of a sample that lacks the reference it is graded against."""
    names = ", ".join(ROLES["reference"])
    return Unscored(
        ErrorKind.SAMPLE,
        f"no reference: this sample has none; name its column one of {names}, map it with "
        'columns={"reference": ...}, or give the grader a constant',
    )
