"""A run over the partitions of a Dask DataFrame in the workers of a cluster: each grades where its rows are."""

from __future__ import annotations

import math
import sys
import time
import uuid
from collections import deque
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench import background
from workbench.display_text import one_line
from workbench.grade import ErrorKind
from workbench.graders.combine import Entry
from workbench.graders.control import put_together
from workbench.graders.repeats import reduce_repeats
from workbench.grades import MISSING, Grades
from workbench.judges.asking.budget import Budget
from workbench.judges.asking.judge_run import JudgeRun
from workbench.judges.base import Judge
from workbench.judges.client.openai import OpenAIClient
from workbench.progress import OnProgress, Progress
from workbench.run_file import KeptGrades, RunFile
from workbench.samples import Samples
from workbench.samples.columns import ROLES
from workbench.samples.dask_columns import DaskColumns
from workbench.scale.partition import PartitionGrades, PartitionTask, grade_partition
from workbench.scale.plan import Plan, shared_address
from workbench.serialization import parts
from workbench.suite_run import RunSettings, asks_model, repeats_of

__all__ = ["ClusterRun", "cluster_of"]

_TICK_SECONDS = 0.1
_AHEAD = 2
"""Partitions for each thread of the cluster that are sent at a time where no model is asked: one to grade, one to come."""
_END_SECONDS = 10.0
"""Seconds that partitions under way have to hand in what they have graded once the run is to stop."""
_NOTHING = 1e-9
"""What is left of a spent budget: too little for any question, where 0 would be no limit."""


def cluster_of(samples: Samples) -> Any:
    """The client of the cluster on which Dask would compute these samples.

    Returns:
        None where they are no whole Dask frame, or Dask computes in this process.
    """
    if samples.dask_columns is None or "distributed" not in sys.modules:
        return None
    from dask.base import get_scheduler
    from distributed import Client

    scheduler: Any = get_scheduler  # has no types
    client = getattr(scheduler(), "__self__", None)
    return client if isinstance(client, Client) else None


@dataclass(frozen=True)
class _Sent:
    """A partition that a worker has.

    Attributes:
        number: Of the partition.
        rows: By the grader's name, numbers among all rows of those that are graded (m,).
        budget: Its part of the budget.
    """

    number: int
    rows: Mapping[str, NDArray[np.intp]]
    budget: Budget | None


class ClusterRun:
    """One run on a cluster; it answers as `Run` does.

    A worker grades a whole partition by all graders, with one sandbox process and one event loop; what a judge's client may have
    under way is divided among the partitions that are graded at the same time, and each gets a part of the budget, of
    which what it leaves goes to those after it. A partition whose worker dies is graded once more elsewhere.

    Args:
        client: Of the cluster.
        entries: The graders.
        samples: The rows: a whole Dask frame.
        settings: Of the run.
        judge_run: In which is counted what was spent.
        file: Where grades are kept as they come, and those of earlier runs are; None without.

    Attributes:
        planned: Grades to give when the run began.
        passes: Grades by entry name, one a repeat, in the samples' order.
        notes: Sentences about the graders' run that a person should read.

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
        self._client, self._entries, self._samples, self._file = client, entries, samples, file
        self._data: DaskColumns = data
        self._settings, self._judge_run = settings, judge_run
        self._repeats = repeats_of(entries, settings.repeats)
        self._judges = {entry.name for entry in entries if asks_model(entry)}
        self.total = self.planned = len(samples) * sum(self._repeats.values())
        self.passes: dict[str, list[Grades]] = {}
        self.notes: list[str] = []
        self._done = self._failed = 0
        self._start = time.monotonic()
        self._budget = judge_run.spending.budget
        self._tasks = self._tasks_at_once()
        self._task = PartitionTask(
            Plan.of(entries),
            {role: samples.columns.get(role) for role in ROLES},
            self._tasks if self._judges else 1,
            settings.workers or 1,
            settings.repeats,
            store=shared_address(settings.store),
            stop=f"workbench-stop-{uuid.uuid4()}",
        )
        self._new: dict[tuple[str, int], list[tuple[NDArray[np.intp], Grades]]] = {}

    def _tasks_at_once(self) -> int:
        """Partitions under way: as many as the cluster has threads, and as a client may have questions."""
        threads = sum(self._client.nthreads().values()) or 1
        if not self._judges:
            return int(_AHEAD * threads)
        graders = [part for entry in self._entries for part in parts(entry.grader)]
        clients = [part.chat_client() for part in graders if isinstance(part, Judge)]
        limits = [client.concurrency for client in clients if isinstance(client, OpenAIClient)]
        return int(min([threads, *limits]))

    def go(self, listen: OnProgress) -> tuple[dict[str, Grades], bool]:
        """See `Run.go`."""
        self._listen = listen
        waiting = deque(self._partitions())
        sent: dict[Any, _Sent] = {}
        stopped = False
        try:
            while waiting or sent:
                while waiting and len(sent) < self._tasks:
                    budget = self._part_of_budget(sent.values())
                    is_spent = budget is not None and _is_spent(budget)
                    if is_spent and sent:
                        break  # what those under way leave is for the next
                    number, rows = waiting.popleft()
                    rows = self._without_judges(rows) if is_spent else rows
                    if rows:
                        sent[self._send(number, rows, budget)] = _Sent(number, rows, budget)
                for future in self._ended(sent):
                    self._take(sent.pop(future), future)
                if self._report_progress() is False and (waiting or sent):
                    stopped = True
                    break
        except KeyboardInterrupt:
            stopped = True
        with background.uninterrupted():
            self._end(sent)
            self._join()
        grades = {name: reduce_repeats(passes, self._settings.reduce) for name, passes in self.passes.items()}
        return grades, stopped

    def _partitions(self) -> Iterator[tuple[int, dict[str, NDArray[np.intp]]]]:
        """Partitions with the numbers of the rows, by grader, that an earlier run has not graded in each repeat."""
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
                yield number, {name: own for name, own in rows.items() if len(own)}

    def _all_passes(self) -> Iterator[tuple[str, int]]:
        for entry in self._entries:
            for repeat in range(self._repeats[entry.name]):
                yield entry.name, repeat

    def _kept(self, name: str, repeat: int) -> Grades:
        checkpoint = self._checkpoint(name, repeat)
        n = len(self._samples)
        return Grades.empty(n) if checkpoint is None else checkpoint.kept(n)

    def _checkpoint(self, name: str, repeat: int) -> KeptGrades | None:
        return None if self._file is None else self._file.of(name, repeat)

    def _part_of_budget(self, sent: Collection[_Sent]) -> Budget | None:
        """An equal part, for each partition that may yet begin beside those under way, of what is neither spent nor given."""
        if self._budget is None:
            return None
        spending = self._judge_run.spending
        used = {"money": spending.money, "tokens": spending.tokens, "calls": spending.calls}
        limits: dict[str, Any] = {}
        for name, spent in used.items():
            limit = getattr(self._budget, name)
            if limit is None:
                continue
            given = sum(getattr(other.budget, name) for other in sent if other.budget is not None)
            part = max(limit - spent - given, 0) / (self._tasks - len(sent))
            limits[name] = max(part if name == "money" else math.ceil(part), _NOTHING)
        return Budget(**limits)

    def _without_judges(self, rows: Mapping[str, NDArray[np.intp]]) -> dict[str, NDArray[np.intp]]:
        """The rows of graders that ask no model; those of the others fail, since the budget is spent."""
        self._judge_run.spending.any_share_spent = True
        for name in self._judges & rows.keys():
            for repeat in range(self._repeats[name]):
                grades = Grades.empty(len(rows[name]))
                grades.finish(ErrorKind.BUDGET, "the budget is spent")
                self._put(name, repeat, rows[name], grades)
        return {name: own for name, own in rows.items() if name not in self._judges}

    def _send(self, number: int, rows: Mapping[str, NDArray[np.intp]], budget: Budget | None) -> Any:
        from dask.delayed import delayed

        first, last = int(self._data.bounds[number]), int(self._data.bounds[number + 1])
        is_whole = len(rows) == len(self._entries) and all(len(own) == last - first for own in rows.values())
        wanted = None if is_whole else {name: own - first for name, own in rows.items()}
        graded = delayed(grade_partition, pure=False)(
            self._data.part(number), replace(self._task, budget=budget, rows=wanted)
        )
        return self._client.compute(graded, retries=1)

    def _end(self, sent: dict[Any, _Sent]) -> None:
        """Stop partitions that are under way, and take what they have graded."""
        if not sent:
            return
        from distributed import Event

        event: Any = Event
        event(self._task.stop, client=self._client).set()
        until = time.monotonic() + _END_SECONDS
        while sent and time.monotonic() < until:
            for future in self._ended(sent):
                self._take(sent.pop(future), future)
        self._client.cancel(list(sent))

    def _ended(self, sent: Mapping[Any, _Sent]) -> list[Any]:
        """Partitions that are graded, or failed; none where that takes longer than a moment."""
        if not sent:
            return []
        import distributed

        wait: Any = distributed.wait  # has no types
        try:
            return list(wait(list(sent), timeout=_TICK_SECONDS, return_when="FIRST_COMPLETED").done)
        except TimeoutError:
            return []

    def _take(self, sent: _Sent, future: Any) -> None:
        """Put the grades of a partition beside the others, or why there are none."""
        error = future.exception()
        if error is None:
            graded: PartitionGrades = future.result()
            self._count(graded)
            found = graded.grades()
        else:
            found = {name: [_lost(len(rows), sent.number, error)] for name, rows in sent.rows.items()}
        future.release()
        for name, passes in found.items():
            for repeat, grades in enumerate(passes):
                self._put(name, repeat, sent.rows[name], grades)

    def _put(self, name: str, repeat: int, rows: NDArray[np.intp], grades: Grades) -> None:
        """Take new grades of rows of which there are none; a row that lacks a repeat may have been graded in others, too."""
        if self._file is not None:
            is_new = self._kept(name, repeat).codes[rows] == MISSING
            rows, grades = rows[is_new], grades.take(np.flatnonzero(is_new))
        self._new.setdefault((name, repeat), []).append((rows, grades))
        self._done += len(grades)
        self._failed += grades.n_failed
        if (checkpoint := self._checkpoint(name, repeat)) is not None:
            checkpoint.of_rows(rows).add(grades, final=True)

    def _count(self, graded: PartitionGrades) -> None:
        spending = self._judge_run.spending
        spending.add(*graded.spent)
        spending.any_share_spent = spending.any_share_spent or graded.share_spent
        self._judge_run.store_errors += graded.store_errors
        self.notes += [note for note in graded.notes if note not in self.notes]

    def _join(self) -> None:
        """All grades in the samples' order; rows that were not reached are failed, and repeats that nobody began left out."""
        for name, repeat in self._all_passes():
            new = self._new.get((name, repeat), [])
            kept = self._kept(name, repeat)
            if repeat and not new and not (kept.codes != MISSING).any():
                continue
            rest = np.ones(len(self._samples), np.bool_)
            for rows, _ in new:
                rest[rows] = False
            others = np.flatnonzero(rest)
            grades = put_together([(others, kept.take(others)), *new])
            grades.finish()
            self.passes.setdefault(name, []).append(grades)

    def _report_progress(self) -> object:
        now, spending = time.monotonic(), self._judge_run.spending
        progress = Progress(
            grader=f"{len(self._entries)} graders" if len(self._entries) > 1 else self._entries[0].name,
            done=self._done,
            failed=self._failed,
            total=self.total,
            seconds=now - self._start,
            money=spending.money,
            tokens=spending.tokens,
            kept=spending.from_store,
        )
        return self._listen(progress)


def _is_spent(budget: Budget) -> bool:
    return any(
        limit is not None and limit <= _NOTHING for limit in (budget.money, budget.tokens, budget.calls)
    )


def _lost(rows: int, partition: int, error: BaseException) -> Grades:
    grades = Grades.empty(rows)
    found = one_line(f"{type(error).__name__}: {error}")[:300]
    grades.ended = f"partition {partition} was not graded: {found}"
    grades.finish(ErrorKind.SANDBOX, grades.ended)
    return grades
