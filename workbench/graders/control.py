"""Communication between a run and its caller, and checkpoints of grades during the run."""

from __future__ import annotations

import threading
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from typing import Protocol, Self

import numpy as np
from numpy.typing import NDArray

from workbench.core.grades import MISSING, Grades
from workbench.data.samples import Samples
from workbench.sandbox.host.limits import weakest

__all__ = ["Checkpoint", "Control", "concat_grades", "grade_missing"]


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
