"""A thread that cleans up after runs: ending a worker frees its memory, which is slow."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from queue import SimpleQueue

__all__ = ["CleanupThread", "no_interrupts"]

Job = tuple[Callable[..., object], tuple[object, ...], "Future[None]"]


class CleanupThread:
    """Runs jobs in order on a separate thread, started with the first job.

    `SimpleQueue.put` is safe in a finalizer, which may run at any point; a lock of this package is not.
    """

    def __init__(self) -> None:
        self._jobs: SimpleQueue[Job | None] = SimpleQueue()
        self._thread: threading.Thread | None = None
        self._owner = 0

    def later(self, work: Callable[..., object], *args: object) -> Future[None]:
        """Run a job soon. Only the future's `result` raises its errors."""
        if (
            self._owner != os.getpid()
        ):  # first job in this process, or after a fork, whose jobs belong to the parent
            self._jobs, self._owner, self._thread = SimpleQueue(), os.getpid(), None
        future = self.post(work, *args)
        if self._thread is None:
            self._begin()
        return future

    def _begin(self) -> None:
        thread = threading.Thread(target=_work, args=(self._jobs,), name="workbench-janitor", daemon=True)
        try:
            thread.start()
        except (
            RuntimeError
        ):  # since Python 3.12 no thread can start during interpreter shutdown: run the jobs here
            self._jobs.put(None)
            _work(self._jobs)
        else:
            self._thread = thread

    def post(self, work: Callable[..., object], *args: object) -> Future[None]:
        """Queue a job without starting the thread: for finalizers."""
        future: Future[None] = Future()
        self._jobs.put((work, args, future))
        return future

    def close(self) -> None:
        """Finish the queued jobs and end the thread."""
        thread, self._thread = self._thread, None
        if thread is not None and self._owner == os.getpid() and thread is not threading.current_thread():
            self._jobs.put(None)
            thread.join()


@contextlib.contextmanager
def no_interrupts() -> Iterator[None]:
    """Guards process shutdown at exit: an interrupt would leave it incomplete and print an internal traceback."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        if before is not None:
            signal.signal(signal.SIGINT, before)


def _work(jobs: SimpleQueue[Job | None]) -> None:
    while (job := jobs.get()) is not None:
        work, args, future = job
        try:
            work(*args)
        except Exception as error:  # noqa: BLE001 (raised again by the future's `result`)
            future.set_exception(error)
        else:
            future.set_result(None)
        del work, args, future, job  # a waiting thread must not keep a dataset alive
