"""Queue of rows for persistent workers: batches of one call each, split and merged into commands."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field, replace

import numpy as np

from workbench.core.grade import ErrorKind, GradeError
from workbench.core.grades import Grades

__all__ = ["MIN_BAD", "Batch", "BatchSlice", "RowQueue"]

MIN_BAD = 32
"""Minimum rows of a batch that hung, crashed or ran out of memory before it may be abandoned: see `Batch.is_hopeless`."""
_BAD = (ErrorKind.TIMEOUT, ErrorKind.CRASH, ErrorKind.MEMORY)
_COLUMNS = ("scores", "passed", "seconds", "codes")
"""Status codes are written last, after all notes: a reader in another thread treats a row with a code as complete."""
_NOTES = ("errors", "reasoning", "metadata")


@dataclass(eq=False)
class Batch:
    """The rows of one call and their grades, filled in during the run.

    Attributes:
        rows: One `marshal` text per row.
        grades: One per row, missing until known.
        future: Resolves to the grades when every row has one.
        printed: Row to what the grader printed, if rows are graded alone.
        stopped: The caller no longer waits: rows that were not started are cancelled.
        lost: Row to the reason why a worker ended at it; each such row is retried once.
        news: Called on the workers' thread after some, but not all, rows got their grades. Must not block or raise.
    """

    rows: Sequence[bytes]
    grades: Grades = field(init=False)
    future: Future[Grades] = field(default_factory=Future)
    printed: dict[int, str] = field(default_factory=dict)
    stopped: bool = False
    lost: dict[int, str] = field(default_factory=dict)
    news: Callable[[], object] | None = None
    _left: int = field(init=False)
    _bad: int = 0

    def __post_init__(self) -> None:
        self.grades, self._left = Grades.empty(len(self.rows)), len(self.rows)
        # From here on the caller cannot cancel the future while it is being filled.
        self.future.set_running_or_notify_cancel()
        self._end_if_whole()

    def put(self, piece: BatchSlice, grades: Grades, at: int) -> int:
        """Store the known grades of a piece; returns their number.

        Args:
            piece: A piece of this batch.
            grades: Grades of a command.
            at: Index in the command at which the piece starts.
        """
        rows, source = slice(piece.first, piece.stop), slice(at, at + len(piece))
        known = grades.codes[source] != 0
        for name in _NOTES:
            notes = getattr(grades, name)
            if notes:
                shift = piece.first - at
                found = {row + shift: note for row, note in notes.items() if at <= row < at + len(piece)}
                getattr(self.grades, name).update(found)
        for name in _COLUMNS:
            getattr(self.grades, name)[rows][known] = getattr(grades, name)[source][known]
        self._bad += sum(
            error.kind in _BAD for row, error in grades.errors.items() if at <= row < source.stop
        )
        count = int(known.sum())
        self._left -= count
        self._end_if_whole()
        news = self.news  # the caller may remove it in between
        if news is not None and count and self._left > 0:
            news()
        return count

    def so_far(self) -> Grades:
        """A copy of the grades known so far; may be called from any thread."""
        # Codes first: a row with a code was written completely before.
        codes = self.grades.codes.copy()
        columns = {
            name: getattr(self.grades, name).copy() for name in (*_COLUMNS, *_NOTES) if name != "codes"
        }
        return replace(self.grades, codes=codes, **columns)

    @property
    def is_hopeless(self) -> bool:
        """Whether more than half of the rows decided so far hung, crashed or ran out of memory, at least `MIN_BAD`."""
        decided = len(self.rows) - self._left
        return self._bad >= MIN_BAD and self._bad > decided / 2

    def fail(self, piece: BatchSlice, error: GradeError) -> None:
        """Fail every row of a piece."""
        grades = Grades.empty(len(piece))
        grades.finish(error.kind, error.message)
        self.put(piece, grades, 0)

    def _end_if_whole(self) -> None:
        if self._left <= 0 and not self.future.done():
            self.future.set_result(self.grades)

    def end(self, error: BaseException) -> None:
        """Raise an error in the waiting caller."""
        if not self.future.done():
            self.future.set_exception(error)


@dataclass(frozen=True)
class BatchSlice:
    """Rows `first` to `stop` of a batch."""

    batch: Batch
    first: int
    stop: int

    def __len__(self) -> int:
        return self.stop - self.first

    def cut(self, count: int) -> tuple[BatchSlice, BatchSlice]:
        """Its first rows, and the remaining rows."""
        middle = self.first + count
        return BatchSlice(self.batch, self.first, middle), BatchSlice(self.batch, middle, self.stop)


class RowQueue:
    """Pieces in grading order."""

    def __init__(self) -> None:
        self._pieces: deque[BatchSlice] = deque()
        self.rows = 0

    def add(self, batch: Batch) -> None:
        """Append the rows of a batch."""
        if batch.rows:
            self._pieces.append(BatchSlice(batch, 0, len(batch.rows)))
            self.rows += len(batch.rows)

    def put_back(self, pieces: Iterable[BatchSlice]) -> None:
        """Return taken pieces to the front, in this order."""
        for piece in reversed([piece for piece in pieces if len(piece)]):
            self._pieces.appendleft(piece)
            self.rows += len(piece)

    def take(self, most: int, most_bytes: int) -> list[BatchSlice]:
        """Take rows from the front, within the limits on rows and bytes, but at least one row.

        Rows whose caller has stopped waiting are failed.
        """
        taken: list[BatchSlice] = []
        while self._pieces and most > 0:
            piece = self._pieces.popleft()
            self.rows -= len(piece)
            if piece.batch.future.done() or self._dropped(piece):
                continue
            count, most_bytes = _fitting(piece, most, most_bytes, at_least=0 if taken else 1)
            front, rest = piece.cut(count)
            self.put_back([rest])
            if not count:
                break
            taken.append(front)
            most -= count
            if len(rest):
                break
        return taken

    def _dropped(self, piece: BatchSlice) -> bool:
        batch = piece.batch
        if batch.stopped:
            batch.fail(piece, GradeError(ErrorKind.CANCELLED, "not graded: the call was stopped"))
        elif batch.is_hopeless:
            reason = "not attempted: more than half of the preceding rows hung, crashed or ran out of memory"
            batch.fail(piece, GradeError(ErrorKind.CANCELLED, reason))
        else:
            return False
        return True

    def take_all(self) -> list[BatchSlice]:
        """Every piece, in order."""
        pieces = list(self._pieces)
        self._pieces.clear()
        self.rows = 0
        return pieces


def _fitting(piece: BatchSlice, most: int, most_bytes: int, *, at_least: int) -> tuple[int, int]:
    """The number of rows of a piece that fit, and the bytes that remain."""
    most = min(most, len(piece))
    sizes = np.cumsum([len(row) for row in piece.batch.rows[piece.first : piece.first + most]])
    count = max(int(np.searchsorted(sizes, most_bytes, side="right")), min(at_least, most))
    return count, most_bytes - (int(sizes[count - 1]) if count else 0)
