"""Partitions for the workers of a cluster: a limited number at a time, each with a part of the budget."""

from __future__ import annotations

import json
import math
import sys
import time
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, Generic, TypeVar
from urllib.parse import urlsplit

from workbench.core import background
from workbench.core.errors import ReportError, WorkbenchError
from workbench.core.progress import OnProgress, Progress
from workbench.data.samples import Samples
from workbench.graders import Grader
from workbench.graders.combine import Entry
from workbench.graders.serialization import parts
from workbench.judges.budget import Budget
from workbench.judges.judge_run import JudgeRun
from workbench.judges.kinds import Judge
from workbench.judges.openai_client import OpenAIClient
from workbench.run.suite_run import asks_model


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


_TICK_SECONDS = 0.1
_AHEAD = 2
"""Partitions sent per thread of the cluster if no model is used: one to grade, one to follow."""
_END_SECONDS = 10.0
"""Seconds that running partitions have to return their grades once the run must stop."""
_NOTHING = 1e-9
"""Remainder of an exhausted budget: too little for any request, where 0 would mean no limit."""

Work = TypeVar("Work")


def cluster_of(samples: Samples) -> Any:
    """The client of the cluster on which Dask would compute these samples.

    Returns:
        None if they are not a whole Dask frame, or Dask computes in this process.
    """
    if samples.dask_columns is None or "distributed" not in sys.modules:
        return None
    from dask.base import get_scheduler
    from distributed import Client

    scheduler: Any = get_scheduler  # has no types
    client = getattr(scheduler(), "__self__", None)
    return client if isinstance(client, Client) else None


@dataclass(frozen=True)
class Sent(Generic[Work]):
    """A partition assigned to a worker.

    Attributes:
        work: Its task.
        budget: Its part of the budget.
    """

    work: Work
    budget: Budget | None


class PartitionQueue(ABC, Generic[Work]):
    """Sends partitions to the workers of a cluster and processes their results.

    The concurrency limit of a judge's client is divided among the partitions that are graded at the same time. Each gets
    a part of the budget, whose remainder goes to later partitions. A partition whose worker dies is retried
    elsewhere.

    Args:
        client: Of the cluster.
        entries: The graders.
        judge_run: Counts what was spent.
        stop: Name of the `distributed.Event` that stops running partitions.
        total: Number of grades.
    """

    def __init__(
        self, client: Any, entries: tuple[Entry, ...], judge_run: JudgeRun, stop: str, total: int
    ) -> None:
        self._client, self._entries, self._judge_run = client, entries, judge_run
        self._stop, self._total = stop, total
        self._judges = {entry.name for entry in entries if asks_model(entry)}
        self._budget = judge_run.spending.budget
        self._done = self._failed = 0
        self._start = time.monotonic()
        self.tasks = self._tasks_at_once()

    @abstractmethod
    def _waiting(self) -> Iterator[Work]:
        """The tasks, in order."""

    @abstractmethod
    def _send(self, work: Work, budget: Budget | None) -> Any:
        """Submit a partition to the cluster; returns its future."""

    @abstractmethod
    def _take(self, work: Work, future: Any) -> None:
        """Process a partition's result: its future's value or error."""

    def _affordable(self, work: Work) -> Work | None:
        """The remaining task of a partition once the budget is exhausted; None for nothing."""
        return work

    def _tasks_at_once(self) -> int:
        """Maximum running partitions: the cluster's threads, and at most a client's concurrency limit."""
        threads = sum(self._client.nthreads().values()) or 1
        if not self._judges:
            return int(_AHEAD * threads)
        graders = [part for entry in self._entries for part in parts(entry.grader)]
        clients = [part.chat_client() for part in graders if isinstance(part, Judge)]
        limits = [client.concurrency for client in clients if isinstance(client, OpenAIClient)]
        return int(min([threads, *limits]))

    def work_off(self, listen: OnProgress) -> bool:
        """Grade all partitions.

        Args:
            listen: Receives progress; if it returns False, the run stops.

        Returns:
            Whether it was stopped.
        """
        waiting = deque(self._waiting())
        sent: dict[Any, Sent[Work]] = {}
        stopped = False
        try:
            while waiting or sent:
                self._send_some(waiting, sent)
                for future in self._ended(sent):
                    self._receive(sent.pop(future), future)
                if self._report_progress(listen) is False and (waiting or sent):
                    stopped = True
                    break
        except KeyboardInterrupt:
            stopped = True
        with background.uninterrupted():
            self._end(sent)
        return stopped

    def _send_some(self, waiting: deque[Work], sent: dict[Any, Sent[Work]]) -> None:
        while waiting and len(sent) < self.tasks:
            budget = self._part_of_budget(sent.values())
            is_spent = budget is not None and _is_spent(budget)
            if is_spent and sent:
                return  # the remainder of the running ones is for the next
            work: Work | None = waiting.popleft()
            work = self._affordable(work) if is_spent and work is not None else work
            if work is not None:
                sent[self._send(work, budget)] = Sent(work, budget)

    def _part_of_budget(self, sent: Collection[Sent[Work]]) -> Budget | None:
        """An equal share of the unspent and unreserved budget for each partition that may still start or is running."""
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
            part = max(limit - spent - given, 0) / (self.tasks - len(sent))
            limits[name] = max(part if name == "money" else math.ceil(part), _NOTHING)
        return Budget(**limits)

    def _receive(self, sent: Sent[Work], future: Any) -> None:
        self._take(sent.work, future)
        future.release()

    def _count(
        self, spent: tuple[int, float, float, int], store_errors: list[str], *, share_spent: bool
    ) -> None:
        """Count what a partition has spent: calls, tokens, US dollars and cache hits."""
        spending = self._judge_run.spending
        spending.add(*spent)
        spending.any_share_spent = spending.any_share_spent or share_spent
        self._judge_run.store_errors += store_errors

    def _end(self, sent: dict[Any, Sent[Work]]) -> None:
        """Stop running partitions, and store what they have graded."""
        if not sent:
            return
        from distributed import Event

        event: Any = Event
        event(self._stop, client=self._client).set()
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
        spending = self._judge_run.spending
        return listen(Progress(
            grader=f"{len(self._entries)} graders" if len(self._entries) > 1 else self._entries[0].name,
            done=self._done,
            failed=self._failed,
            total=self._total,
            seconds=time.monotonic() - self._start,
            money=spending.money,
            tokens=spending.tokens,
            kept=spending.from_store,
        ))  # fmt: skip


def _is_spent(budget: Budget) -> bool:
    return any(
        limit is not None and limit <= _NOTHING for limit in (budget.money, budget.tokens, budget.calls)
    )
