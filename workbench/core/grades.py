"""Many grades of one grader, as columns: the return value of `grade_all` and the basis of a report."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, MutableMapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.core.grade import ErrorKind, Grade, GradeError, Status
from workbench.core.row_notes import RowNotes

_MISSING, _SCORED, _FAILED, _SKIPPED = range(4)
MISSING, SCORED, FAILED = _MISSING, _SCORED, _FAILED
"""Codes of rows."""
_COLUMNS = ("scores", "codes", "passed", "seconds", "tokens", "cost")
_NOTES = ("errors", "reasoning", "metadata", "ungraded", "graded_again")
_STATUS_NAMES = np.array(["missing", Status.SCORED, Status.FAILED, Status.SKIPPED], dtype=object)


@dataclass(eq=False, repr=False)
class Grades:
    """Grades of one grader over n samples, in row order.

    A row starts as *missing*: it has no score until one is stored. `finish` turns rows that
    are still missing into failures, so that a stopped run is never read as zeros.

    Attributes:
        scores: float64 (n,), NaN if there is no score.
        codes: uint8 (n,), 0 missing, 1 scored, 2 failed, 3 skipped.
        passed: int8 (n,), 1 pass, 0 fail, -1 no verdict.
        seconds: float64 (n,), NaN if unknown.
        tokens: float64 (n,), NaN if none.
        cost: float64 (n,), US dollars, NaN if unknown.
        errors: Row number to error, for failed rows only.
        reasoning: Row number to text, for rows with one.
        metadata: Row number to mapping, for rows with one.
        isolation: The sandbox level of the rows; "" if no sandbox was used.
        code: Whether a code grader gave the grades, to which stricter limits apply than to a judge.
        ungraded: Row to why it has a score by a platform's rule without being graded, such as a
            missing reference that counts as 0.0.
        ended: Why the grader stopped before the last row without a stop request; "" if it did not.
        repeats: If the rows were graded several times: every pass, n rows each, the first one first; else empty.
        reduced: Which of `workbench.graders.repeats.REDUCERS` computed these grades from the repeats; "" without.
        graded_again: Of the rows that were graded again in another order, for code that may keep state: row to
            whether its score was different.
        unstable: Why scores were different: "state" or "chance"; "" if they were not.
    """

    scores: NDArray[np.float64]
    codes: NDArray[np.uint8]
    passed: NDArray[np.int8]
    seconds: NDArray[np.float64]
    tokens: NDArray[np.float64]
    cost: NDArray[np.float64]
    errors: dict[int, GradeError] = field(default_factory=dict)
    reasoning: MutableMapping[int, str] = field(default_factory=RowNotes)
    metadata: MutableMapping[int, Mapping[str, Any]] = field(default_factory=RowNotes)
    isolation: str = ""
    code: bool = False
    ungraded: dict[int, str] = field(default_factory=dict)
    ended: str = ""
    repeats: tuple[Grades, ...] = ()
    reduced: str = ""
    graded_again: dict[int, bool] = field(default_factory=dict)
    unstable: str = ""

    @classmethod
    def empty(cls, n: int) -> Grades:
        """N rows, all missing."""
        nan = np.full((4, n), np.nan)
        return cls(nan[0], np.zeros(n, np.uint8), np.full(n, -1, np.int8), nan[1], nan[2], nan[3])

    def __len__(self) -> int:
        return len(self.codes)

    def __repr__(self) -> str:
        """Number of rows by status; the texts of a large run would not fit a line."""
        return f"Grades({len(self):,} rows: {self.n_scored:,} scored, {self.n_failed:,} failed, {self.n_skipped:,} skipped)"

    def __iter__(self) -> Iterator[Grade]:
        return (self[row] for row in range(len(self)))

    def __getitem__(self, row: int) -> Grade:
        """The grade of one row; a missing row reads as cancelled."""
        code = self.codes[row]
        error = self.errors.get(row)
        if code == _MISSING:
            error = GradeError(ErrorKind.CANCELLED, "not graded")
        return Grade(
            score=float(self.scores[row]) if code == _SCORED else None,
            passed=None if self.passed[row] < 0 else bool(self.passed[row]),
            reasoning=self.reasoning.get(row),
            error=error,
            metadata=self.metadata.get(row, {}),
            seconds=_or_none(self.seconds[row]),
            tokens=None if np.isnan(self.tokens[row]) else int(self.tokens[row]),
            cost=_or_none(self.cost[row]),
        )

    def take(self, rows: NDArray[np.intp]) -> Grades:
        """The grades of some rows, in this order and renumbered.

        Args:
            rows: Row numbers (m,), each at most once.
        """
        place = {int(row): at for at, row in enumerate(rows)}
        columns: dict[str, Any] = {name: getattr(self, name)[rows] for name in _COLUMNS}
        notes: dict[str, Any] = {name: _taken(getattr(self, name), rows, place) for name in _NOTES}
        repeats = tuple(each.take(rows) for each in self.repeats)
        return replace(self, **columns, **notes, repeats=repeats)

    @classmethod
    def joined(cls, parts: Sequence[tuple[NDArray[np.intp], Grades]]) -> Grades:
        """The merged grades of parts of the rows.

        Information about the whole run, such as `ended`, is taken from the last part.

        Args:
            parts: Row numbers (m,) and their m grades, each; every row from 0 on is in one part.
        """
        order = np.argsort(np.concatenate([rows for rows, _ in parts]))
        grades = [part for _, part in parts]
        columns: dict[str, Any] = {
            name: np.concatenate([getattr(part, name) for part in grades]) for name in _COLUMNS
        }
        notes: dict[str, Any] = {name: _joined_notes(name, grades) for name in _NOTES}
        return replace(grades[-1], **columns, **notes, repeats=()).take(order)

    def put(self, row: int, grade: Grade) -> None:
        """Store one grade."""
        status = grade.status
        if status is Status.SCORED:
            assert grade.score is not None
            self.scores[row] = grade.score
            self.codes[row] = _SCORED
        elif status is Status.FAILED:
            assert grade.error is not None
            self.fail(row, grade.error)
        else:
            self.codes[row] = _SKIPPED
        self._put_rest(row, grade)

    def _put_rest(self, row: int, grade: Grade) -> None:
        if grade.passed is not None:
            self.passed[row] = grade.passed
        if grade.reasoning is not None:
            self.reasoning[row] = grade.reasoning
        if grade.metadata:
            self.metadata[row] = grade.metadata
        for column, value in (
            (self.seconds, grade.seconds),
            (self.tokens, grade.tokens),
            (self.cost, grade.cost),
        ):
            if value is not None:
                column[row] = value

    def replace_with_retry(self, row: int, grade: Grade) -> None:
        """Replace the grade of a failed row by a later one; both were paid for."""
        first = self[row]
        tokens = (
            None
            if first.tokens is None and grade.tokens is None
            else (first.tokens or 0) + (grade.tokens or 0)
        )
        paid = [
            attempt.cost
            for attempt in (first, grade)
            if attempt.tokens is not None or attempt.cost is not None
        ]
        costs = [cost for cost in paid if cost is not None]
        # Known only if every paid attempt has a price.
        cost = sum(costs) if costs and len(costs) == len(paid) else None
        # Created first: a grade with impossible numbers raises here, before the old one is removed.
        later = replace(grade, tokens=tokens, cost=cost)
        for notes in (self.errors, self.reasoning, self.metadata):
            notes.pop(row, None)
        for column in (self.seconds, self.tokens, self.cost):
            column[row] = np.nan
        self.put(row, later)

    def put_scores(self, start: int, scores: NDArray[np.float64], *, seconds: float) -> None:
        """Store a run of finite scores from row `start` on; NaN entries stay missing.

        Args:
            start: First row.
            scores: float64 (m,).
            seconds: Mean time per row.
        """
        rows = slice(start, start + len(scores))
        self.scores[rows] = scores
        self.codes[rows] = np.where(np.isnan(scores), _MISSING, _SCORED)
        self.seconds[rows] = seconds

    def fail(self, row: int, error: GradeError) -> None:
        """Mark one row failed; a score is removed."""
        self.scores[row] = np.nan
        self.codes[row] = _FAILED
        self.errors[row] = error

    def finish(
        self, kind: ErrorKind = ErrorKind.CANCELLED, message: str = "not graded: the run was stopped"
    ) -> None:
        """Turn every missing row into a failure."""
        error = GradeError(kind, message)
        for row in np.flatnonzero(self.codes == _MISSING):
            self.fail(int(row), error)

    @property
    def statuses(self) -> NDArray[np.object_]:
        """Status names (n,): "scored", "failed", "skipped" (or "missing" during a run)."""
        return _STATUS_NAMES[self.codes]

    @property
    def cut_off(self) -> list[int]:
        """Rows that were not graded because the run was stopped or its budget exhausted; they are failed."""
        return [
            row for row, error in self.errors.items() if error.kind in {ErrorKind.CANCELLED, ErrorKind.BUDGET}
        ]

    @property
    def n_scored(self) -> int:
        """Rows with a score."""
        return int((self.codes == _SCORED).sum())

    @property
    def n_failed(self) -> int:
        """Rows that failed."""
        return int((self.codes == _FAILED).sum())

    @property
    def n_skipped(self) -> int:
        """Rows that the grader skipped."""
        return int((self.codes == _SKIPPED).sum())


def _taken(notes: Any, rows: NDArray[np.intp], place: Mapping[int, int]) -> Any:
    if isinstance(notes, RowNotes):
        return notes.take(rows)
    return {place[row]: note for row, note in notes.items() if row in place}


def _joined_notes(name: str, parts: Sequence[Grades]) -> Any:
    notes = [(getattr(part, name), len(part)) for part in parts]
    if all(isinstance(own, RowNotes) for own, _ in notes):
        return RowNotes.joined(notes)
    joined, first = {}, 0
    for own, count in notes:
        joined.update({first + row: note for row, note in own.items()})
        first += count
    return joined


def _or_none(value: float) -> float | None:
    return None if np.isnan(value) else float(value)
