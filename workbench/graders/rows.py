"""A run over rows, one at a time and many at once: what graders do that have no better way of their own."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from typing import Protocol

from workbench.columns import Grades
from workbench.grade import ErrorKind, Grade, GradeError
from workbench.samples import Sample, Samples
from workbench.thread import StringThread

__all__ = ["Control", "RowRun", "made_samples"]

_AT_ONCE = 256
"""Rows whose samples are made together: one alone costs as much as a hundred of them."""
_LOOK = 0.05
"""Seconds between two looks whether the run is to stop."""
_GRACE = 2.0
"""Seconds that rows under way have to end once the run is to stop."""


class Control:
    """A run's two wires: news out, a stop in.

    Args:
        on_rows: Called with (rows done, rows failed) of the grader at work.
        workers: Sandbox processes to use; None for the default.
    """

    def __init__(
        self, on_rows: Callable[[int, int], None] | None = None, *, workers: int | None = None
    ) -> None:
        self.on_rows = on_rows
        self.workers = workers
        self.cancel = threading.Event()

    def part(self, on_rows: Callable[[int, int], None] | None = None) -> Control:
        """The same run's wires for a part of a grader: its stop is heard, its news go to `on_rows` alone."""
        part = Control(on_rows, workers=self.workers)
        part.cancel = self.cancel
        return part


class RowGrader(Protocol):
    """What a run needs of a grader. See `Grader`."""

    @property
    def at_once(self) -> int: ...

    def ends_run(self) -> Callable[[Grade], GradeError | None]: ...

    async def grade_one(self, sample: Sample) -> Grade: ...


class RowRun:
    """One grader over all rows.

    Rows under way when the run is stopped have two seconds to end; then they are given up.
    """

    def __init__(self, grader: RowGrader, samples: Samples, control: Control) -> None:
        self._grader, self._samples, self._control = grader, samples, control
        self._grades = Grades.empty(len(samples))
        self._rows = _Rows(samples)
        self._ends = grader.ends_run()
        self._over: GradeError | None = None
        self._done = self._failed = 0

    async def go(self) -> Grades:
        """The grades; rows that were not reached are failed."""
        at_once = min(self._grader.at_once, len(self._samples))
        workers = [asyncio.ensure_future(self._work()) for _ in range(at_once)]
        try:
            await self._watch(set(workers))
        finally:
            for worker in workers:
                worker.cancel()
        if self._over is not None:
            self._grades.finish(self._over.kind, self._over.message)
        self._grades.finish()
        return self._grades

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

    async def _work(self) -> None:
        while not self._control.cancel.is_set() and self._over is None:
            row, made = await self._rows.next()
            if made is None or self._control.cancel.is_set() or self._over is not None:
                return
            self._put(row, await self._grade(made))

    async def _grade(self, made: Sample | str) -> Grade:
        if isinstance(made, str):
            return Grade.failed(ErrorKind.SAMPLE, made)
        return await self._grader.grade_one(made)

    def _put(self, row: int, grade: Grade) -> None:
        try:
            self._grades.put(row, grade)
        except (TypeError, ValueError, OverflowError) as error:  # a grade of somebody's own with odd numbers
            grade = Grade.failed(ErrorKind.RUNTIME, f"{type(error).__name__}: {error}"[:300])
            self._grades.put(row, grade)
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
