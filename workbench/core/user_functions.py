"""Users' functions where they may block without blocking the workbench: functions in daemon threads, coroutines on a separate loop.

A call that does not end in time cannot be stopped: it is left running, and a new loop or thread replaces its own, until too
many are left. A function in a separate process can be ended, see `user_processes`. Nothing starts at import.

Neither asyncio's executor nor anyio's worker threads will do: a function that never ends would keep its thread, of
the few there are, and the process from ending. So each call starts a thread, which takes a twentieth of a millisecond,
and one that is late gives up its turn and not its thread. A loop that a coroutine blocks is abandoned, and another one
replaces it.
"""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import os
import threading
import weakref
from collections import deque
from collections.abc import Awaitable, Callable
from concurrent.futures import Future
from contextvars import ContextVar, copy_context
from typing import Any, Generic, TypeVar

from workbench.core import background
from workbench.core.background import as_held, settle
from workbench.core.system_limits import undo_on_error


class LateError(TimeoutError):
    """A call did not end in time.

    Attributes:
        blocked: Whether its loop was blocked, by it or by another call on it.
    """

    def __init__(self, *, blocked: bool) -> None:
        super().__init__("the event loop was blocked" if blocked else "not ended in time")
        self.blocked = blocked


def refuse_beyond(most: int, left: int) -> None:
    """Refuse to start another function if too many timed-out ones still run.

    Raises:
        TimeoutError: The maximum number still run.
    """
    if left >= most:
        raise TimeoutError(
            f"not started: {left} timed-out calls are still running and cannot be stopped; "
            "set a time limit on the operation they wait for, then restart the process (the kernel, in a notebook)"
        )


T = TypeVar("T")


def attempt(call: Callable[[], T]) -> T | Exception:
    """The result of code that may raise anything (a user's function, another package's), or its exception, as a value.

    The border between such code and the workbench: callers decide what an exception means for one row, one cell or one file.
    A `KeyboardInterrupt` and a `SystemExit` still end the caller.
    """
    try:
        return call()
    except Exception as error:  # noqa: BLE001 (see above)
        return error


async def attempt_async(work: Awaitable[T]) -> T | Exception:
    """As `attempt`, for something to await; a cancellation still ends the caller."""
    try:
        return await work
    except Exception as error:  # noqa: BLE001 (as in `attempt`)
        return error


_THREADS = min(32, (os.cpu_count() or 1) + 4)
"""Maximum number of concurrent functions of one level, as in asyncio's executor."""
_LATE = 256
"""Maximum number of threads whose functions timed out and still run; beyond it no further one is started."""
_LEVELS = 8
"""Maximum depth to which functions may call each other through the workbench."""


class _ThreadTurns:
    """Running functions of one level on one event loop, and their maximum number."""

    def __init__(self) -> None:
        self.limit = asyncio.Semaphore(_THREADS)
        self.under_way: set[asyncio.Future[Any]] = set()


_levels: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, list[_ThreadTurns]] = (
    weakref.WeakKeyDictionary()
)
_level: ContextVar[int] = ContextVar("_level", default=0)
_late: set[threading.Thread] = set()


async def threaded(work: Callable[[], T], seconds: float | None = None) -> T:
    """Await a function that runs in a thread, in the caller's context.

    A function that is late, or no longer awaited, continues in its thread and gives up its turn. A coroutine that it
    returns then is closed. Functions that such a function calls through the workbench, and waits for, take separate
    turns: none waits for itself.

    Args:
        work: The function.
        seconds: Maximum time from its start; None for no limit.

    Raises:
        LateError: It took longer. It continues.
        TimeoutError: It was not started: too many timed-out functions still run.
        RuntimeError: It was not started: the machine has no thread for it, or functions call each other too deep.
    """
    level = _level.get()
    if level >= _LEVELS:
        raise RecursionError(f"functions call each other through the workbench, more than {_LEVELS} deep")
    turns = _turns_of(level)
    async with turns.limit:
        refuse_beyond(_LATE, len(_late))
        result, thread = await _started(work, level, turns)
        ended = asyncio.wrap_future(result)
        turns.under_way.add(ended)
        try:
            await asyncio.wait({ended}, timeout=seconds)
        finally:
            turns.under_way.discard(ended)
            if not ended.done():
                _leave(thread, result, ended)
        if not result.done():
            raise LateError(blocked=False)
        return ended.result()


def _turns_of(level: int) -> _ThreadTurns:
    """The running functions of one level on this event loop."""
    return _levels.setdefault(asyncio.get_running_loop(), [_ThreadTurns() for _ in range(_LEVELS)])[level]


async def _started(
    work: Callable[[], T], level: int, turns: _ThreadTurns
) -> tuple[Future[T], threading.Thread]:
    """A function running in a separate thread; if the machine has none, after another function has ended.

    Raises:
        RuntimeError: There is no thread, and none to wait for.
    """
    context, result = copy_context(), Future[T]()
    # In the function's own context: what it calls through the workbench takes turns one level deeper.
    context.run(_level.set, level + 1)
    result.set_running_or_notify_cancel()  # cancelling the wait does not end it

    def run() -> None:
        settle(result, lambda: context.run(work))
        _late.discard(threading.current_thread())

    while True:
        thread = threading.Thread(target=run, name="workbench-function", daemon=True)
        try:
            thread.start()
        except RuntimeError:
            if not turns.under_way:
                raise
            await asyncio.wait(set(turns.under_way), return_when=asyncio.FIRST_COMPLETED)
        else:
            return result, thread


def _leave(thread: threading.Thread, result: Future[Any], ended: asyncio.Future[Any]) -> None:
    """Leave a thread to its function."""
    _late.add(thread)
    if not thread.is_alive():  # it ended at this very moment
        _late.discard(thread)
    result.add_done_callback(_close)
    ended.cancel()


def _close(result: Future[Any]) -> None:
    """Close a coroutine that came too late to be awaited: else Python complains."""
    if not result.exception() and inspect.iscoroutine(coroutine := result.result()):
        coroutine.close()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_late.clear)  # a fork has none of these threads


_PATIENCE = 0.5
"""Seconds within which a loop responds that is not blocked."""
_GRACE = 2.0
"""Seconds that a coroutine has to end after it was cancelled; then it is abandoned."""
_LEFT = 64
"""Maximum number of loops occupied by coroutines that still run. Each has three open files."""

_lock = threading.RLock()
_loop_thread: _LoopThread | None = None
_left: set[_LoopThread] = set()
_waiting_calls: deque[_LoopCall[Any]] = deque()


def _after_fork() -> None:
    """A fork has this module but not its threads; a lock that another thread had stays locked for ever."""
    global _lock, _loop_thread
    _lock, _loop_thread = threading.RLock(), None
    _left.clear()
    _waiting_calls.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


async def awaited(work: Callable[[], Awaitable[T]], seconds: float | None = None) -> T:
    """Await a user's coroutine on a loop that it may block without blocking the workbench.

    All share one loop in a daemon thread, so that objects bound to a loop (clients, semaphores) serve every call.
    A loop that does not respond when a call is late or cancelled gets no more calls: a new one runs those that have not
    started. The old one ends when its last coroutine does.

    Args:
        work: Makes the coroutine, on that loop and in the caller's context.
        seconds: Maximum time from its start; None for no limit. Then it is cancelled.

    Raises:
        LateError: It took longer.
        TimeoutError: It was not started: too many loops are occupied by timed-out coroutines.
        OSError: It was not started: the machine has no loop for it (too many open files).
        RuntimeError: It was not started: the machine has no thread for a loop. Or its loop was stopped meanwhile.
    """
    call = _LoopCall(work)
    ended = asyncio.wrap_future(call.ended)
    _queue(call)
    try:
        await _wait_for_start(call, ended, seconds)
        # Not wait_for, which cancels the awaited future and would hide a TimeoutError raised by the coroutine.
        await asyncio.wait({ended}, timeout=seconds)
    except asyncio.CancelledError:
        await _cut(call, ended)
        raise
    if not ended.done():
        raise LateError(blocked=await _cut(call, ended))
    return ended.result()


class _LoopCall(Generic[T]):
    """A coroutine that is to run on a loop here, with futures for its start and its end."""

    def __init__(self, work: Callable[[], Awaitable[T]]) -> None:
        self.work, self.context = work, copy_context()
        self.started: Future[None] = Future()
        self.ended: Future[T] = Future()
        self.ended.set_running_or_notify_cancel()  # cancelling the wait does not end it
        self.loop_thread: _LoopThread | None = None
        self.task: asyncio.Task[None] | None = None

    async def go(self, begin_next: Callable[[], object]) -> None:
        """Run it; its result or its error goes to `ended`."""
        asyncio.get_running_loop().call_soon(begin_next)
        try:
            self.ended.set_result(await self.work())
        except BaseException as error:  # noqa: BLE001 (a SystemExit would end the loop, and with it the other rows)
            self.fail(error)

    def fail(self, error: BaseException) -> None:
        """Set an error for the waiting caller, unless the call has ended before."""
        if not self.ended.done():
            self.ended.set_exception(as_held(error))


class _LoopThread:
    """A loop in a separate thread that runs calls one after the other until it is abandoned.

    Raises:
        OSError: No loop can be made: too many open files.
        RuntimeError: No thread can be started.
    """

    def __init__(self) -> None:
        self.given_up, self._over, self._beginning = False, False, False
        self._calls: set[_LoopCall[Any]] = set()
        self._runner = asyncio.Runner(loop_factory=asyncio.new_event_loop)
        self.loop = self._runner.get_loop()
        with undo_on_error(self.loop.close):
            threading.Thread(target=self._run, name="workbench-user-loop", daemon=True).start()

    def _run(self) -> None:
        background.refuse_waiting()
        with contextlib.suppress(BaseException), self._runner:  # its end cancels the remaining tasks
            try:
                self.loop.run_forever()
            finally:  # stopped by the workbench, or by a function: loop.stop(), a SystemExit in a callback
                self._close()

    def _close(self) -> None:
        """Accept no more calls, and fail the running ones: none, unless a function ended the loop."""
        _give_up(self)
        self._over = True
        with _lock:
            _left.discard(self)
        for call in self._calls:
            call.fail(RuntimeError("the event loop that async functions share was stopped by one of them"))

    def call_soon(self, function: Callable[[], object]) -> None:
        """Call a function on the loop when it is free."""
        with contextlib.suppress(RuntimeError):  # it has ended
            self.loop.call_soon_threadsafe(function)

    def wake(self) -> None:
        """There are calls to start."""
        if not self._beginning:
            self._beginning = True
            self._begin()

    def _begin(self) -> None:
        """Start one call, whose first step starts the next: after a call that blocks nothing is started."""
        with _lock:
            self._beginning = bool(_waiting_calls) and not self.given_up
            if not self._beginning:
                return
            call = _waiting_calls.popleft()
            # Still under the lock: `_cut` must find a call either among those that wait or on a loop.
            call.loop_thread = self
        self._calls.add(call)
        call.task = self.loop.create_task(call.go(self._begin), context=call.context)
        call.task.add_done_callback(lambda _: self._discard(call))
        call.started.set_result(None)

    def _discard(self, call: _LoopCall[Any]) -> None:
        self._calls.discard(call)
        if not call.ended.done():  # cancelled before its first step
            call.fail(asyncio.CancelledError())
            self._begin()
        self.end_if_done()

    def end_if_done(self) -> None:
        """End a loop that was abandoned and has nothing left to do."""
        if self.given_up and not self._calls and not self._over:
            self.loop.stop()

    async def answers(self) -> bool:
        """Whether the loop responds soon: nothing blocks it."""
        answer: Future[None] = Future()
        self.call_soon(lambda: answer.set_result(None))
        answered, _ = await asyncio.wait({asyncio.wrap_future(answer)}, timeout=_PATIENCE)
        return bool(answered)


def _queue(call: _LoopCall[Any]) -> None:
    with _lock:
        _waiting_calls.append(call)
    _serve()


def _serve() -> None:
    """Make a loop start the next call; if none can, the waiting calls fail."""
    global _loop_thread  # noqa: PLW0603 (one at a time is the point)
    with _lock:
        if _loop_thread is None and _waiting_calls:
            try:
                refuse_beyond(_LEFT, len(_left))
                _loop_thread = _LoopThread()
            except (OSError, RuntimeError, MemoryError) as error:
                while _waiting_calls:
                    _waiting_calls.popleft().fail(error)
        loop_thread = _loop_thread
    if loop_thread is not None:
        loop_thread.call_soon(loop_thread.wake)


def _give_up(loop_thread: _LoopThread) -> None:
    global _loop_thread  # noqa: PLW0603 (see _serve)
    with _lock:
        if not loop_thread.given_up:
            loop_thread.given_up = True
            _left.add(loop_thread)
        if _loop_thread is loop_thread:
            _loop_thread = None
    loop_thread.call_soon(loop_thread.end_if_done)
    _serve()


async def _wait_for_start(call: _LoopCall[Any], ended: asyncio.Future[Any], seconds: float | None) -> None:
    """Wait for a call's turn; a loop that is blocked meanwhile is abandoned."""
    started = asyncio.wrap_future(call.started)
    while not (await asyncio.wait({started, ended}, timeout=seconds, return_when=asyncio.FIRST_COMPLETED))[0]:
        loop_thread = _loop_thread
        if loop_thread is not None and not await loop_thread.answers():
            _give_up(loop_thread)


async def _cut(call: _LoopCall[Any], ended: asyncio.Future[Any]) -> bool:
    """Cancel a call and wait for its end, or abandon its loop; returns whether that was blocked."""
    with _lock:
        if call in _waiting_calls:
            _waiting_calls.remove(call)
        loop_thread = call.loop_thread
    responsive = loop_thread is None or await _cancelled(loop_thread, call, ended)
    if not ended.cancel():
        ended.exception()  # mark as retrieved: no caller reads it any more
    return not responsive


async def _cancelled(loop_thread: _LoopThread, call: _LoopCall[Any], ended: asyncio.Future[Any]) -> bool:
    """Cancel a call that has started; returns whether its loop responds. One that does not is abandoned."""
    loop_thread.call_soon(lambda: call.task and call.task.cancel())
    responsive = await loop_thread.answers()
    if responsive:
        await asyncio.wait({ended}, timeout=_GRACE)
        responsive = ended.done() or await loop_thread.answers()
    if not responsive:
        _give_up(loop_thread)
    return responsive
