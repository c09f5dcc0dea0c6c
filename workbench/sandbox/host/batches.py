"""Batches of rows for persistent workers: a queue that splits and merges them into commands, and their row times."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from workbench.core.grade import ErrorKind, GradeError
from workbench.core.grades import Grades
from workbench.sandbox.host.results import FIRST_ROWS

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


_COMMAND_SECONDS = 0.01
"""Target duration of a command: about ten times its round trip, so that the trip takes a tenth of the time."""
_GROWTH = 8
"""Maximum growth of a command relative to the one before: one fast row must not decide for thousands."""
_BYPASS_SECONDS = 0.03
_BYPASS_MEANS = 4.0
"""The following rows move to another worker after these seconds at one row, and this multiple of the mean row time."""
_BYPASS_SHARE = 0.1
"""The same before any row was timed: this share of the time limit, at least `_BYPASS_SECONDS`."""
_HANG_SECONDS = 0.25
_HANG_SHARE = 0.25
_HANG_SLOWEST = 1.5
"""A row counts as hanging after these seconds, or this share of the time limit if that is less, and this multiple of
the slowest scored row; the time is multiplied if more workers are busy than there are cores. A shorter time would let many
slow rows on few cores slow each other down until all time out."""
_CERTAIN_ROWS = 1000
_CERTAIN_SECONDS = 0.08
_CERTAIN_SLOWEST = 30.0
"""After this number of scored rows, a row already counts as hanging after these seconds, if that is also this multiple
of the slowest of them."""
_SLOWEST_DECAY = 0.98
"""The slowest time shrinks by this factor with each command, so that one slow row is forgotten after about a hundred."""


class RowTimes:
    """Row times of one program.

    They determine the rows per command, and when a row counts as hanging. A hanging row cannot be distinguished from a slow one
    before its time limit. Waiting for every limit would add up the limits, and starting a worker for every slow row would
    overload the machine. So there are two shorter waiting times. After the first, only the rows after the slow one are moved to
    another worker, at no cost. After the second, a worker beyond the number of cores may be started. Both depend on the row
    times so far. The constants were chosen on 2 cores with `benchmarks/reward.py`.

    Args:
        limit: Time limit of a row in seconds.
        rows: Rows of the first command.

    Attributes:
        mean: Seconds per row, the latest command weighted by half; NaN before the first score.
        rows_at_once: Rows of the next command.
    """

    def __init__(self, limit: float, rows: int = FIRST_ROWS) -> None:
        self.mean, self.rows_at_once = float("nan"), rows
        self._limit, self._slowest, self._scored = limit, 0.0, 0

    @property
    def known(self) -> bool:
        """Whether any row has been scored."""
        return not np.isnan(self.mean)

    def learn(self, seconds: NDArray[np.float64]) -> None:
        """Record the seconds of the rows that a command scored; rows without a score give no information."""
        if not len(seconds):
            return
        mean = float(seconds.mean())
        self.mean = 0.5 * (self.mean + mean) if self.known else mean
        self._slowest = max(_SLOWEST_DECAY * self._slowest, float(seconds.max()))
        self._scored += len(seconds)

    def size_next(self, spent: float, count: int, most: int) -> None:
        """Choose the number of rows of the next command.

        Args:
            spent: Seconds from sending the last command to its reply.
            count: Its rows.
            most: Maximum rows of a command.
        """
        fitting = int(_COMMAND_SECONDS * max(1, count) / max(spent, 1e-9))
        self.rows_at_once = max(1, min(most, fitting, _GROWTH * max(self.rows_at_once, count)))

    def commands(self, rows: int) -> float:
        """A number of rows in units of commands."""
        return rows * self.mean / _COMMAND_SECONDS if self.known else rows / FIRST_ROWS

    @property
    def bypass_seconds(self) -> float:
        """Seconds at one row after which the following rows move to another worker."""
        if not self.known:
            return max(_BYPASS_SECONDS, _BYPASS_SHARE * self._limit)
        return max(_BYPASS_SECONDS, _BYPASS_MEANS * self.mean)

    def hang_seconds(self, load: float) -> float:
        """Seconds at one row after which it counts as hanging.

        Args:
            load: Busy workers per core.
        """
        seconds = min(_HANG_SECONDS, _HANG_SHARE * self._limit)
        seconds = max(seconds, self.bypass_seconds, _HANG_SLOWEST * self._slowest) * max(1.0, load)
        if self._scored < _CERTAIN_ROWS:
            return seconds
        return min(seconds, max(_CERTAIN_SECONDS, self.bypass_seconds, _CERTAIN_SLOWEST * self._slowest))
