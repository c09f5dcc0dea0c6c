"""A run over the partitions of a Dask DataFrame in the workers of a cluster: each partition is graded where it is."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from workbench.core import background
from workbench.core.display_text import one_line
from workbench.core.grade import ErrorKind
from workbench.core.grades import MISSING, Grades
from workbench.core.progress import OnProgress, Progress
from workbench.data.samples import Samples
from workbench.data.samples.columns import every_role
from workbench.data.samples.frame_columns import DaskColumns
from workbench.graders.combine import Entry
from workbench.graders.repeats import reduce_repeats
from workbench.graders.rows import concat_grades
from workbench.judges.budget import Budget
from workbench.judges.judge_run import JudgeRun
from workbench.judges.spending import Spending
from workbench.report.grades_table import grades_of_record, records
from workbench.run.queue import PartitionQueue, Plan, shared_address, with_concurrency
from workbench.run.run_file import RunFile, SavedGrades
from workbench.run.suite_run import Run, RunSettings, open_run_store, repeats_of

_STOP_SECONDS = 0.5
"""Seconds between two checks whether the run must stop: each sends a request to the scheduler."""


@dataclass(frozen=True)
class PartitionTask:
    """How a partition is graded.

    Attributes:
        plan: The graders.
        columns: Role to column name, of every role.
        tasks: Partitions that are graded at the same time, which share a client's concurrency limit.
        workers: Sandbox processes.
        repeats: How often every row is graded.
        budget: This partition's part of the budget.
        store: The address of the store of replies.
        stop: The name of the `distributed.Event` that stops the run.
        rows: By the grader's name, positions of the rows to grade; None for all rows by all graders.
        text_chats: The roles whose texts are messages, as decided for the whole dataset.
    """

    plan: Plan
    columns: dict[str, str | None]
    tasks: int
    workers: int
    repeats: int
    budget: Budget | None = None
    store: str | None = None
    stop: str = ""
    rows: Mapping[str, Any] | None = None
    text_chats: frozenset[str] = frozenset()


@dataclass(frozen=True)
class PartitionGrades:
    """The result of a partition: plain data.

    Attributes:
        passes: By the grader's name, the records of its grades for each repeat; see `grades_table.records`.
        notes: Notes for the user.
        spent: Calls, tokens, US dollars and cache hits.
        share_spent: Whether its part of the budget was exhausted.
        store_errors: Why replies could not be stored.
    """

    passes: dict[str, list[list[tuple[str, bytes]]]]
    notes: list[str] = field(default_factory=list)
    spent: tuple[int, float, float, int] = (0, 0.0, 0.0, 0)
    share_spent: bool = False
    store_errors: list[str] = field(default_factory=list)

    def grades(self) -> dict[str, list[Grades]]:
        """The grades by the grader's name, one per started repeat, in the order of its rows."""
        return {
            name: [Grades.joined([grades_of_record(*one) for one in each]) for each in passes]
            for name, passes in self.passes.items()
        }


def grade_partition(frame: pd.DataFrame, task: PartitionTask) -> PartitionGrades:
    """Grade a partition here, with this process's sandbox, event loop and environment."""
    samples = Samples.of_part(frame.reset_index(drop=True), task.columns, text_chats=task.text_chats)
    entries = with_concurrency(task.plan.built(), share_of(task.tasks))
    settings = RunSettings(workers=task.workers, repeats=task.repeats)
    stop, notes = Stop(task.stop), list[str]()
    passes: dict[str, list[list[tuple[str, bytes]]]] = {}
    with open_run_store(task.store) as store:
        judge_run = JudgeRun(Spending(task.budget), None if store is None else store.replies)
        for some, rows in _together(entries, task.rows, len(samples)):
            run = Run(some, samples.take(rows), settings, judge_run, is_part=True)
            run.go(stop)
            notes += run.notes
            numbers = np.arange(len(rows), dtype=np.intp)
            passes |= {
                name: [list(records(numbers, one)) for one in each] for name, each in run.passes.items()
            }
    spending = judge_run.spending
    return PartitionGrades(
        passes,
        [*notes, *judge_run.notes()],
        (spending.calls, spending.tokens, spending.money, spending.from_store),
        spending.any_share_spent,
        list(judge_run.store_errors),
    )


def _together(
    entries: Sequence[Entry], rows: Mapping[str, Any] | None, count: int
) -> Iterator[tuple[tuple[Entry, ...], NDArray[np.intp]]]:
    """Entries that grade the same rows, and these rows."""
    if rows is None:
        yield tuple(entries), np.arange(count, dtype=np.intp)
        return
    groups: dict[bytes, list[Entry]] = {}
    numbers = {name: np.asarray(own, np.intp) for name, own in rows.items()}
    for entry in entries:
        if entry.name in numbers:
            groups.setdefault(numbers[entry.name].tobytes(), []).append(entry)
    for key, some in groups.items():
        yield tuple(some), np.frombuffer(key, np.intp)


class Stop:
    """Listens to a run's progress, and stops it once the event is set: Dask itself cannot end a running task."""

    def __init__(self, name: str) -> None:
        from distributed import Event

        event: Any = Event
        self._event, self._next = event(name), time.monotonic() + _STOP_SECONDS

    def __call__(self, _: Progress) -> bool:
        """Whether the run continues."""
        if time.monotonic() < self._next:
            return True
        self._next = time.monotonic() + _STOP_SECONDS
        return not self._event.is_set()


def share_of(tasks: int) -> Callable[[int], int]:
    """A client's concurrency limit divided by the given number of tasks; at least one."""
    return lambda concurrency: max(1, concurrency // tasks)


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
