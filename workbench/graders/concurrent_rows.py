"""Concurrent grading of rows: the default run of graders without a specialised one, its checkpoint and its control."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import replace
from typing import Protocol, Self

import numpy as np
from numpy.typing import NDArray

from workbench.core.grade import UNGRADED, ErrorKind, Grade, GradeError
from workbench.core.grades import MISSING, Grades
from workbench.data.samples import Sample, Samples
from workbench.data.samples.cells import CellProblem
from workbench.sandbox.host.program import weakest


class Checkpoint(Protocol):
    """Checkpoint of one grader: grades of earlier runs, appended to during this run."""

    def kept(self, n: int) -> Grades:
        """The grades of earlier runs, n rows; rows without one are missing."""
        ...

    def of_rows(self, rows: NDArray[np.intp]) -> Self:
        """The checkpoint for a run over some of the rows (m,), which it numbers from 0 on."""
        ...

    def of_part(self, name: str) -> Self:
        """The checkpoint for a grader inside this one."""
        ...

    def applied(self, apply: Callable[[Grades], Grades]) -> Self:
        """The checkpoint for grades that are stored after a function was applied to them, row by row."""
        ...

    def add(
        self,
        grades: Grades,
        *,
        without: Callable[[], Mapping[int, object]] = dict,
        final: bool = False,
    ) -> None:
        """Store the rows graded since the last call, unless that was too recent.

        Args:
            grades: All of this run; rows that are not graded yet are missing.
            without: Rows that must not be stored.
            final: The grades will not change, so they are written independent of the time of the last call, together
                with information about the whole run, and `applied` has nothing left to do.
        """
        ...


class Control:
    """Communication between a run and its caller: reports progress, receives a stop request.

    Args:
        on_rows: Called with (rows done, rows failed) of the current grader.
        workers: Sandbox processes to use; None for the default.
        checkpoint: Stores grades during the run; None for no storage.

    Attributes:
        notes: Notes for the user at the end of the run.
        looks_again: Whether code that may keep state between rows grades some of them again.
        is_part: Whether the rows are part of a larger run and will not be graded again separately.
    """

    def __init__(
        self,
        on_rows: Callable[[int, int], None] | None = None,
        *,
        workers: int | None = None,
        checkpoint: Checkpoint | None = None,
    ) -> None:
        self.on_rows = on_rows
        self.workers = workers
        self.checkpoint = checkpoint
        self.looks_again = True
        self.is_part = False
        self.cancel = threading.Event()
        self.notes: list[str] = []

    def part(
        self,
        on_rows: Callable[[int, int], None] | None = None,
        checkpoint: Checkpoint | None = None,
    ) -> Control:
        """A control for one part of a grader: it shares the stop and the notes, and reports progress only to `on_rows`."""
        part = Control(on_rows, workers=self.workers, checkpoint=checkpoint)
        part.cancel, part.notes, part.looks_again = self.cancel, self.notes, self.looks_again
        part.is_part = self.is_part
        return part

    def progress(
        self,
        done: int,
        failed: int,
        grades: Grades | None = None,
        *,
        without: Callable[[], Mapping[int, object]] = dict,
    ) -> None:
        """Report the progress of a grader. Must be called while no other thread changes its grades.

        Args:
            done: Rows with an outcome.
            failed: Number of them that failed.
            grades: All grades so far; None if they cannot be read yet.
            without: Rows whose grades are not final.
        """
        if self.on_rows:
            self.on_rows(done, failed)
        if self.checkpoint is not None and grades is not None:
            self.checkpoint.add(grades, without=without)


async def grade_missing(
    samples: Samples, control: Control, grade: Callable[[Samples, Control], Awaitable[Grades]]
) -> Grades:
    """Grade the rows without a grade in the checkpoint, and merge both.

    Args:
        samples: All rows (n,).
        control: Of the run, with or without a checkpoint.
        grade: Grades rows.
    """
    if control.checkpoint is None:
        return await grade(samples, control)
    kept = control.checkpoint.kept(len(samples))
    is_missing = kept.codes == MISSING
    if is_missing.all():
        return await _kept_as_graded(samples, control, grade)
    before, rest = np.flatnonzero(~is_missing), np.flatnonzero(is_missing)
    kept = replace(kept.take(before), ended="")
    if not len(rest):
        return kept

    def count(done: int, failed: int) -> None:
        if control.on_rows:
            control.on_rows(len(kept) + done, kept.n_failed + failed)

    part = control.part(count, control.checkpoint.of_rows(rest))
    new = await _kept_as_graded(samples.take(rest), part, grade)
    return concat_grades([(before, kept), (rest, new)])


def concat_grades(parts: Sequence[tuple[NDArray[np.intp], Grades]]) -> Grades:
    """One grader's grades of parts of the rows, as `Grades.joined`, with merged information about the run.

    The weakest isolation of any part counts. The grader is code if any part reports so (a part without grades cannot),
    unstable if any part is, and the first reason for an early end is used.
    """
    graded = [grades for _, grades in parts]
    return replace(
        Grades.joined(parts),
        isolation=weakest(*{grades.isolation for grades in graded} - {""}),
        code=any(grades.code for grades in graded),
        unstable=next((grades.unstable for grades in graded if grades.unstable), ""),
        ended=next((grades.ended for grades in graded if grades.ended), ""),
    )


async def _kept_as_graded(
    samples: Samples, control: Control, grade: Callable[[Samples, Control], Awaitable[Grades]]
) -> Grades:
    grades = await grade(samples, control)
    assert control.checkpoint is not None
    control.checkpoint.add(grades, final=True)
    return grades


_ROWS_AT_ONCE = 256
"""Rows whose samples are built together: building one takes as long as building a hundred."""
STOP_INTERVAL = 0.05
"""Seconds between two checks whether the run must stop."""
STOP_SECONDS = 2.0
"""Seconds that rows in flight may take to end once the run must stop."""
_MAX_FAILURES_IN_A_ROW = 5
"""Maximum consecutive failures in the second pass, without a graded row in between, before it ends."""
NOT_GRADED = frozenset({ErrorKind.BUDGET, ErrorKind.STORE, *UNGRADED})
"""Failures of the run rather than of the grader: the row was never sent to it."""


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
    def name(self) -> str:
        """The name in reports."""
        ...

    @property
    def at_once(self) -> int:
        """Maximum number of rows in flight."""
        ...

    def ends_run(self) -> Callable[[Grade], GradeError | None]:
        """The callback that ends a run early."""
        ...

    async def grade(self, sample: Sample) -> Grade:
        """Grade one sample."""
        ...


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
            if grade.error is None or grade.error.kind not in NOT_GRADED:
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
            done, working = await asyncio.wait(working, timeout=STOP_INTERVAL)
            for worker in done:
                # Raises a worker's exception: an internal error must not appear as rows that were not reached.
                worker.result()
            if working and self._control.cancel.is_set():
                _, late = await asyncio.wait(working, timeout=STOP_SECONDS)
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
