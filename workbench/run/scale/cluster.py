"""A run over the partitions of a Dask DataFrame in the workers of a cluster: each partition is graded where it is."""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.core import background
from workbench.core.display_text import one_line
from workbench.core.grade import ErrorKind
from workbench.core.grades import MISSING, Grades
from workbench.core.progress import OnProgress
from workbench.data.samples import Samples
from workbench.data.samples.columns import every_role
from workbench.data.samples.dask_columns import DaskColumns
from workbench.graders.combine import Entry
from workbench.graders.control import concat_grades
from workbench.graders.repeats import reduce_repeats
from workbench.judges.asking.budget import Budget
from workbench.judges.asking.judge_run import JudgeRun
from workbench.run.run_file import RunFile, SavedGrades
from workbench.run.scale.partition import PartitionGrades, PartitionTask, grade_partition
from workbench.run.scale.plan import Plan, shared_address
from workbench.run.scale.queue import PartitionQueue
from workbench.run.suite_run import RunSettings, repeats_of

__all__ = ["ClusterRun"]


@dataclass(frozen=True)
class _PartRows:
    """The rows of a partition that must be graded.

    Attributes:
        number: Of the partition.
        rows: By the grader's name, row indices among all rows (m,).
    """

    number: int
    rows: Mapping[str, NDArray[np.intp]]


class ClusterRun(PartitionQueue[_PartRows]):
    """One run on a cluster, with the interface of `Run`.

    A worker grades a whole partition with all graders, with one sandbox process and one event loop.

    Args:
        client: Of the cluster.
        entries: The graders.
        samples: The rows: a whole Dask frame.
        settings: Of the run.
        judge_run: Counts what was spent.
        file: Stores grades during the run, and has those of earlier runs; None without.

    Attributes:
        planned: Number of grades at the start of the run.
        passes: Grades by entry name, one per repeat, in the samples' order.
        notes: Sentences about the graders' run for the user.

    Raises:
        ReportError: A store that workers cannot open, or an address with a password.
    """

    def __init__(
        self,
        client: Any,
        entries: tuple[Entry, ...],
        samples: Samples,
        settings: RunSettings,
        judge_run: JudgeRun,
        file: RunFile | None = None,
    ) -> None:
        data = samples.dask_columns
        assert data is not None
        self._samples, self._file, self._settings = samples, file, settings
        self._data: DaskColumns = data
        self._repeats = repeats_of(entries, settings.repeats)
        self.total = self.planned = len(samples) * sum(self._repeats.values())
        self.passes: dict[str, list[Grades]] = {}
        self.notes: list[str] = []
        stop = f"workbench-stop-{uuid.uuid4()}"
        super().__init__(client, entries, judge_run, stop, self.total)
        self._task = PartitionTask(
            Plan.of(entries),
            every_role(samples.columns),
            self.tasks if self._judges else 1,
            settings.workers or 1,
            settings.repeats,
            store=shared_address(settings.store),
            stop=stop,
            text_chats=samples.text_chats,
        )
        self._new: dict[tuple[str, int], list[tuple[NDArray[np.intp], Grades]]] = {}

    def go(self, listen: OnProgress) -> tuple[dict[str, Grades], bool]:
        """Grades by entry name, reduced from the repeats, and whether the run was interrupted."""
        stopped = self.work_off(listen)
        with background.uninterrupted():
            self._join()
        grades = {name: reduce_repeats(passes, self._settings.reduce) for name, passes in self.passes.items()}
        return grades, stopped

    def _waiting(self) -> Iterator[_PartRows]:
        """Partitions with the row indices, by grader, that an earlier run has not graded in each repeat."""
        missing = {entry.name: np.zeros(len(self._samples), np.bool_) for entry in self._entries}
        for name, repeat in self._all_passes():
            is_kept = self._kept(name, repeat).codes != MISSING
            missing[name] |= ~is_kept
            self._done += int(is_kept.sum())
        if self._file is not None and self._done:
            self.notes.append(self._file.kept_note(self._done, self.planned))
        for number, (first, last) in enumerate(pairwise(self._data.bounds)):
            rows = {name: first + np.flatnonzero(own[first:last]) for name, own in missing.items()}
            if any(map(len, rows.values())):
                yield _PartRows(number, {name: own for name, own in rows.items() if len(own)})

    def _all_passes(self) -> Iterator[tuple[str, int]]:
        for entry in self._entries:
            for repeat in range(self._repeats[entry.name]):
                yield entry.name, repeat

    def _kept(self, name: str, repeat: int) -> Grades:
        checkpoint = self._checkpoint(name, repeat)
        n = len(self._samples)
        return Grades.empty(n) if checkpoint is None else checkpoint.kept(n)

    def _checkpoint(self, name: str, repeat: int) -> SavedGrades | None:
        return None if self._file is None else self._file.of(name, repeat)

    def _affordable(self, work: _PartRows) -> _PartRows | None:
        """The rows of graders without a model; those of the others fail, since the budget is exhausted."""
        self._judge_run.spending.any_share_spent = True
        for name in self._judges & work.rows.keys():
            for repeat in range(self._repeats[name]):
                grades = Grades.empty(len(work.rows[name]))
                grades.finish(ErrorKind.BUDGET, "the budget is exhausted")
                self._put(name, repeat, work.rows[name], grades)
        left = {name: own for name, own in work.rows.items() if name not in self._judges}
        return _PartRows(work.number, left) if left else None

    def _send(self, work: _PartRows, budget: Budget | None) -> Any:
        from dask.delayed import delayed

        number, rows = work.number, work.rows
        first, last = int(self._data.bounds[number]), int(self._data.bounds[number + 1])
        is_whole = len(rows) == len(self._entries) and all(len(own) == last - first for own in rows.values())
        wanted = None if is_whole else {name: own - first for name, own in rows.items()}
        graded = delayed(grade_partition, pure=False)(
            self._data.part(number), replace(self._task, budget=budget, rows=wanted)
        )
        return self._client.compute(graded, retries=1)

    def _take(self, work: _PartRows, future: Any) -> None:
        """Add the grades of a partition to the others, or why there are none."""
        error = future.exception()
        if error is None:
            graded: PartitionGrades = future.result()
            self._count(graded.spent, graded.store_errors, share_spent=graded.share_spent)
            self.notes += [note for note in graded.notes if note not in self.notes]
            found = graded.grades()
        else:
            found = {name: [_lost(len(rows), work.number, error)] for name, rows in work.rows.items()}
        for name, passes in found.items():
            for repeat, grades in enumerate(passes):
                self._put(name, repeat, work.rows[name], grades)

    def _put(self, name: str, repeat: int, rows: NDArray[np.intp], grades: Grades) -> None:
        """Store new grades of ungraded rows; a row that lacks one repeat may have been graded in others, too."""
        if self._file is not None:
            is_new = self._kept(name, repeat).codes[rows] == MISSING
            rows, grades = rows[is_new], grades.take(np.flatnonzero(is_new))
        self._new.setdefault((name, repeat), []).append((rows, grades))
        self._done += len(grades)
        self._failed += grades.n_failed
        if (checkpoint := self._checkpoint(name, repeat)) is not None:
            checkpoint.of_rows(rows).add(grades, final=True)

    def _join(self) -> None:
        """All grades in the samples' order; rows that were not reached are failed, and repeats not started are omitted."""
        for name, repeat in self._all_passes():
            new = self._new.get((name, repeat), [])
            kept = self._kept(name, repeat)
            if repeat and not new and not (kept.codes != MISSING).any():
                continue
            rest = np.ones(len(self._samples), np.bool_)
            for rows, _ in new:
                rest[rows] = False
            others = np.flatnonzero(rest)
            grades = concat_grades([(others, kept.take(others)), *new])
            grades.finish()
            self.passes.setdefault(name, []).append(grades)


def _lost(rows: int, partition: int, error: BaseException) -> Grades:
    grades = Grades.empty(rows)
    found = one_line(f"{type(error).__name__}: {error}")[:300]
    grades.ended = f"partition {partition} was not graded: {found}"
    grades.finish(ErrorKind.SANDBOX, grades.ended)
    return grades
