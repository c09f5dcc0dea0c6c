"""Grading in the workers of a Dask cluster: each partition is graded where it is, a limited number at a time."""

from __future__ import annotations

import json
import math
import time
import uuid
from collections import deque
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from workbench.core import background
from workbench.core.display_text import one_line
from workbench.core.errors import FormatError, ReportError, WorkbenchError
from workbench.core.progress import OnProgress, Progress
from workbench.data.samples import Samples
from workbench.data.samples.columns import every_role
from workbench.graders import Grader
from workbench.graders.combine import Entry
from workbench.graders.serialization import parts
from workbench.judges.budget import Budget
from workbench.judges.judge_run import JudgeRun
from workbench.judges.kinds import Judge
from workbench.judges.openai_client import OpenAIClient
from workbench.report.grades_table import GradeRecords, pack_grades
from workbench.run.part_run import PartedRun, PartRun, RunSettings, asks_model, open_judge_run

_STOP_SECONDS = 0.5
"""Seconds between two checks whether the run must stop: each sends a request to the scheduler."""
_TICK_SECONDS = 0.1
_AHEAD = 2
"""Partitions sent per thread of the cluster if no model is used: one to grade, one to follow."""
_END_SECONDS = 10.0
"""Seconds that running partitions have to return their grades once the run must stop."""
_NOTHING = 1e-9
"""Remainder of an exhausted budget: too little for any request, where 0 would mean no limit."""


@dataclass(frozen=True)
class Plan:
    """The entries of a suite, serialised for another process.

    Attributes:
        spec: The entries as JSON; "" if one has no such form.
        entries: The entries themselves if one has no such form, such as a judge with a user's client: they are pickled.
    """

    spec: str
    entries: tuple[Entry, ...] = ()

    @classmethod
    def of(cls, entries: Sequence[Entry]) -> Plan:
        """The plan for some entries, without keys: each process reads its environment."""
        entries = tuple(entries)
        if any(
            isinstance(part, Judge) and part.client is not None
            for entry in entries
            for part in parts(entry.grader)
        ):
            return cls("", entries)  # a client is not part of a spec
        try:
            spec = json.dumps([entry.spec() for entry in entries])
            if _built(spec) == entries:
                return cls(spec)
        except (WorkbenchError, TypeError, ValueError):
            pass
        return cls("", entries)

    def built(self) -> tuple[Entry, ...]:
        """The entries; built from their spec once per process."""
        return _built(self.spec) if self.spec else self.entries


@lru_cache(maxsize=8)
def _built(spec: str) -> tuple[Entry, ...]:
    return tuple(Entry.build(entry) for entry in json.loads(spec))


def shared_address(store: Any) -> str | None:
    """The address of a store, which each process opens separately.

    Raises:
        ReportError: An open store object, or an address with a password, which would be sent and logged.
    """
    if store is None:
        return None
    if not isinstance(store, str | Path):
        raise ReportError(
            "other processes open the store themselves", found=f"store={type(store).__name__}",
            expected="its address", hint='store="postgresql://user@host/database", or a file that all of them reach',
        )  # fmt: skip
    if urlsplit(str(store)).password:
        raise ReportError(
            "the address of a store must not pass its password to other processes", found="an address with a password",
            expected="postgresql://user@host/database", hint="set PGPASSWORD, or a .pgpass file, on each machine",
        )  # fmt: skip
    return str(store)


def with_concurrency(entries: Sequence[Entry], share: Callable[[int], int]) -> tuple[Entry, ...]:
    """Entries whose judges have another concurrency limit.

    Args:
        entries: Graders, with judges anywhere inside them.
        share: From a client's `concurrency` to the new one.
    """
    return tuple(_changed(entry, share) for entry in entries)


def _changed(value: Any, share: Callable[[int], int]) -> Any:
    if isinstance(value, tuple):
        changed = tuple(_changed(item, share) for item in value)
        return value if all(new is old for new, old in zip(changed, value, strict=True)) else changed
    if not isinstance(value, Entry | Grader) or not is_dataclass(value):
        return value
    changes: dict[str, Any] = {}
    for f in fields(value):
        old = getattr(value, f.name)
        new = _changed(old, share) if f.init else old
        if new is not old:
            changes[f.name] = new
    if isinstance(value, Judge):
        client = value.chat_client()
        if isinstance(client, OpenAIClient):
            changes["client"] = replace(client, concurrency=share(client.concurrency))
    return replace(value, **changes) if changes else value


@dataclass(frozen=True)
class WorkerTask:
    """How a worker of the cluster grades a partition.

    Attributes:
        plan: The graders.
        columns: Role to column name, of every role.
        text_chats: The roles whose texts are messages, as decided for the whole dataset.
        settings: Sandbox processes, repeats and their reducer.
        tasks: Partitions that are graded at the same time, which share a client's concurrency limit.
        store: The address of the store of replies.
        stop: The name of the `distributed.Event` that stops the run.
        budget: This partition's part of the budget.
        grade: Grades the rows and returns plain data: called with samples, entries, settings, the judges' run and a
            listener for progress.
    """

    plan: Plan
    columns: dict[str, str | None]
    text_chats: frozenset[str]
    settings: RunSettings
    tasks: int
    store: str | None
    stop: str
    budget: Budget | None = None
    grade: Callable[..., Any] = field(default=lambda *_: None)


@dataclass(frozen=True)
class WorkerResult:
    """The result of a partition: plain data.

    Attributes:
        value: What became of its grades; an error if the run cannot continue.
        notes: The judges' notes for the user.
        spent: Calls, tokens, US dollars and cache hits.
        share_spent: Whether its part of the budget was exhausted.
        store_errors: Why replies could not be stored.
    """

    value: Any
    notes: list[str]
    spent: tuple[int, float, float, int]
    share_spent: bool
    store_errors: list[str]


def grade_in_worker(frame: pd.DataFrame, task: WorkerTask) -> WorkerResult:
    """Grade a partition in a worker of the cluster, with this process's sandbox, event loop and environment.

    Errors that another attempt would raise again are returned: the cluster would retry, and write each to its log.
    """
    entries = with_concurrency(task.plan.built(), share_of(task.tasks))
    with open_judge_run(task.store, task.budget) as judge_run:
        try:
            samples = Samples.of_part(frame.reset_index(drop=True), task.columns, text_chats=task.text_chats)
            value = task.grade(samples, entries, task.settings, judge_run, Stop(task.stop))
        except (ReportError, FormatError) as error:
            value = error
    spending = judge_run.spending
    return WorkerResult(
        value,
        list(judge_run.notes()),
        (spending.calls, spending.tokens, spending.money, spending.from_store),
        spending.any_share_spent,
        list(judge_run.store_errors),
    )


@dataclass(frozen=True)
class PassRecords:
    """Grades rows of a partition; the result is the records of each grader's passes, and notes.

    Attributes:
        rows: By the grader's name, positions of the rows to grade; None for all rows by all graders.
    """

    rows: Mapping[str, NDArray[np.intp]] | None

    def __call__(
        self,
        samples: Samples,
        entries: tuple[Entry, ...],
        settings: RunSettings,
        judge_run: JudgeRun,
        listen: OnProgress,
    ) -> tuple[dict[str, list[GradeRecords]], list[str]]:
        """Grade; see `WorkerTask.grade`."""
        passes, notes = dict[str, list[GradeRecords]](), list[str]()
        for some, rows in self._together(entries, len(samples)):
            run = PartRun(some, samples.take(rows), settings, judge_run, is_part=True)
            run.go(listen)
            notes += run.notes
            passes |= {name: list(map(pack_grades, own)) for name, own in run.passes.items()}
        return passes, notes

    def _together(
        self, entries: tuple[Entry, ...], count: int
    ) -> Iterator[tuple[tuple[Entry, ...], NDArray[np.intp]]]:
        """Entries that grade the same rows, and these rows."""
        if self.rows is None:
            yield entries, np.arange(count, dtype=np.intp)
            return
        groups: dict[bytes, list[Entry]] = {}
        for entry in entries:
            if entry.name in self.rows:
                groups.setdefault(self.rows[entry.name].tobytes(), []).append(entry)
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
class _Sent:
    """A part assigned to a worker, with its part of the budget."""

    part: Any
    budget: Budget | None


class ClusterQueue:
    """Sends the parts of a run to the workers of a cluster, and adds their results to it.

    A worker grades a whole partition with all graders, with one event loop. The concurrency limit of a judge's client is
    divided among the partitions that are graded at the same time. Each gets a part of the budget, whose remainder goes to
    later partitions. A partition whose worker dies is retried elsewhere.

    Args:
        client: Of the cluster.
        run: What is graded, over a whole Dask frame.

    Raises:
        ReportError: A store that workers cannot open, or an address with a password.
    """

    def __init__(self, client: Any, run: PartedRun[Any]) -> None:
        self._client, self._run = client, run
        self._spending, self._budget = run.judge_run.spending, run.judge_run.spending.budget
        self._error: WorkbenchError | None = None
        self._start = time.monotonic()
        self._asks_models = any(map(asks_model, run.entries))
        self.tasks = self._tasks_at_once()
        settings = run.settings
        self._task = WorkerTask(
            Plan.of(run.entries),
            every_role(run.samples.columns),
            run.samples.text_chats,
            RunSettings(workers=settings.workers or 1, repeats=settings.repeats, reduce=settings.reduce),
            tasks=self.tasks if self._asks_models else 1,
            store=shared_address(settings.store),
            stop=f"workbench-stop-{uuid.uuid4()}",
        )

    def _tasks_at_once(self) -> int:
        """Maximum running partitions: the cluster's threads, and at most a client's concurrency limit."""
        threads = sum(self._client.nthreads().values()) or 1
        if not self._asks_models:
            return int(_AHEAD * threads)
        graders = [part for entry in self._run.entries for part in parts(entry.grader)]
        clients = [part.chat_client() for part in graders if isinstance(part, Judge)]
        limits = [client.concurrency for client in clients if isinstance(client, OpenAIClient)]
        return int(min([threads, *limits]))

    def work_off(self, listen: OnProgress) -> bool:
        """Grade all parts; returns whether the run was stopped.

        Args:
            listen: Receives progress; if it returns False, the run stops.

        Raises:
            WorkbenchError: Why the run cannot continue, from a worker.
        """
        waiting = deque(self._run.parts())
        sent: dict[Any, _Sent] = {}
        stopped = False
        try:
            while waiting or sent:
                self._send_some(waiting, sent)
                for future in self._ended(sent):
                    self._receive(sent.pop(future), future)
                if self._error is not None or (self._report_progress(listen) is False and (waiting or sent)):
                    stopped = True
                    break
        except KeyboardInterrupt:
            stopped = True
        with background.uninterrupted():
            self._end(sent)
        if self._error is not None:
            raise self._error
        return stopped

    def _send_some(self, waiting: deque[Any], sent: dict[Any, _Sent]) -> None:
        while waiting and len(sent) < self.tasks:
            budget = self._part_of_budget(sent.values())
            is_spent = budget is not None and _is_spent(budget)
            if is_spent and sent:
                return  # the remainder of the running ones is for the next
            part = waiting.popleft()
            if is_spent:
                part = self._run.affordable(part)
            if part is not None:
                sent[self._send(part, budget)] = _Sent(part, budget)

    def _send(self, part: Any, budget: Budget | None) -> Any:
        """Submit a part to the cluster; returns its future."""
        from dask.delayed import delayed

        rows, grade = self._run.task(part)
        graded = delayed(grade_in_worker, pure=False)(rows, replace(self._task, budget=budget, grade=grade))
        return self._client.compute(graded, retries=1)

    def _part_of_budget(self, sent: Collection[_Sent]) -> Budget | None:
        """An equal share of the unspent and unreserved budget for each partition that may still start or is running."""
        if self._budget is None:
            return None
        spending = self._spending
        used = {"money": spending.money, "tokens": spending.tokens, "calls": spending.calls}
        limits: dict[str, Any] = {}
        for name, spent in used.items():
            limit = getattr(self._budget, name)
            if limit is None:
                continue
            given = sum(getattr(other.budget, name) for other in sent if other.budget is not None)
            part = max(limit - spent - given, 0) / (self.tasks - len(sent))
            limits[name] = max(part if name == "money" else math.ceil(part), _NOTHING)
        return Budget(**limits)

    def _receive(self, sent: _Sent, future: Any) -> None:
        """Count what a part has spent, and add its result to the run, or why there is none."""
        if (error := future.exception()) is not None:
            self._run.lose(sent.part, one_line(f"{type(error).__name__}: {error}")[:300])
        else:
            result: WorkerResult = future.result()
            self._spending.add(*result.spent)
            self._spending.any_share_spent |= result.share_spent
            self._run.judge_run.store_errors += result.store_errors
            if isinstance(result.value, WorkbenchError):
                self._error = result.value
            else:
                self._run.add(sent.part, result.value)
                self._run.add_notes(result.notes)
        future.release()

    def _end(self, sent: dict[Any, _Sent]) -> None:
        """Stop running partitions, and store what they have graded."""
        if not sent:
            return
        from distributed import Event

        event: Any = Event
        event(self._task.stop, client=self._client).set()
        until = time.monotonic() + _END_SECONDS
        while sent and time.monotonic() < until:
            for future in self._ended(sent):
                self._receive(sent.pop(future), future)
        self._client.cancel(list(sent))

    def _ended(self, sent: Collection[Any]) -> list[Any]:
        """Partitions that are graded, or failed; none if that takes too long."""
        if not sent:
            return []
        import distributed

        wait: Any = distributed.wait  # has no types
        try:
            return list(wait(list(sent), timeout=_TICK_SECONDS, return_when="FIRST_COMPLETED").done)
        except TimeoutError:
            return []

    def _report_progress(self, listen: OnProgress) -> object:
        run, spending = self._run, self._spending
        return listen(Progress(
            grader=f"{len(run.entries)} graders" if len(run.entries) > 1 else run.entries[0].name,
            done=run.done,
            failed=run.failed,
            total=run.planned,
            seconds=time.monotonic() - self._start,
            money=spending.money,
            tokens=spending.tokens,
            kept=spending.from_store,
        ))  # fmt: skip


def _is_spent(budget: Budget) -> bool:
    return any(
        limit is not None and limit <= _NOTHING for limit in (budget.money, budget.tokens, budget.calls)
    )
