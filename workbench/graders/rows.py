"""A run over rows, one at a time and many at once: what graders do that have no better way of their own."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Protocol

import numpy as np

from workbench.grade import ErrorKind, Grade, GradeError
from workbench.grades import Grades
from workbench.samples import Sample, Samples
from workbench.thread import StringThread

__all__ = ["Control", "RowRun", "in_second_pass", "made_samples", "second_pass"]

_AT_ONCE = 256
"""Rows whose samples are made together: one alone costs as much as a hundred of them."""
_LOOK = 0.05
"""Seconds between two looks whether the run is to stop."""
_GRACE = 2.0
"""Seconds that rows under way have to end once the run is to stop."""
_HOPELESS = 5
"""Rows of the second pass that fail again in a row, without one that has a grade, after which it ends."""
_NOT_GRADED = frozenset({ErrorKind.BUDGET, ErrorKind.STORE, ErrorKind.CANCELLED})
"""Failures of rows that were not asked."""


_second: ContextVar[bool] = ContextVar("second pass", default=False)


@contextmanager
def second_pass() -> Iterator[None]:
    """Say that rows are graded once more: their faults are their own, and nothing is waited for as a restart."""
    token = _second.set(True)
    try:
        yield
    finally:
        _second.reset(token)


def in_second_pass() -> bool:
    """Whether this task grades rows once more."""
    return _second.get()


class Control:
    """A run's two wires: news out, a stop in.

    Args:
        on_rows: Called with (rows done, rows failed) of the grader at work.
        workers: Sandbox processes to use; None for the default.

    Attributes:
        notes: What a person should read of the run at its end.
    """

    def __init__(
        self, on_rows: Callable[[int, int], None] | None = None, *, workers: int | None = None
    ) -> None:
        self.on_rows = on_rows
        self.workers = workers
        self.cancel = threading.Event()
        self.notes: list[str] = []

    def part(self, on_rows: Callable[[int, int], None] | None = None) -> Control:
        """The same run's wires for a part of a grader: its stop is heard, its news go to `on_rows` alone."""
        part = Control(on_rows, workers=self.workers)
        part.cancel, part.notes = self.cancel, self.notes
        return part


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

    Rows that failed by a passing fault, such as a server's bad moment, are graded once more when all others are done.
    Rows under way when the run is stopped have two seconds to end; then they are given up.
    """

    def __init__(self, grader: RowGrader, samples: Samples, control: Control) -> None:
        self._grader, self._samples, self._control = grader, samples, control
        self._grades = Grades.empty(len(samples))
        self._ends = grader.ends_run()
        self._over: GradeError | None = None
        self._done = self._failed = 0

    async def go(self) -> Grades:
        """The grades; rows that were not reached are failed."""
        await self._pass(_Rows(self._samples), self._put, len(self._samples))
        await self._again()
        if self._over is not None:
            self._grades.finish(self._over.kind, self._over.message)
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

    async def _again(self) -> None:
        """Grade once more what failed by a passing fault; the first failure stands where this one was not asked."""
        failed = np.array(
            sorted(row for row, error in self._grades.errors.items() if error.passing), dtype=np.intp
        )
        if self._over is not None or self._control.cancel.is_set() or not len(failed):
            return
        self._done, self._failed = self._done - len(failed), self._failed - len(failed)
        self._ends, mended = self._grader.ends_run(), 0

        in_a_row = 0

        def put(at: int, grade: Grade) -> None:
            nonlocal mended, in_a_row
            if grade.error is None or grade.error.kind not in _NOT_GRADED:
                grade = self._kept(self._grades.put_later, int(failed[at]), grade)
                mended += grade.error is None
            in_a_row = in_a_row + 1 if grade.error is not None and grade.error.passing else 0
            if not mended and in_a_row >= _HOPELESS:
                self._over = self._over or grade.error
            self._told(grade)

        with second_pass():
            await self._pass(_Rows(self._samples.take(failed)), put, len(failed))
        self._over = None  # every row has an error or a grade of its own by now
        self._control.notes.append(
            f"{self._grader.name}: {len(failed):,} rows that failed by a passing fault were graded once more at the "
            f"end: {mended:,} have a grade now, {len(failed) - mended:,} failed again or were not reached."
        )

    async def _watch(self, working: set[asyncio.Future[None]]) -> None:
        while working:
            done, working = await asyncio.wait(working, timeout=_LOOK)
            for worker in done:
                worker.result()
            if working and self._control.cancel.is_set():
                _, late = await asyncio.wait(working, timeout=_GRACE)
                for worker in late:
                    worker.cancel()
                await asyncio.gather(*working, return_exceptions=True)
                return

    async def _work(self, rows: _Rows, put: Callable[[int, Grade], None]) -> None:
        while not self._control.cancel.is_set() and self._over is None:
            row, made = await rows.next()
            if made is None or self._control.cancel.is_set() or self._over is not None:
                return
            put(row, await self._grade(made))

    async def _grade(self, made: Sample | str) -> Grade:
        if isinstance(made, str):
            return Grade.failed(ErrorKind.SAMPLE, made)
        return await self._grader.grade(made)

    def _put(self, row: int, grade: Grade) -> None:
        self._told(self._kept(self._grades.put, row, grade))

    @staticmethod
    def _kept(put: Callable[[int, Grade], None], row: int, grade: Grade) -> Grade:
        """Put a grade away; a failed one in its place where somebody's own has odd numbers."""
        try:
            put(row, grade)
        except (TypeError, ValueError, OverflowError) as error:
            grade = Grade.failed(ErrorKind.RUNTIME, f"{type(error).__name__}: {error}"[:300])
            put(row, grade)
        return grade

    def _told(self, grade: Grade) -> None:
        """Count a row, and end the run where its grade says so."""
        self._over = self._over or self._ends(grade)
        self._done, self._failed = self._done + 1, self._failed + (grade.error is not None)
        if self._control.on_rows:
            self._control.on_rows(self._done, self._failed)


class _Rows:
    """Hands out a dataset's rows to whoever asks, made a few hundred at a time on a worker thread."""

    def __init__(self, samples: Samples) -> None:
        self._samples = samples
        self._at = 0
        self._made: Iterator[tuple[int, Sample | str]] = iter(())
        self._lock = asyncio.Lock()

    async def next(self) -> tuple[int, Sample | str | None]:
        """The next row and its sample, or why it has none; None after the last row."""
        if (found := next(self._made, None)) is not None:
            return found
        async with self._lock:
            if (found := next(self._made, None)) is not None:
                return found
            part = range(self._at, min(self._at + _AT_ONCE, len(self._samples)))
            if not part:
                return self._at, None
            made = await asyncio.to_thread(made_samples, self._samples, part)
            self._at, self._made = part.stop, zip(part, made, strict=True)
            return next(self._made)


def made_samples(samples: Samples, rows: range) -> list[Sample | str]:
    """The samples of some rows, made together; for a row that cannot be read, why."""
    part = samples[rows.start : rows.stop]
    built = part._build()  # noqa: SLF001 (one pass for threads and faults; samples[i] builds a frame a row)
    part._faults = built.faults  # noqa: SLF001 (else `problems` would build them again)
    problems = part.problems
    columns = zip(part.ids, built.wires, part.references, part.groups, strict=True)
    return [
        problems[at] if at in problems else Sample(name, StringThread.from_wire(wire), reference, group)
        for at, (name, wire, reference, group) in enumerate(columns)
    ]
