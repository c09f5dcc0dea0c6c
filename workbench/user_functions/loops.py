"""Somebody else's coroutines: all on one loop in a thread of its own, and on a fresh one where that is blocked."""

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

from workbench import background
from workbench.user_functions.late import LateError, as_held, refuse_beyond

__all__ = ["awaited"]

T = TypeVar("T")

_PATIENCE = 0.5
"""Seconds within which a loop answers that nobody blocks."""
_GRACE = 2.0
"""Seconds that a coroutine has to end once it was cancelled; then it is left to itself."""
_LEFT = 64
"""Loops left to coroutines that still run; beyond them no fresh one is made. Each holds three open files."""

_lock = threading.RLock()
_side: _Side | None = None
_left: set[_Side] = set()
_pending: deque[_Call[Any]] = deque()


def _after_fork() -> None:
    """A fork has our module and not our threads; a lock some other thread held stays locked for ever."""
    global _lock, _side
    _lock, _side = threading.RLock(), None
    _left.clear()
    _pending.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


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
        TimeoutError: It was not begun: too many loops are left to coroutines that were late.
        OSError: It was not begun: the machine has no loop for it (too many open files).
        RuntimeError: It was not begun: the machine has no thread for a loop. Or its loop was stopped under it.
    """
    call = _Call(work)
    ended = asyncio.wrap_future(call.ended)
    _queue(call)
    try:
        await _begun(call, ended, seconds)
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
        self.begun: Future[None] = Future()
        self.ended: Future[T] = Future()
        self.ended.set_running_or_notify_cancel()  # who stops waiting does not end it
        self.side: _Side | None = None
        self.task: asyncio.Task[None] | None = None

    async def go(self, begin_next: Callable[[], object]) -> None:
        """Run it; whatever it ends with is told."""
        asyncio.get_running_loop().call_soon(begin_next)
        try:
            self.ended.set_result(await self.work())
        except BaseException as error:  # noqa: BLE001 (a SystemExit would end the loop, and with it the rows beside)
            self.fail(error)

    def fail(self, error: BaseException) -> None:
        """Tell who waits, unless it has ended before."""
        if not self.ended.done():
            self.ended.set_exception(as_held(error))


class _Side:
    """A loop in a thread of its own that takes calls one after the other until it is given up.

    Raises:
        OSError: No loop can be made: too many open files.
        RuntimeError: No thread can be started.
    """

    def __init__(self) -> None:
        self.given_up, self._over, self._beginning = False, False, False
        self._calls: set[_Call[Any]] = set()
        self._runner = asyncio.Runner(loop_factory=asyncio.new_event_loop)
        self.loop = self._runner.get_loop()
        try:
            threading.Thread(target=self._run, name="workbench-aside", daemon=True).start()
        except BaseException:
            self.loop.close()
            raise

    def _run(self) -> None:
        background.refuse_waiting()
        with contextlib.suppress(BaseException), self._runner:  # whose end cancels what is left
            try:
                self.loop.run_forever()
            finally:  # by us, or by a function: loop.stop(), a SystemExit in a callback
                self._close()

    def _close(self) -> None:
        """Take no more calls, and fail those under way: none, unless a function ended the loop."""
        _give_up(self)
        self._over = True
        with _lock:
            _left.discard(self)
        for call in self._calls:
            call.fail(RuntimeError("the event loop that async functions share was stopped by one of them"))

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
            call.side = self
        self._calls.add(call)
        call.task = self.loop.create_task(call.go(self._begin), context=call.context)
        call.task.add_done_callback(lambda _: self._done(call))
        call.begun.set_result(None)

    def _done(self, call: _Call[Any]) -> None:
        self._calls.discard(call)
        if not call.ended.done():  # cancelled before its first step
            call.fail(asyncio.CancelledError())
            self._begin()
        self.end_if_done()

    def end_if_done(self) -> None:
        """End a loop that was given up and has nothing left to do."""
        if self.given_up and not self._calls and not self._over:
            self.loop.stop()

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
    """See to it that somebody begins the next call; where nobody can, those that wait fail."""
    global _side  # noqa: PLW0603 (one at a time is the point)
    with _lock:
        if _side is None and _pending:
            try:
                refuse_beyond(_LEFT, len(_left))
                _side = _Side()
            except Exception as error:  # noqa: BLE001 (told to who waits)
                while _pending:
                    _pending.popleft().fail(error)
        side = _side
    if side is not None:
        side.tell(side.wake)


def _give_up(side: _Side) -> None:
    global _side  # noqa: PLW0603 (see _serve)
    with _lock:
        if not side.given_up:
            side.given_up = True
            _left.add(side)
        if _side is side:
            _side = None
    side.tell(side.end_if_done)
    _serve()


async def _begun(call: _Call[Any], ended: asyncio.Future[Any], seconds: float | None) -> None:
    """Wait for a call's turn; a loop that is blocked meanwhile is given up."""
    begun = asyncio.wrap_future(call.begun)
    while not (await asyncio.wait({begun, ended}, timeout=seconds, return_when=asyncio.FIRST_COMPLETED))[0]:
        side = _side
        if side is not None and not await side.answers():
            _give_up(side)


async def _cut(call: _Call[Any], ended: asyncio.Future[Any]) -> bool:
    """Cancel a call and wait for its end, or give up its loop; whether that was blocked."""
    with _lock:
        if call in _pending:
            _pending.remove(call)
        side = call.side
    heard = side is None or await _cancelled(side, call, ended)
    if not ended.cancel():
        ended.exception()  # nobody reads it any more
    return not heard


async def _cancelled(side: _Side, call: _Call[Any], ended: asyncio.Future[Any]) -> bool:
    """Cancel a call that has begun; whether its loop answers. One that does not is given up."""
    side.tell(lambda: call.task and call.task.cancel())
    heard = await side.answers()
    if heard:
        await asyncio.wait({ended}, timeout=_GRACE)
        heard = ended.done() or await side.answers()
    if not heard:
        _give_up(side)
    return heard
