"""Concurrent grading of rows: the default run of graders without a specialised one."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Protocol

import numpy as np

from workbench.core.grade import ErrorKind, Grade, GradeError
from workbench.core.grades import Grades
from workbench.data.samples import Sample, Samples
from workbench.data.samples.cells import CellProblem
from workbench.graders.control import Control

__all__ = ["RowRun", "in_second_pass", "second_pass"]

_ROWS_AT_ONCE = 256
"""Rows whose samples are built together: building one takes as long as building a hundred."""
_STOP_INTERVAL = 0.05
"""Seconds between two checks whether the run must stop."""
_STOP_SECONDS = 2.0
"""Seconds that rows in flight may take to end once the run must stop."""
_MAX_FAILURES_IN_A_ROW = 5
"""Maximum consecutive failures in the second pass, without a graded row in between, before it ends."""
_NOT_GRADED = frozenset({ErrorKind.BUDGET, ErrorKind.STORE, ErrorKind.CANCELLED})
"""Failures that mean that the row was never sent to the grader."""


_is_second_pass: ContextVar[bool] = ContextVar("second pass", default=False)


@contextmanager
def second_pass() -> Iterator[None]:
    """Mark that rows are being retried: their failures are not treated as an outage, and a restart is not awaited."""
    token = _is_second_pass.set(True)
    try:
        yield
    finally:
        _is_second_pass.reset(token)


def in_second_pass() -> bool:
    """Whether this task retries rows."""
    return _is_second_pass.get()


class RowGrader(Protocol):
    """The part of a grader that a run uses. See `Grader`."""

    @property
    def name(self) -> str: ...

    @property
    def at_once(self) -> int: ...

    def ends_run(self) -> Callable[[Grade], GradeError | None]: ...

    async def grade(self, sample: Sample) -> Grade: ...


class RowRun:
    """Run of one grader over all rows.

    Rows that failed with a transient error, such as a short outage of a server, are retried when all others are done.
    Rows in flight when the run is stopped have two seconds to end; then they are abandoned.
    """

    def __init__(self, grader: RowGrader, samples: Samples, control: Control) -> None:
        self._grader, self._samples, self._control = grader, samples, control
        self._grades = Grades.empty(len(samples))
        self._ends_run = grader.ends_run()
        self._end_error: GradeError | None = None
        self._done = self._failed = 0

    async def run(self) -> Grades:
        """The grades; rows that were not reached are failed."""
        await self._pass(_RunRows(self._samples), self._put, len(self._samples))
        await self._second_pass()
        if self._end_error is not None:
            self._grades.finish(self._end_error.kind, self._end_error.message)
        self._grades.finish()
        return self._grades

    async def _pass(self, rows: _RunRows, put: Callable[[int, Grade], None], count: int) -> None:
        """Start rows until none remain, or the run must end."""
        workers = [
            asyncio.ensure_future(self._work(rows, put)) for _ in range(min(self._grader.at_once, count))
        ]
        try:
            await self._watch(set(workers))
        finally:
            for worker in workers:
                worker.cancel()

    async def _second_pass(self) -> None:
        """Retry rows that failed with a transient error; the first failure remains if a retry was not sent."""
        failed = np.array(
            sorted(row for row, error in self._grades.errors.items() if error.transient), dtype=np.intp
        )
        if self._end_error is not None or self._control.cancel.is_set() or not len(failed):
            return
        # These rows are counted again after the retry.
        self._done, self._failed = self._done - len(failed), self._failed - len(failed)
        # A new one: that of the first pass has already counted these failures.
        self._ends_run, mended = self._grader.ends_run(), 0

        in_a_row = 0

        def put(at: int, grade: Grade) -> None:
            nonlocal mended, in_a_row
            if grade.error is None or grade.error.kind not in _NOT_GRADED:
                grade = self._stored(self._grades.replace_with_retry, int(failed[at]), grade)
                mended += grade.error is None
            in_a_row = in_a_row + 1 if grade.error is not None and grade.error.transient else 0
            if not mended and in_a_row >= _MAX_FAILURES_IN_A_ROW:
                self._end_error = self._end_error or grade.error
            self._count(grade)

        with second_pass():
            await self._pass(_RunRows(self._samples.take(failed)), put, len(failed))
        self._end_error = None  # every row has an error or a grade now
        self._control.notes.append(
            f"{self._grader.name}: retried {len(failed):,} rows after transient errors: "
            f"{mended:,} graded, {len(failed) - mended:,} failed again or not reached."
        )

    async def _watch(self, working: set[asyncio.Future[None]]) -> None:
        while working:
            done, working = await asyncio.wait(working, timeout=_STOP_INTERVAL)
            for worker in done:
                # Raises a worker's exception: an internal error must not appear as rows that were not reached.
                worker.result()
            if working and self._control.cancel.is_set():
                _, late = await asyncio.wait(working, timeout=_STOP_SECONDS)
                for worker in late:
                    worker.cancel()
                await asyncio.gather(*working, return_exceptions=True)
                return

    async def _work(self, rows: _RunRows, put: Callable[[int, Grade], None]) -> None:
        while not self._control.cancel.is_set() and self._end_error is None:
            row, sample = await rows.next()
            # Checked again, since the run may have been stopped while the samples were built.
            if sample is None or self._control.cancel.is_set() or self._end_error is not None:
                return
            put(row, await self._grade(sample))

    async def _grade(self, sample: Sample | CellProblem) -> Grade:
        if isinstance(sample, CellProblem):
            return Grade.failed(sample.kind, str(sample))
        return await self._grader.grade(sample)

    def _put(self, row: int, grade: Grade) -> None:
        self._count(self._stored(self._grades.put, row, grade))

    @staticmethod
    def _stored(put: Callable[[int, Grade], None], row: int, grade: Grade) -> Grade:
        """Store a grade, or a failed one if a user's grade contains numbers that no column can represent."""
        try:
            put(row, grade)
        except (TypeError, ValueError, OverflowError) as error:
            grade = Grade.failed(ErrorKind.RUNTIME, f"{type(error).__name__}: {error}"[:300])
            put(row, grade)
        return grade

    def _count(self, grade: Grade) -> None:
        """Count a row, and end the run if its grade requires it."""
        self._end_error = self._end_error or self._ends_run(grade)
        self._done, self._failed = self._done + 1, self._failed + (grade.error is not None)
        self._control.progress(self._done, self._failed, self._grades)


class _RunRows:
    """The rows of a dataset one by one, with samples built a few hundred at a time in a worker thread."""

    def __init__(self, samples: Samples) -> None:
        self._samples = samples
        self._at = 0
        self._ready: Iterator[tuple[int, Sample | CellProblem]] = iter(())
        self._lock = asyncio.Lock()

    async def next(self) -> tuple[int, Sample | CellProblem | None]:
        """The next row and its sample, or why it has none; None after the last row."""
        if (row_and_sample := next(self._ready, None)) is not None:
            return row_and_sample
        async with self._lock:
            # Another worker may have fetched rows while this one waited for the lock.
            if (row_and_sample := next(self._ready, None)) is not None:
                return row_and_sample
            part = range(self._at, min(self._at + _ROWS_AT_ONCE, len(self._samples)))
            if not part:
                return self._at, None
            samples = await asyncio.to_thread(self._samples[part.start : part.stop].read)
            self._at, self._ready = part.stop, zip(part, samples, strict=True)
            return next(self._ready)
