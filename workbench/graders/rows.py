"""A run over rows, one at a time and many at once: what graders do that have no better way of their own."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Protocol

import numpy as np

from workbench.grade import ErrorKind, Grade, GradeError
from workbench.graders.control import Control
from workbench.grades import Grades
from workbench.samples import Sample, Samples
from workbench.samples.cells import Problem

__all__ = ["RowRun", "in_second_pass", "second_pass"]

_ROWS_AT_ONCE = 256
"""Rows whose samples are made together: one alone costs as much as a hundred of them."""
_STOP_INTERVAL = 0.05
"""Seconds between two checks whether the run is to stop."""
_STOP_SECONDS = 2.0
"""Seconds that rows under way have to end once the run is to stop."""
_MAX_FAILURES_IN_A_ROW = 5
"""Rows of the second pass that fail again in a row, without one that has a grade, after which it ends."""
_NOT_GRADED = frozenset({ErrorKind.BUDGET, ErrorKind.STORE, ErrorKind.CANCELLED})
"""Failures that mean the row was never sent to the grader."""


_is_second_pass: ContextVar[bool] = ContextVar("second pass", default=False)


@contextmanager
def second_pass() -> Iterator[None]:
    """Say that rows are graded once more: their faults are their own, and nothing is waited for as a restart."""
    token = _is_second_pass.set(True)
    try:
        yield
    finally:
        _is_second_pass.reset(token)


def in_second_pass() -> bool:
    """Whether this task grades rows once more."""
    return _is_second_pass.get()


class RowGrader(Protocol):
    """What a run needs of a grader. See `Grader`."""

    @property
    def name(self) -> str: ...

    @property
    def at_once(self) -> int: ...

    def ends_run(self) -> Callable[[Grade], GradeError | None]: ...

    async def grade(self, sample: Sample) -> Grade: ...


class RowRun:
    """One grader over all rows.

    Rows that failed by a transient error, such as a short outage of a server, are graded once more when all others are done.
    Rows under way when the run is stopped have two seconds to end; then they are given up.
    """

    def __init__(self, grader: RowGrader, samples: Samples, control: Control) -> None:
        self._grader, self._samples, self._control = grader, samples, control
        self._grades = Grades.empty(len(samples))
        self._ends_run = grader.ends_run()
        self._end_error: GradeError | None = None
        self._done = self._failed = 0

    async def run(self) -> Grades:
        """The grades; rows that were not reached are failed."""
        await self._pass(_Rows(self._samples), self._put, len(self._samples))
        await self._second_pass()
        if self._end_error is not None:
            self._grades.finish(self._end_error.kind, self._end_error.message)
        self._grades.finish()
        return self._grades

    async def _pass(self, rows: _Rows, put: Callable[[int, Grade], None], count: int) -> None:
        """Hand out rows until there are none, or the run is to end."""
        workers = [
            asyncio.ensure_future(self._work(rows, put)) for _ in range(min(self._grader.at_once, count))
        ]
        try:
            await self._watch(set(workers))
        finally:
            for worker in workers:
                worker.cancel()

    async def _second_pass(self) -> None:
        """Grade once more what failed by a transient error; the first failure stands where this one was not asked."""
        failed = np.array(
            sorted(row for row, error in self._grades.errors.items() if error.transient), dtype=np.intp
        )
        if self._end_error is not None or self._control.cancel.is_set() or not len(failed):
            return
        # These rows are counted again when they have been graded again.
        self._done, self._failed = self._done - len(failed), self._failed - len(failed)
        # Made anew: the one of the first pass has already heard of these failures.
        self._ends_run, mended = self._grader.ends_run(), 0

        in_a_row = 0

        def put(at: int, grade: Grade) -> None:
            nonlocal mended, in_a_row
            if grade.error is None or grade.error.kind not in _NOT_GRADED:
                grade = self._stored(self._grades.put_later, int(failed[at]), grade)
                mended += grade.error is None
            in_a_row = in_a_row + 1 if grade.error is not None and grade.error.transient else 0
            if not mended and in_a_row >= _MAX_FAILURES_IN_A_ROW:
                self._end_error = self._end_error or grade.error
            self._count(grade)

        with second_pass():
            await self._pass(_Rows(self._samples.take(failed)), put, len(failed))
        self._end_error = None  # every row has an error or a grade of its own by now
        self._control.notes.append(
            f"{self._grader.name}: {len(failed):,} rows that failed by a transient error were graded once more at the "
            f"end: {mended:,} have a grade now, {len(failed) - mended:,} failed again or were not reached."
        )

    async def _watch(self, working: set[asyncio.Future[None]]) -> None:
        while working:
            done, working = await asyncio.wait(working, timeout=_STOP_INTERVAL)
            for worker in done:
                # Raises what a worker raised: a fault of ours must not pass for rows that were not reached.
                worker.result()
            if working and self._control.cancel.is_set():
                _, late = await asyncio.wait(working, timeout=_STOP_SECONDS)
                for worker in late:
                    worker.cancel()
                await asyncio.gather(*working, return_exceptions=True)
                return

    async def _work(self, rows: _Rows, put: Callable[[int, Grade], None]) -> None:
        while not self._control.cancel.is_set() and self._end_error is None:
            row, sample = await rows.next()
            # Once more, since the run may have been stopped while the samples were made.
            if sample is None or self._control.cancel.is_set() or self._end_error is not None:
                return
            put(row, await self._grade(sample))

    async def _grade(self, sample: Sample | Problem) -> Grade:
        if isinstance(sample, Problem):
            return Grade.failed(sample.kind, str(sample))
        return await self._grader.grade(sample)

    def _put(self, row: int, grade: Grade) -> None:
        self._count(self._stored(self._grades.put, row, grade))

    @staticmethod
    def _stored(put: Callable[[int, Grade], None], row: int, grade: Grade) -> Grade:
        """Store a grade; a failed one in its place where a user's own grade holds numbers no column can."""
        try:
            put(row, grade)
        except (TypeError, ValueError, OverflowError) as error:
            grade = Grade.failed(ErrorKind.RUNTIME, f"{type(error).__name__}: {error}"[:300])
            put(row, grade)
        return grade

    def _count(self, grade: Grade) -> None:
        """Count a row, and end the run where its grade says so."""
        self._end_error = self._end_error or self._ends_run(grade)
        self._done, self._failed = self._done + 1, self._failed + (grade.error is not None)
        self._control.progress(self._done, self._failed, self._grades)


class _Rows:
    """The rows of a dataset one by one, their samples made a few hundred at a time on a worker thread."""

    def __init__(self, samples: Samples) -> None:
        self._samples = samples
        self._at = 0
        self._ready: Iterator[tuple[int, Sample | Problem]] = iter(())
        self._lock = asyncio.Lock()

    async def next(self) -> tuple[int, Sample | Problem | None]:
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
