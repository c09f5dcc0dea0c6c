"""One event loop in one thread, for everything asynchronous in the package.

Users call synchronous methods; "the current loop" is never used and no loop is patched, so the same
call works in a script, a kernel, a widget callback and under Voila. Nothing starts at import.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import threading
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import Future
from concurrent.futures import wait as wait_for_futures
from typing import Any, TypeVar

from workbench.core.errors import WorkbenchError
from workbench.core.system_limits import limited

T = TypeVar("T")

HEARTBEAT_SECONDS = 0.05
"""Seconds between checks of a waiting cell: an interrupt is noticed within this time (0.3 s measured, not 3 s)."""

_REFUSED = (
    "synchronous workbench call inside a workbench coroutine would deadlock; "
    "await instead: await grader.grade(sample)"
)

_lock = threading.Lock()
_loop: asyncio.AbstractEventLoop | None = None
_thread: threading.Thread | None = None
_owner = 0
_this_thread = threading.local()


def _running_loop() -> asyncio.AbstractEventLoop:
    global _loop, _thread, _owner  # noqa: PLW0603 (one loop per process is the purpose)
    with _lock:
        if _loop is None or _thread is None or not _thread.is_alive() or _owner != os.getpid():
            with limited(WorkbenchError, "the event loop of the workbench cannot start"):
                _loop, _owner = asyncio.new_event_loop(), os.getpid()
            _thread = threading.Thread(target=_serve, args=(_loop,), name="workbench-loop", daemon=True)
            _thread.start()
        return _loop


def _serve(loop: asyncio.AbstractEventLoop) -> None:
    refuse_waiting()
    loop.run_forever()


def refuse_waiting() -> None:
    """Refuse `wait` in this thread from now on: it runs an event loop, which waiting would block."""
    _this_thread.refused = True


def _refused() -> bool:
    return getattr(_this_thread, "refused", False)


def _after_fork() -> None:
    """A fork copies this module but not its thread; a lock taken by another thread stays locked forever."""
    global _lock, _loop, _thread, _this_thread
    _lock, _loop, _thread, _this_thread = threading.Lock(), None, None, threading.local()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


def submit(work: Coroutine[Any, Any, T]) -> Future[T]:
    """Start a coroutine on the loop's thread."""
    return asyncio.run_coroutine_threadsafe(work, _running_loop())


def then(future: Future[T], callback: Callable[[Future[T]], object]) -> None:
    """Call `callback` with a future that has ended, in a separate thread; not if it was cancelled.

    A callback that takes a lock must not run on the loop's thread: the lock's owner may be waiting for the loop.
    """

    def ended(ended_future: Future[T]) -> None:
        if not ended_future.cancelled():
            threading.Thread(
                target=callback, args=(ended_future,), name="workbench-callback", daemon=True
            ).start()

    future.add_done_callback(ended)


@contextlib.contextmanager
def uninterrupted() -> Iterator[None]:
    """Delay an interrupt until the end of the block, so that work started in the block can be cancelled."""
    before = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(before):
        yield  # only the main thread receives interrupts
        return
    pressed: list[object] = []
    signal.signal(signal.SIGINT, lambda *_: pressed.append(True))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
    if pressed:
        before(signal.SIGINT, None)


def wait(future: Future[T], beat: Callable[[], object] | None = None) -> T:
    """Wait in short steps, so that an interrupt is processed.

    Args:
        future: The return value of `submit`.
        beat: Called between the steps, on the waiting thread, for example to draw a progress bar.

    Raises:
        RuntimeError: Called in a coroutine that runs on a workbench loop, which would deadlock. The
            future is cancelled, because its result is not awaited.
    """
    if _refused():
        future.cancel()
        raise RuntimeError(_REFUSED)
    # Not by `result(timeout)`: a TimeoutError of the coroutine would look like the end of a step, and if the
    # future ends just after a step, that step's end would look like its own.
    while not wait_for_futures([future], HEARTBEAT_SECONDS).done:
        if beat is not None:
            beat()
    return future.result()


def run(work: Coroutine[Any, Any, T], beat: Callable[[], object] | None = None) -> T:
    """Run a coroutine to its end from synchronous code; an Interrupt cancels it. See `wait` for `beat`.

    Raises:
        RuntimeError: Called where `wait` is refused. No part of the coroutine runs.
    """
    if _refused():
        # Otherwise Python warns of a coroutine that was never awaited.
        work.close()
        raise RuntimeError(_REFUSED)
    future: Future[T] | None = None
    try:
        with uninterrupted():
            future = submit(work)
        return wait(future, beat)
    except KeyboardInterrupt:
        if future is not None:
            future.cancel()
        raise


def as_held(error: BaseException) -> BaseException:
    """An error in a form that a `Future` accepts, and that a coroutine can raise without ending itself."""
    if isinstance(error, StopIteration | GeneratorExit):
        return RuntimeError(f"the function raised {type(error).__name__}")
    return error


def settle(result: Future[T], work: Callable[[], T]) -> None:
    """Run work of a thread; its result or error of any kind goes to the future, for which another thread waits."""
    try:
        result.set_result(work())
    except BaseException as error:  # noqa: BLE001 (raised where it is awaited)
        result.set_exception(as_held(error))
