"""Users' functions: each in a separate daemon thread, a few at a time.

Neither asyncio's executor nor anyio's worker threads will do: a function that never ends would keep its thread among
the few there are, and the process from ending. So each call starts a thread, which takes a twentieth of a millisecond,
and one that is late gives up its turn and not its thread.
"""

from __future__ import annotations

import asyncio
import inspect
import os
import threading
import weakref
from collections.abc import Callable
from concurrent.futures import Future
from contextvars import ContextVar, copy_context
from typing import Any, TypeVar

from workbench.core.user_functions.late import LateError, as_held, refuse_beyond

__all__ = ["threaded"]

T = TypeVar("T")

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
        try:
            result.set_result(context.run(work))
        except BaseException as error:  # noqa: BLE001 (raised where it is awaited)
            result.set_exception(as_held(error))
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
