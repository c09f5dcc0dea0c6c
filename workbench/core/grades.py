"""Many grades of one grader, as columns: the return value of `grade_all` and the basis of a report."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, ItemsView, Iterator, Mapping, MutableMapping, Sequence, ValuesView
from dataclasses import dataclass, field, replace
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from workbench.core.grade import UNGRADED, ErrorKind, Grade, GradeError, Status

T = TypeVar("T")


class _Stretch(NamedTuple, Generic[T]):
    """The notes of a range of rows, as integer codes, each of which represents a note; negative for no note."""

    first: int
    codes: NDArray[Any]
    note: Callable[[int], T]


class _Items(ItemsView[int, T]):
    """The items of a `RowNotes`, in one pass."""

    _mapping: RowNotes[T]

    def __iter__(self) -> Iterator[tuple[int, T]]:
        return self._mapping._pairs()  # noqa: SLF001 (a class of this module)


class _Values(ValuesView[T]):
    """The notes of a `RowNotes`, in one pass."""

    _mapping: RowNotes[T]

    def __iter__(self) -> Iterator[T]:
        return (note for _, note in self._mapping._pairs())  # noqa: SLF001 (a class of this module)


class RowNotes(MutableMapping[int, T]):
    """Row number to note, ascending; like a dict, with less memory.

    A million reasons with two different texts take a megabyte here and eighty in a dict. An individual note of a row
    overrides that of its range.

    Args:
        notes: Initial notes.
    """

    def __init__(self, notes: dict[int, T] | None = None) -> None:
        self._own: dict[int, T] = dict(notes or {})
        self._stretches: list[_Stretch[T]] = []

    def put_stretch(self, first: int, codes: NDArray[Any], note: Callable[[int], T]) -> None:
        """Add the notes of a range of rows, none of which has a note yet, and all of which are after earlier ranges.

        Args:
            first: The first row.
            codes: Integers (m,), negative for a row without a note. Stored, and changed if a row loses its note.
            note: From a code to the note.
        """
        if len(codes):
            self._stretches.append(_Stretch(first, codes, note))

    def take(self, rows: NDArray[np.intp]) -> RowNotes[T]:
        """The notes of some rows, renumbered in this order; notes that many rows share stay shared."""
        taken: RowNotes[T] = RowNotes(self.own(rows))
        if self._stretches and len(rows):
            codes, note = self.shared(rows)
            if (codes >= 0).any():
                taken.put_stretch(0, codes, note)
        return taken

    def own(self, rows: NDArray[np.intp]) -> dict[int, T]:
        """The individual notes of some rows (m,), by their indices among these."""
        if not self._own:
            return {}
        place = {int(row): at for at, row in enumerate(rows)}
        return {place[row]: note for row, note in self._own.items() if row in place}

    def shared(self, rows: NDArray[np.intp]) -> tuple[NDArray[np.int64], Callable[[int], T]]:
        """The notes that some rows (m,) share with others, as if they were one range.

        Returns:
            Codes (m,), negative for a row without one, and from a code to its note; an individual note has priority.
        """
        numbers = np.searchsorted([stretch.first for stretch in self._stretches], rows, side="right") - 1
        order = np.argsort(numbers, kind="stable")
        bounds = np.searchsorted(numbers[order], np.arange(len(self._stretches) + 1))
        codes = np.full(len(rows), -1, np.int64)
        rules = {id(stretch.note): stretch.note for stretch in self._stretches}
        ranks = {rule: rank for rank, rule in enumerate(rules)}
        for stretch, start, stop in zip(self._stretches, bounds, bounds[1:], strict=False):
            places = order[start:stop]
            places = places[rows[places] - stretch.first < len(stretch.codes)]
            own = stretch.codes[rows[places] - stretch.first].astype(np.int64)
            # A separate code for each pair of a rule and a code.
            codes[places] = np.where(own < 0, -1, own * len(rules) + ranks[id(stretch.note)])
        notes = list(rules.values())
        return codes, lambda code: notes[code % len(notes)](code // len(notes))

    @classmethod
    def joined(cls, parts: Sequence[tuple[RowNotes[T], int]]) -> RowNotes[T]:
        """The notes of consecutive parts with the given numbers of rows, numbered continuously."""
        whole: RowNotes[T] = cls()
        first = 0
        for notes, count in parts:
            whole._append(notes.copy(), first)
            first += count
        return whole

    def _append(self, notes: RowNotes[T], first: int) -> None:
        self._own |= {first + row: note for row, note in notes._own.items()}
        self._stretches += [stretch._replace(first=first + stretch.first) for stretch in notes._stretches]

    def copy(self) -> RowNotes[T]:
        """A copy of the notes, which later changes of these do not affect."""
        twin = RowNotes(self._own)
        twin._stretches = [stretch._replace(codes=stretch.codes.copy()) for stretch in list(self._stretches)]
        return twin

    def __getitem__(self, row: int) -> T:
        if row in self._own:
            return self._own[row]
        stretch, code = self._found(row)
        return stretch.note(code)

    def __setitem__(self, row: int, note: T) -> None:
        self._own[row] = note

    def __delitem__(self, row: int) -> None:
        if row not in self:
            raise KeyError(row)
        self._own.pop(row, None)
        if self._is_in_stretch(row):
            stretch, _ = self._found(row)
            stretch.codes[row - stretch.first] = -1

    def __contains__(self, row: object) -> bool:
        return row in self._own or self._is_in_stretch(row)

    def _is_in_stretch(self, row: object) -> bool:
        try:
            self._found(row)
        except KeyError:
            return False
        return True

    def _found(self, row: object) -> tuple[_Stretch[T], int]:
        """The range of a row, and the code of its note there.

        Raises:
            KeyError: It has none, or is not an integer.
        """
        if not isinstance(row, int | np.integer):
            raise KeyError(row)
        place = bisect_right(self._stretches, row, key=lambda stretch: stretch.first) - 1
        if place >= 0:
            stretch = self._stretches[place]
            offset = row - stretch.first
            if offset < len(stretch.codes) and (code := int(stretch.codes[offset])) >= 0:
                return stretch, code
        raise KeyError(row)

    def __iter__(self) -> Iterator[int]:
        if not self._stretches:
            return iter(sorted(self._own))
        shared = [stretch.first + np.flatnonzero(stretch.codes >= 0) for stretch in self._stretches]
        own = np.fromiter(self._own, np.intp, len(self._own))
        return iter(np.union1d(np.concatenate(shared), own).tolist())

    def items(self) -> ItemsView[int, T]:
        """Row numbers and notes; a note that many rows share is created once."""
        return _Items(self)

    def values(self) -> ValuesView[T]:
        """The notes, ascending by row; a note that many rows share is created once."""
        return _Values(self)

    def _pairs(self) -> Iterator[tuple[int, T]]:
        known: dict[tuple[int, int], T] = {}
        at = 0
        for row in self:
            while at + 1 < len(self._stretches) and self._stretches[at + 1].first <= row:
                at += 1
            if row in self._own:
                yield row, self._own[row]
                continue
            stretch = self._stretches[at]
            code = int(stretch.codes[row - stretch.first])
            key = (id(stretch.note), code)  # the same rule for many ranges
            if key not in known:
                known[key] = stretch.note(code)
            yield row, known[key]

    def __len__(self) -> int:
        if not self._stretches:
            return len(self._own)
        shared = sum(int((stretch.codes >= 0).sum()) for stretch in self._stretches)
        return shared + sum(not self._is_in_stretch(row) for row in self._own)

    def __bool__(self) -> bool:
        return bool(self._own) or any((stretch.codes >= 0).any() for stretch in self._stretches)

    def __reduce__(self) -> tuple[type[RowNotes[T]], tuple[dict[int, T]]]:
        """Pickled as each row's note, which takes as much memory as a dict: a rule may be a function that cannot be pickled."""
        return RowNotes, (dict(self.items()),)

    def __repr__(self) -> str:
        return f"RowNotes({dict(self.items())!r})"


MISSING, SCORED, FAILED, SKIPPED = range(4)
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
        if code == MISSING:
            error = GradeError(ErrorKind.CANCELLED, "not graded")
        return Grade(
            score=float(self.scores[row]) if code == SCORED else None,
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
            self.codes[row] = SCORED
        elif status is Status.FAILED:
            assert grade.error is not None
            self.fail(row, grade.error)
        else:
            self.codes[row] = SKIPPED
        self._put_rest(row, grade)

    def _put_rest(self, row: int, grade: Grade) -> None:
        if grade.passed is not None:
            self.passed[row] = grade.passed
        if grade.reasoning is not None:
            self.reasoning[row] = grade.reasoning
        if grade.metadata:
            self.metadata[row] = grade.metadata
        for name in ("seconds", "tokens", "cost"):
            if (value := getattr(grade, name)) is not None:
                getattr(self, name)[row] = value

    def replace_with_retry(self, row: int, grade: Grade) -> None:
        """Replace the grade of a failed row by a later one; both were paid for."""
        first = self[row]
        attempts = (first, grade)
        counts = [attempt.tokens for attempt in attempts if attempt.tokens is not None]
        tokens = sum(counts) if counts else None
        paid = [one.cost for one in attempts if one.tokens is not None or one.cost is not None]
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
        self.codes[rows] = np.where(np.isnan(scores), MISSING, SCORED)
        self.seconds[rows] = seconds

    def fail(self, row: int, error: GradeError) -> None:
        """Mark one row failed; a score is removed."""
        self.scores[row] = np.nan
        self.codes[row] = FAILED
        self.errors[row] = error

    def finish(
        self, kind: ErrorKind = ErrorKind.CANCELLED, message: str = "not graded: the run was stopped"
    ) -> None:
        """Turn every missing row into a failure."""
        error = GradeError(kind, message)
        for row in np.flatnonzero(self.codes == MISSING):
            self.fail(int(row), error)

    @property
    def statuses(self) -> NDArray[np.object_]:
        """Status names (n,): "scored", "failed", "skipped" (or "missing" during a run)."""
        return _STATUS_NAMES[self.codes]

    @property
    def cut_off(self) -> list[int]:
        """Rows that were not graded because the run was stopped, its budget is exhausted, or their requests are in a batch."""
        return [row for row, error in self.errors.items() if error.kind in {*UNGRADED, ErrorKind.BUDGET}]

    @property
    def n_scored(self) -> int:
        """Rows with a score."""
        return int((self.codes == SCORED).sum())

    @property
    def n_failed(self) -> int:
        """Rows that failed."""
        return int((self.codes == FAILED).sum())

    @property
    def n_skipped(self) -> int:
        """Rows that the grader skipped."""
        return int((self.codes == SKIPPED).sum())


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
