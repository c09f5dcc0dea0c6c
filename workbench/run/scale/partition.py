"""Grading of one partition in a worker of a cluster, and the return of its grades."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from workbench.core.grades import Grades
from workbench.core.progress import Progress
from workbench.data.samples import Samples
from workbench.graders.combine import Entry
from workbench.judges.asking.budget import Budget
from workbench.judges.asking.judge_run import JudgeRun
from workbench.judges.asking.spending import Spending
from workbench.report.grades_table import grades_of_record, records
from workbench.run.scale.plan import Plan, with_concurrency
from workbench.run.suite_run import Run, RunSettings, open_run_store

__all__ = ["PartitionGrades", "PartitionTask", "Stop", "grade_partition", "share_of"]

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
        passes: By the grader's name, the records of its grades for each repeat; see `records`.
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
