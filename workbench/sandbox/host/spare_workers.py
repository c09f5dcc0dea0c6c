"""Workers that are started before they are needed, so that a run waits for none.

A spare worker was forked from the zygote like any other: it has confined and tested itself, and nothing of a grader has run
in it. It differs from a worker that is started on demand only in when it was started. It serves one grader and is ended.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass

from workbench.sandbox.host.worker import Worker, WorkerLostError, readable

MAX_SPARE_WORKERS = 4
"""Maximum spare workers that map no dataset: 3 MB of memory and four descriptors each."""


@dataclass(frozen=True)
class SpareKind:
    """What a worker is fixed to when it starts.

    Attributes:
        memory_mb: Its grader's memory limit. Times are sent with each command.
        serial: Number of the dataset that it maps; None if rows are sent with each command.
    """

    memory_mb: float
    serial: int | None = None


class SpareWorkers:
    """Spare workers of one memory limit: for the latest dataset, and for rows that are sent with each command."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._waiting: dict[SpareKind, list[Worker]] = {}

    @property
    def workers(self) -> list[Worker]:
        """All that wait."""
        with self._lock:
            return [worker for workers in self._waiting.values() for worker in workers]

    def count(self, kind: SpareKind) -> int:
        """Number of spare workers of a kind."""
        with self._lock:
            return len(self._waiting.get(kind, ()))

    def fill(self, kind: SpareKind, count: int, start: Callable[[], Worker]) -> None:
        """Start workers of a kind until this number waits; they are not ready yet.

        Those of another dataset and of another memory limit are ended.

        Args:
            kind: What to start.
            count: Number of them.
            start: Starts one, without waiting until it is ready.
        """
        for other in list(self._waiting):
            if other.memory_mb != kind.memory_mb or (
                kind.serial is not None and other.serial not in (None, kind.serial)
            ):
                self.drop(other)
        while self.count(kind) < count:
            worker = start()
            with self._lock:
                self._waiting.setdefault(kind, []).append(worker)

    def take(self, kind: SpareKind, *, library: bool) -> Worker | None:
        """A worker of a kind, which now belongs to the caller; None if there is none.

        Args:
            kind: What is needed.
            library: Whether its grader needs all of the standard library that graders may import.
        """
        with self._lock:
            workers = self._waiting.get(kind, [])
            for index, worker in enumerate(workers):
                if worker.has_library or not library:
                    return workers.pop(index)
        return None

    def drop(self, kind: SpareKind | None = None) -> None:
        """End the workers of a kind, or all."""
        with self._lock:
            kinds = list(self._waiting) if kind is None else [kind]
            dropped = [worker for each in kinds for worker in self._waiting.pop(each, [])]
        for worker in dropped:
            worker.close()

    def drop_dataset(self, serial: int) -> None:
        """End the workers that map a dataset."""
        for kind in list(self._waiting):
            if kind.serial == serial:
                self.drop(kind)

    def forget(self) -> None:
        """In a forked process: close the descriptors of the parent's workers, and leave these running."""
        self._lock = threading.Lock()  # another thread of the parent may have had the lock
        for workers in self._waiting.values():
            for worker in workers:
                worker.forget()
        self._waiting.clear()


def is_ready(worker: Worker) -> bool:
    """Wait until a spare worker is ready; False, after ending it, if it was ended from outside."""
    try:
        worker.await_ready()
        is_alive = not readable([worker], 0)  # after its first frame it sends nothing by itself
    except WorkerLostError:
        is_alive = False
    if not is_alive:
        worker.close()
    return is_alive


class Prepared:
    """One worker, once it has started; a caller that cannot wait for it starts its own.

    Args:
        start: Starts it.
        discard: Takes it if it is not used.
    """

    def __init__(self, start: Callable[[], Worker | None], discard: Callable[[Worker], object]) -> None:
        self._start, self._discard = start, discard
        self._lock = threading.Lock()
        self._worker: Worker | None = None
        self._is_wanted = True

    def begin(self) -> None:
        """Start it, unless it was discarded. To be called on another thread than `take`."""
        with self._lock:
            if self._is_wanted:
                self._worker = self._start()

    def take(self) -> Worker | None:
        """Take over the worker; None if it was not started yet. Waits for a running start."""
        with self._lock:
            self._is_wanted = False
            worker, self._worker = self._worker, None
            return worker

    def close(self) -> None:
        """Discard it if it was not taken."""
        if (worker := self.take()) is not None:
            self._discard(worker)
