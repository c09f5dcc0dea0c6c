"""Graders that apply a built-in rule: many rows in one plain loop, and as code for other platforms."""

from __future__ import annotations

import asyncio
import time
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from workbench.core.grade import ErrorKind, Grade, GradeError, Skip
from workbench.core.grades import SCORED, Grades, RowNotes
from workbench.core.thread import StringThread
from workbench.core.user_functions import attempt
from workbench.data.samples import Sample, Samples
from workbench.data.samples.column_names import ROLES
from workbench.data.samples.frame_columns import UnreadableRowsError
from workbench.graders.base import Grader, error_of
from workbench.graders.concurrent_rows import Control
from workbench.graders.portable_rule import PythonBody, Rule, refusal
from workbench.graders.rules.text import Verdict

_CHUNK = 4096
"""Rows whose threads are built together."""
_REPORT_SECONDS = 0.1


class UngradedReason(str):
    """The reason of a score that a setting assigned without grading, such as 0.0 if there is no text."""

    __slots__ = ()


@dataclass(frozen=True)
class ColumnVerdicts:
    """The verdicts on many rows.

    Attributes:
        scores: float64 (m,).
        codes: Codes that determine the reason, integers from 0 on, (m,).
        reason: From such a code to the reason.
        details: From such a code to the details; None if there are none.
    """

    scores: NDArray[np.float64]
    codes: NDArray[Any]
    reason: Callable[[int], str]
    details: Callable[[int], Mapping[str, Any]] | None = None


class Unscored(Exception):  # noqa: N818 (not an error for users: it carries an error kind to the grade)
    """Raised by a rule that cannot decide: the row is a failed grade of this kind.

    Args:
        kind: What went wrong.
        message: A sentence for users.
    """

    def __init__(self, kind: ErrorKind, message: str) -> None:
        super().__init__(message)
        self.kind = kind


@dataclass(frozen=True, kw_only=True)
class RuleGrader(Grader):
    """A grader that applies a built-in rule: no sandbox, no network, no model.

    To add one, write `grade_thread`. Rows are graded in one loop in a worker thread.
    """

    hidden_from_dir = "gives_verdict grade_samples grade_texts grade_thread has_own_rule javascript_body needs_reference python_body reads_columns rule verdict_on"

    deterministic: ClassVar[bool] = True
    gives_verdict: ClassVar[bool] = True
    """Whether a score of 1.0 is a pass and a lower one is not. If not, grades have no verdict."""

    rule: ClassVar[Rule | None] = None
    """The code for other platforms; None for a kind that cannot be exported, or that writes the bodies itself."""

    def grade_texts(self, texts: Sequence[str], references: Sequence[Any]) -> ColumnVerdicts | None:  # noqa: ARG002
        """The verdicts on many completions, equal to those of `grade_thread`: for rules that use only text and reference.

        Args:
            texts: The completions, none of them empty.
            references: Their references, none of them missing if the grader needs one (`needs_reference`).

        Returns:
            None if the rule or a setting uses more than that.
        """
        return None

    def verdict_on(self, score: float, details: Mapping[str, Any]) -> bool:  # noqa: ARG002
        """Whether a row graded by its thread passes: at a full score, unless the kind has another rule."""
        return score >= 1.0

    def reads_columns(self, samples: Samples) -> bool:  # noqa: ARG002
        """Whether `grade_texts` supports these samples."""
        return self.has_own_rule and self.grade_texts([], []) is not None

    @property
    def has_own_rule(self) -> bool:
        """Whether the column form belongs to this class's rule: a subclass that changes the rule is called row by row."""
        columns = _defined(type(self), ("grade_texts", "compare_texts", "passes"))
        rule = _defined(type(self), ("compare", "text", "grade_text", "grade_thread"))
        return columns <= rule

    @property
    def needs_reference(self) -> bool:
        """Whether `grade_texts` compares with the reference."""
        return False

    @abstractmethod
    def grade_thread(self, thread: StringThread, reference: Any) -> Verdict:
        """The verdict on one thread: score, reason, details. Raise `Unscored` for a failure, `Skip` if the rule does not apply."""

    def python_body(self, reference_names: tuple[str, ...]) -> PythonBody:  # noqa: ARG002
        """The body of a Python function that scores the same.

        Raises:
            FormatError: The kind has no form in Python.
        """
        raise refusal(self, "", "this kind has no Python form")

    def javascript_body(self, reference_names: tuple[str, ...]) -> list[str]:  # noqa: ARG002
        """The lines of a JavaScript function that scores the same.

        Raises:
            FormatError: The kind has no form in JavaScript.
        """
        raise refusal(
            self, "", "this kind has no JavaScript form: its rule has no function in rules/rules.js"
        )

    async def grade(self, sample: Sample) -> Grade:
        """Grade one sample outside the event loop's thread: a slow pattern must not delay others."""
        start = time.perf_counter()
        result = await asyncio.to_thread(self._safely, sample.thread, sample.reference)
        return self._grade_of(result, time.perf_counter() - start)

    def _grade_of(self, result: Verdict | GradeError | Skip, seconds: float) -> Grade:
        if isinstance(result, GradeError):
            return Grade.failed(result.kind, result.message, seconds=seconds)
        if isinstance(result, Skip):
            return Grade.skipped(str(result) or None, seconds=seconds)
        score, reason, details = result
        passed = self.verdict_on(score, details) if self.gives_verdict else None
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
        """Grade every row in order; rows not reached before `control.cancel` is set are failed as cancelled."""
        return await asyncio.to_thread(self._grade_rows, samples, control)

    def _grade_rows(self, samples: Samples, control: Control) -> Grades:
        grades = Grades.empty(len(samples))
        progress, by_columns = _Progress(control), self.reads_columns(samples)
        for start in range(0, len(samples), _CHUNK):
            if control.cancel.is_set():
                break
            stop = min(start + _CHUNK, len(samples))
            rest = np.arange(start, stop, dtype=np.intp)
            if by_columns:
                rest = self._grade_columns(samples, rest, grades)
            progress.rows(stop - start - len(rest))
            self._grade_rest(samples, rest, grades, progress)
            progress.keep(grades)
        progress.report()
        grades.finish()
        grades.code = True
        return grades

    def _grade_columns(self, samples: Samples, rows: NDArray[np.intp], grades: Grades) -> NDArray[np.intp]:
        """Grade rows by whole columns where possible, for a range of rows, and return the others."""
        begun, start, stop = time.perf_counter(), int(rows[0]), int(rows[-1]) + 1
        try:
            texts = samples.completions(slice(start, stop))
            references = samples.references_at(slice(start, stop)).tolist() if self.needs_reference else texts
        except UnreadableRowsError:
            return rows  # a file that can no longer be read: the rows fail individually
        faults = samples.faults_at(start, stop)
        # Empty, missing or invalid rows are handled by separate rules.
        if set(map(type, references)) <= {str} and all(texts) and all(references):
            is_plain = np.ones(len(texts), bool)  # the common case, in a quarter of the time
        else:
            is_plain = np.array([bool(text and reference is not None and reference != "") for text, reference in zip(texts, references, strict=True)], bool)  # fmt: skip
        is_plain[[row - start for row in faults]] = False
        if not is_plain.all():
            places = np.flatnonzero(is_plain).tolist()
            texts, references = [texts[place] for place in places], [references[place] for place in places]
        verdicts = attempt(lambda: self.grade_texts([text or "" for text in texts], references))
        if verdicts is None or isinstance(verdicts, Exception):
            return rows  # graded row by row, where each row fails individually
        self._put_verdicts(verdicts, start, is_plain, grades, time.perf_counter() - begun)
        left: NDArray[np.intp] = rows[~is_plain]
        return left

    def _put_verdicts(
        self,
        verdicts: ColumnVerdicts,
        start: int,
        is_plain: NDArray[np.bool_],
        grades: Grades,
        seconds: float,
    ) -> None:
        scores, codes = np.full(len(is_plain), np.nan), np.full(len(is_plain), -1, verdicts.codes.dtype)
        scores[is_plain], codes[is_plain] = verdicts.scores, verdicts.codes
        self._store(scores, start, grades, seconds / len(is_plain))
        assert isinstance(grades.reasoning, RowNotes)
        assert isinstance(grades.metadata, RowNotes)
        grades.reasoning.put_stretch(start, codes, verdicts.reason)
        if verdicts.details is not None:
            grades.metadata.put_stretch(start, codes.copy(), verdicts.details)

    def _grade_rest(
        self, samples: Samples, rows: NDArray[np.intp], grades: Grades, progress: _Progress
    ) -> None:
        """Grade rows one by one, by their threads."""
        if not len(rows):
            return
        some = samples.take(rows)
        wires, references = some.threads_and_references()
        problems = some.problems
        begun = time.perf_counter()
        for at, (row, wire, reference) in enumerate(zip(rows.tolist(), wires, references, strict=True)):
            if progress.stopped:
                break
            if at in problems:
                result: Verdict | GradeError | Skip = GradeError(problems[at].kind, str(problems[at]))
            else:
                result = self._safely(StringThread.from_wire(wire), reference)
            self._put(row, result, grades)
            progress.row(isinstance(result, GradeError))
        is_scored = grades.codes[rows] == SCORED
        grades.seconds[rows[is_scored]] = (time.perf_counter() - begun) / len(rows)

    def _put(self, row: int, result: Verdict | GradeError | Skip, grades: Grades) -> None:
        if isinstance(result, GradeError):
            grades.fail(row, result)
            return
        if isinstance(result, Skip):
            grades.put(row, Grade.skipped(str(result) or None))
            return
        score, reason, details = result
        grades.put_scores(row, np.array([score]), seconds=np.nan)
        grades.reasoning[row] = reason
        if isinstance(reason, UngradedReason):
            grades.ungraded[row] = reason
        if details:
            grades.metadata[row] = details
        if self.gives_verdict:
            grades.passed[row] = self.verdict_on(score, details)

    def _store(self, scores: NDArray[np.float64], start: int, grades: Grades, seconds: float) -> None:
        grades.put_scores(start, scores, seconds=seconds)
        if self.gives_verdict:
            grades.passed[start : start + len(scores)] = np.where(np.isnan(scores), -1, scores >= 1.0)

    def _safely(self, thread: StringThread, reference: Any) -> Verdict | GradeError | Skip:
        # A user's extractor may raise anything.
        verdict = attempt(partial(self.grade_thread, thread, reference))
        if not isinstance(verdict, Exception) or isinstance(verdict, Skip):
            return verdict
        if isinstance(verdict, Unscored):
            return GradeError(verdict.kind, str(verdict))
        return GradeError(*error_of(verdict))


class _Progress:
    """Counts rows and reports progress, at most ten times per second."""

    def __init__(self, control: Control) -> None:
        self._control = control
        self._done = self._failed = 0
        self._next = 0.0

    @property
    def stopped(self) -> bool:
        return self._control.cancel.is_set()

    def rows(self, count: int) -> None:
        """Count rows, none of which failed."""
        self._done += count
        self._report_if_due()

    def row(self, failed: bool) -> None:
        self._done += 1
        self._failed += failed
        self._report_if_due()

    def _report_if_due(self) -> None:
        if self._control.on_rows and (now := time.monotonic()) >= self._next:
            self._next = now + _REPORT_SECONDS
            self.report()

    def report(self) -> None:
        if self._done:
            self._control.progress(self._done, self._failed)

    def keep(self, grades: Grades) -> None:
        """Store graded rows if the run has a checkpoint: call it when the grades of whole rows are known."""
        if self._control.checkpoint is not None:
            self._control.progress(self._done, self._failed, grades)


def _defined(kind: type, names: Sequence[str]) -> int:
    """Index in a class's MRO of the nearest class that defines one of these methods."""
    return next(at for at, base in enumerate(kind.__mro__) if any(name in vars(base) for name in names))


def no_reference() -> Unscored:
    """The failure of a sample without the reference that the grader requires."""
    names = ", ".join(ROLES["reference"])
    return Unscored(
        ErrorKind.SAMPLE,
        f"no reference: this sample has none; name its column one of {names}, map it with "
        'columns={"reference": ...}, or give the grader a constant',
    )
