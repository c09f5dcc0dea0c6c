"""Somebody else's functions: each in one of a few threads, and a fresh thread for one that is left to its function."""

from __future__ import annotations

import asyncio
import inspect
import os
import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from contextvars import ContextVar, copy_context
from typing import Any, Generic, TypeVar

from workbench.user_functions.late import LateError, as_held, refuse_beyond

__all__ = ["threaded"]

T = TypeVar("T")

_THREADS = min(32, (os.cpu_count() or 1) + 4)
"""Functions of one level under way at once, as in asyncio's own executor."""
_LEFT = 256
"""Threads of one level left to functions that still run; beyond them no fresh one is started."""
_LEVELS = 8
"""How deep functions may call each other through the workbench."""

_level: ContextVar[int] = ContextVar("_level", default=0)


async def threaded(work: Callable[[], T], seconds: float | None = None) -> T:
    """Await a function that runs in a thread, in the caller's context.

    A thread whose function is late, or no longer awaited, takes no more of them: a fresh one does. A coroutine that
    it returns then is closed. Functions that such a function calls through the workbench, and waits for, have
    threads of their own.

    Args:
        work: The function.
        seconds: The most it may take from its beginning; None for no limit.

    Raises:
        LateError: It took longer. It goes on.
        TimeoutError: It was not begun: too many threads are left to functions that were late.
        RuntimeError: It was not begun: the machine has no thread for it, or functions call each other too deep.
    """
    level = _level.get()
    if level >= len(_pools):
        raise RecursionError(f"functions call each other through the workbench, more than {_LEVELS} deep")
    pool, job = _pools[level], _Job(work, level)
    begun, ended = asyncio.wrap_future(job.begun), asyncio.wrap_future(job.ended)
    either: set[asyncio.Future[Any]] = {begun, ended}
    pool.take(job)
    try:
        await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
        await asyncio.wait({ended}, timeout=seconds)
    except BaseException:
        _leave(pool, job, ended)
        raise
    if not ended.done():
        _leave(pool, job, ended)
        raise LateError(blocked=False)
    return ended.result()


def _leave(pool: _Pool, job: _Job[Any], ended: asyncio.Future[Any]) -> None:
    pool.leave(job)
    job.ended.add_done_callback(_close)
    if not ended.cancel():
        ended.exception()  # nobody reads it any more


class _Job(Generic[T]):
    """A function that is to run in a thread, and what is told of it."""

    def __init__(self, work: Callable[[], T], level: int) -> None:
        self.work, self.context = work, copy_context()
        self.context.run(_level.set, level + 1)
        self.begun: Future[None] = Future()
        self.ended: Future[T] = Future()
        self.ended.set_running_or_notify_cancel()  # who stops waiting does not end it

    def go(self) -> None:
        """Run it; whatever it ends with is told."""
        self.begun.set_result(None)
        try:
            self.ended.set_result(self.context.run(self.work))
        except BaseException as error:  # noqa: BLE001 (told to who waits)
            self.ended.set_exception(as_held(error))


class _Pool:
    """Threads for the functions of one level. Those they wait for are of the next: none waits for its own thread."""

    def __init__(self) -> None:
        self._lock = threading.Condition()
        self._jobs: deque[_Job[Any]] = deque()
        self._hands: set[_Hand] = set()
        self._left: set[_Hand] = set()
        self._idle = 0

    def take(self, job: _Job[Any]) -> None:
        """Run a job, or fail it."""
        with self._lock:
            self._jobs.append(job)
            self._lock.notify()
            self._hire()

    def _hire(self) -> None:
        """Start a thread where jobs wait and there is room; where nobody will take them, they fail."""
        if len(self._jobs) <= self._idle or len(self._hands) >= _THREADS:
            return
        try:
            refuse_beyond(_LEFT, len(self._left))
            hand = _Hand(self)
            hand.start()
            self._hands.add(hand)
        except Exception as error:  # noqa: BLE001 (told to who waits)
            while self._jobs and not self._hands:
                self._jobs.popleft().ended.set_exception(error)

    def leave(self, job: _Job[Any]) -> None:
        """Take a job back, or give up the thread that runs it."""
        with self._lock:
            if job in self._jobs:
                self._jobs.remove(job)
                return
            left = {hand for hand in self._hands if hand.job is job}
            self._hands -= left
            self._left |= left
            self._hire()

    def next_for(self, hand: _Hand) -> _Job[Any] | None:
        """The next job of a thread that is ready for it; None if it was given up."""
        with self._lock:
            hand.job = None
            if hand in self._left:
                self._left.discard(hand)
                self._hire()  # there may have been too many
                return None
            while not self._jobs:
                self._idle += 1
                self._lock.wait()
                self._idle -= 1
            hand.job = self._jobs.popleft()
            return hand.job


class _Hand(threading.Thread):
    """A thread that takes one job after the other until it is given up."""

    def __init__(self, pool: _Pool) -> None:
        super().__init__(name="workbench-hand", daemon=True)
        self.pool = pool
        self.job: _Job[Any] | None = None

    def run(self) -> None:
        """See `threading.Thread`."""
        while (job := self.pool.next_for(self)) is not None:
            job.go()
            del job  # an idle thread holds nobody's row


def _close(ended: Future[Any]) -> None:
    """Close a coroutine that came too late to be awaited: else Python complains."""
    if not ended.exception() and inspect.iscoroutine(made := ended.result()):
        made.close()


_pools = tuple(_Pool() for _ in range(_LEVELS))


def _after_fork() -> None:
    """A fork has our module and not our threads; a lock some other thread held stays locked for ever."""
    global _pools  # noqa: PLW0603 (a fresh lock is the point)
    _pools = tuple(_Pool() for _ in range(_LEVELS))


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
