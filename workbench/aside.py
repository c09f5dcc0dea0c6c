"""Other people's functions: where they may block without holding up the house.

Coroutines share a loop, functions a few threads, all of them daemons. What does not end in time cannot be stopped: it
is left to itself, and a fresh loop or thread takes its place. Nothing starts at import.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import threading
from collections import deque
from collections.abc import Awaitable, Callable
from concurrent.futures import Future
from contextvars import copy_context
from typing import Any, Generic, TypeVar

__all__ = ["LateError", "awaited", "threaded"]

T = TypeVar("T")

_PATIENCE = 0.5
"""Seconds within which a loop answers that nobody blocks."""
_GRACE = 2.0
"""Seconds that a coroutine has to end once it was cancelled; then it is left to itself."""
_THREADS = min(32, (os.cpu_count() or 1) + 4)
"""Functions under way at once, as in asyncio's own executor."""

_lock = threading.Condition()
_side: _Side | None = None
_pending: deque[_Call[Any]] = deque()
_jobs: deque[_Job[Any]] = deque()
_hands: set[_Hand] = set()
_idle = 0


def _after_fork() -> None:
    """A fork has our module and not our threads; a lock some other thread held stays locked for ever."""
    global _lock, _side, _idle
    _lock, _side, _idle = threading.Condition(), None, 0
    for held in (_pending, _jobs, _hands):
        held.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


class LateError(TimeoutError):
    """What one waited for did not end in time.

    Attributes:
        blocked: Whether its loop was blocked, by it or by what ran beside it.
    """

    def __init__(self, *, blocked: bool) -> None:
        super().__init__("the event loop was blocked" if blocked else "not ended in time")
        self.blocked = blocked


async def awaited(work: Callable[[], Awaitable[T]], seconds: float | None = None) -> T:
    """Await somebody else's coroutine on a loop where it may block without holding up the house.

    All share one loop in a daemon thread, so that what is bound to a loop (clients, semaphores) serves every call.
    A loop that does not answer when a call is late or cancelled gets no more calls: a fresh one serves those that
    have not begun. The old one ends when the last coroutine on it does.

    Args:
        work: Makes the coroutine, on that loop and in the caller's context.
        seconds: The most it may take from its beginning; None for no limit. Then it is cancelled.

    Raises:
        LateError: It took longer.
    """
    call = _Call(work)
    ended = asyncio.wrap_future(call.ended)
    _queue(call)
    try:
        await _begun(call, seconds)
        await asyncio.wait({ended}, timeout=seconds)
    except asyncio.CancelledError:
        await _cut(call, ended)
        raise
    if not ended.done():
        raise LateError(blocked=await _cut(call, ended))
    return ended.result()


class _Call(Generic[T]):
    """A coroutine that is to run here, and what is told of it."""

    def __init__(self, work: Callable[[], Awaitable[T]]) -> None:
        self.work, self.context = work, copy_context()
        self.begun: Future[_Side] = Future()
        self.ended: Future[T] = Future()
        self.ended.set_running_or_notify_cancel()  # who stops waiting does not end it
        self.task: asyncio.Task[None] | None = None

    async def go(self, begin_next: Callable[[], object]) -> None:
        """Run it; whatever it ends with is told."""
        asyncio.get_running_loop().call_soon(begin_next)
        try:
            self.ended.set_result(await self.work())
        except BaseException as error:  # noqa: BLE001 (a SystemExit would end the loop, and with it the rows beside)
            self.ended.set_exception(_told(error))


class _Side:
    """A loop in a thread of its own that takes calls one after the other until it is given up."""

    def __init__(self) -> None:
        self.given_up, self._under_way, self._beginning = False, 0, False
        self._ready: Future[asyncio.AbstractEventLoop] = Future()
        self.thread = threading.Thread(
            target=lambda: asyncio.run(self._live()), name="workbench-aside", daemon=True
        )
        self.thread.start()
        self.loop = self._ready.result()

    async def _live(self) -> None:
        self._end = asyncio.Event()
        self._ready.set_result(asyncio.get_running_loop())
        await self._end.wait()

    def tell(self, what: Callable[[], object]) -> None:
        """Call something on the loop, as soon as it is free."""
        with contextlib.suppress(RuntimeError):  # it has ended
            self.loop.call_soon_threadsafe(what)

    def wake(self) -> None:
        """There are calls to begin."""
        if not self._beginning:
            self._beginning = True
            self._begin()

    def _begin(self) -> None:
        """Start one call, whose first step starts the next: behind a call that blocks nothing is begun."""
        with _lock:
            self._beginning = bool(_pending) and not self.given_up
            if not self._beginning:
                return
            call = _pending.popleft()
            self._under_way += 1
        call.task = self.loop.create_task(call.go(self._begin), context=call.context)
        call.task.add_done_callback(lambda _: self._over(call))
        call.begun.set_result(self)

    def _over(self, call: _Call[Any]) -> None:
        self._under_way -= 1
        if not call.ended.done():  # cancelled before its first step
            call.ended.set_exception(asyncio.CancelledError())
            self._begin()
        self.end_if_done()

    def end_if_done(self) -> None:
        """End a loop that was given up and has nothing left to do."""
        if self.given_up and not self._under_way:
            self._end.set()

    async def answers(self) -> bool:
        """Whether the loop answers soon: nothing blocks it."""
        answer: Future[None] = Future()
        self.tell(lambda: answer.set_result(None))
        done, _ = await asyncio.wait({asyncio.wrap_future(answer)}, timeout=_PATIENCE)
        return bool(done)


def _queue(call: _Call[Any]) -> None:
    with _lock:
        _pending.append(call)
    _serve()


def _serve() -> None:
    """See to it that somebody begins the next call."""
    global _side  # noqa: PLW0603 (one at a time is the point)
    with _lock:
        if _side is None or not _side.thread.is_alive():
            _side = _Side()
        side = _side
    side.tell(side.wake)


def _give_up(side: _Side) -> None:
    global _side  # noqa: PLW0603 (see _serve)
    with _lock:
        side.given_up = True
        if _side is side:
            _side = None
        waiting = bool(_pending)
    side.tell(side.end_if_done)
    if waiting:
        _serve()


async def _begun(call: _Call[Any], seconds: float | None) -> None:
    """Wait for a call's turn; a loop that is blocked meanwhile is given up."""
    begun = asyncio.wrap_future(call.begun)
    while not (await asyncio.wait({begun}, timeout=seconds))[0]:
        side = _side
        if side is not None and not await side.answers():
            _give_up(side)


async def _cut(call: _Call[Any], ended: asyncio.Future[Any]) -> bool:
    """Cancel a call and wait for its end, or give up its loop; whether that was blocked."""
    with _lock:
        if call in _pending:
            _pending.remove(call)
            ended.cancel()
            return False
    side = call.begun.result()
    side.tell(lambda: call.task and call.task.cancel())
    heard = await side.answers()
    if heard:
        await asyncio.wait({ended}, timeout=_GRACE)
        heard = ended.done() or await side.answers()
    if not heard:
        _give_up(side)
    if not ended.cancel():
        ended.exception()  # nobody reads it any more
    return not heard


async def threaded(work: Callable[[], T], seconds: float | None = None) -> T:
    """Await a function that runs in a thread, in the caller's context.

    A thread whose function is late, or no longer awaited, takes no more of them: a fresh one does.

    Args:
        work: The function.
        seconds: The most it may take from its beginning; None for no limit.

    Raises:
        LateError: It took longer. It goes on.
    """
    job = _Job(work)
    ended = asyncio.wrap_future(job.ended)
    _hand_out(job)
    try:
        await asyncio.wait({asyncio.wrap_future(job.begun)})
        await asyncio.wait({ended}, timeout=seconds)
        if not ended.done():
            raise LateError(blocked=False)
        return ended.result()
    finally:
        if not ended.done():
            _leave(job)
        if not ended.cancel():
            ended.exception()  # nobody reads it any more


class _Job(Generic[T]):
    """A function that is to run in a thread, and what is told of it."""

    def __init__(self, work: Callable[[], T]) -> None:
        self.work, self.context = work, copy_context()
        self.begun: Future[_Hand] = Future()
        self.ended: Future[T] = Future()
        self.ended.set_running_or_notify_cancel()  # who stops waiting does not end it

    def go(self) -> None:
        """Run it; whatever it ends with is told."""
        try:
            self.ended.set_result(self.context.run(self.work))
        except BaseException as error:  # noqa: BLE001 (told to who waits)
            self.ended.set_exception(_told(error))


class _Hand(threading.Thread):
    """A thread that takes one job after the other until it is given up."""

    def __init__(self) -> None:
        super().__init__(name="workbench-hand", daemon=True)
        self.given_up = False

    def run(self) -> None:
        """See `threading.Thread`."""
        while (job := self._next()) is not None:
            job.begun.set_result(self)
            job.go()
            del job  # an idle thread holds nobody's row

    def _next(self) -> _Job[Any] | None:
        global _idle  # noqa: PLW0603 (counted under the lock)
        with _lock:
            while not (self.given_up or _jobs):
                _idle += 1
                _lock.wait()
                _idle -= 1
            return None if self.given_up else _jobs.popleft()


def _hand_out(job: _Job[Any]) -> None:
    with _lock:
        _jobs.append(job)
        _lock.notify()
        _hire()


def _hire() -> None:
    """Start a thread where jobs wait and there is room. Called with the lock."""
    if len(_jobs) > _idle and len(_hands) < _THREADS:
        hand = _Hand()
        _hands.add(hand)
        hand.start()


def _leave(job: _Job[Any]) -> None:
    """Take a job back, or give up the thread that runs it."""
    with _lock:
        if job in _jobs:
            _jobs.remove(job)
            return
    hand = job.begun.result()
    with _lock:
        hand.given_up = True
        _hands.discard(hand)
        _lock.notify_all()  # it may have ended meanwhile and wait for another
        _hire()


def _told(error: BaseException) -> BaseException:
    """An error as a future can hold it."""
    return RuntimeError("the function raised StopIteration") if isinstance(error, StopIteration) else error
