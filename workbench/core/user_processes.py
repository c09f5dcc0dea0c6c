"""Separate processes for users' functions: any function there can be ended in time.

Each process calls the function in its main thread, where signals work, one argument at a time. It has the user's rights: this
is not a sandbox. Messages are pickled both ways; the function is pickled by value if no module has it.
"""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
import weakref
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterable
from concurrent.futures import Future
from concurrent.futures import wait as wait_for_futures
from functools import partial
from typing import Any, TypeVar

from workbench.core.background import settle
from workbench.core.errors import CaptureError
from workbench.core.system_limits import undo_on_error
from workbench.core.user_functions import LateError, attempt
from workbench.core.user_process_child import read_message, write_message

T = TypeVar("T")

_SETUP_SECONDS = 120.0
"""Seconds a process may take to start and to load the function: large packages take tens of them on a cold disk."""
_CHECK_SECONDS = 0.1
"""Seconds between two checks whether a process still runs: what it forked may keep its pipe open when it has ended."""
_END_SECONDS = 0.5
"""Seconds to wait for the end of a killed process; the kernel needs milliseconds, unless it waits for a disk."""
_CODE = "import sys; sys.path[:] = {path!r}; from workbench.core.user_process_child import main; main()"


class ProcessLostError(RuntimeError):
    """The process ended while the function ran, such as by a crash in C code."""


class _UnreadError(ProcessLostError):
    """The process ended before it read the argument: the function was not called."""


class _GivenUpError(RuntimeError):
    """The caller stopped waiting."""


class ProcessPool:
    """Processes that call one function, at most one per processor.

    They start when they are needed, and end with the last run that uses them, with the pool or with this process.

    Args:
        function: Called with one argument; it must be picklable, by cloudpickle if it is in no module.

    Raises:
        CaptureError: The function cannot be pickled.
    """

    def __init__(self, function: Callable[[Any], Any]) -> None:
        self._setup = _pickled(function)
        self._all: set[_Process] = set()
        self._pid = os.getpid()
        self._start_empty()
        weakref.finalize(self, _end_own, self._all, self._pid).atexit = False
        _pools.add(self)

    def _start_empty(self) -> None:
        """Start without processes: those of a parent are the parent's, and its locks may be locked for ever."""
        self._lock = threading.Lock()
        self._turns = _ProcessTurns(os.cpu_count() or 1)
        self._idle: list[_Process] = []
        self._given_up: set[Future[bytes]] = set()
        self._runs = 0

    def after_fork(self) -> None:
        """In a fork, leave the processes to the parent."""
        for process in self._all:
            process.disown()
        self._all.clear()
        self._pid = os.getpid()
        self._start_empty()

    async def call(self, argument: Any, seconds: float | None = None) -> Any:
        """What the function returns, in a process that is free.

        Args:
            argument: Anything that can be pickled.
            seconds: Maximum time of the call after the function is loaded; None for no limit. Then the process is ended.

        Raises:
            LateError: It took longer.
            TimeoutError: The function was not loaded in 120 s.
            ProcessLostError: The process ended by itself.
            Exception: What the function raised.
        """
        data, call = pickle.dumps(argument), _ProcessCall()
        await self._turns.take()
        with undo_on_error(self._turns.give):
            reply: Future[bytes] = _in_thread(self._answer, call, data, seconds)
        # After a cancellation the thread continues, and ends with its process.
        with undo_on_error(self._give_up, call, reply):
            message: bytes = await asyncio.wrap_future(reply)
        outcome, value = pickle.loads(message)  # noqa: S301 (of a user's function, with the same rights)
        if outcome == "raised":
            raise value
        return value

    @contextlib.asynccontextmanager
    async def run(self) -> AsyncIterator[None]:
        """Keep processes while a run lasts; the last run to end ends those that are idle."""
        with self._lock:
            self._runs += 1
        try:
            yield
        finally:
            with self._lock:
                self._runs -= 1
                idle = self._idle if self._runs == 0 else []
                if idle:
                    self._idle = []
                    self._all.difference_update(idle)
            await asyncio.wrap_future(_in_thread(self._end, idle))

    def close(self) -> None:
        """End all processes, including those in use; the next call starts new ones."""
        with self._lock:
            processes = list(self._all)
            self._idle.clear()
            self._all.clear()
        self._end(processes)

    @property
    def is_own(self) -> bool:
        """Whether this process made it, and not the one that this is a fork of."""
        return self._pid == os.getpid()

    def _end(self, processes: list[_Process]) -> None:
        """End processes, and wait for those of abandoned calls."""
        _end_processes(processes)
        wait_for_futures(list(self._given_up), timeout=_END_SECONDS)

    def _give_up(self, call: _ProcessCall, reply: Future[bytes]) -> None:
        if not reply.done():
            self._given_up.add(reply)
            reply.add_done_callback(self._given_up.discard)
            call.give_up()

    def _answer(self, call: _ProcessCall, data: bytes, seconds: float | None) -> bytes:
        """The reply to one call: what its thread does."""
        try:
            if (process := self._take_idle()) is not None:
                # It may have ended while it was idle: the function was not called, and can be called elsewhere.
                with contextlib.suppress(_UnreadError):
                    return self._asked(process, call, data, seconds)
            return self._asked(self._started(call), call, data, seconds)
        finally:
            self._turns.give()

    def _take_idle(self) -> _Process | None:
        while True:
            with self._lock:
                if not self._idle:
                    return None
                process = self._idle.pop()
            if process.is_alive():
                return process
            self._drop(process)

    def _asked(self, process: _Process, call: _ProcessCall, data: bytes, seconds: float | None) -> bytes:
        with undo_on_error(self._drop, process):
            call.hold(process)
            reply = process.ask(data, seconds)
            call.hold(None)  # raises if it was abandoned: a process that is killed never becomes idle
        with self._lock:
            if process in self._all:  # else the pool was closed
                self._idle.append(process)
        return reply

    def _started(self, call: _ProcessCall) -> _Process:
        """A new process that has loaded the function."""
        call.hold(None)
        process = _Process()
        with self._lock:
            self._all.add(process)
        with undo_on_error(self._drop, process):
            call.hold(process)
            try:
                reply = process.ask(self._setup, _SETUP_SECONDS)
            except LateError:
                raise TimeoutError(
                    f"not started: the function was not loaded within {_SETUP_SECONDS:g} s; check what its module does at import"
                ) from None
            outcome, value = pickle.loads(reply)  # noqa: S301 (as above)
            if outcome == "raised":
                raise value
        return process

    def _drop(self, process: _Process) -> None:
        process.end()
        with self._lock:
            self._all.discard(process)


class _ProcessTurns:
    """Limits concurrent calls, from any event loop; the others wait in the order in which they arrived."""

    def __init__(self, count: int) -> None:
        self._free, self._lock = count, threading.Lock()
        self._waiting: deque[Future[None]] = deque()

    async def take(self) -> None:
        with self._lock:
            if self._free:
                self._free -= 1
                return
            turn: Future[None] = Future()
            self._waiting.append(turn)
        with undo_on_error(self._return, turn):
            await asyncio.wrap_future(turn)

    def _return(self, turn: Future[None]) -> None:
        if not turn.cancel():  # it was given at this very moment
            self.give()

    def give(self) -> None:
        """Give a turn back."""
        with self._lock:
            while self._waiting:
                turn = self._waiting.popleft()
                if turn.set_running_or_notify_cancel():
                    turn.set_result(None)
                    return
            self._free += 1


class _ProcessCall:
    """One call, and the process that is ended if the caller stops waiting."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process: _Process | None = None
        self._is_given_up = False

    def hold(self, process: _Process | None) -> None:
        """Name the process that works for it.

        Raises:
            _GivenUpError: The caller stopped waiting before.
        """
        with self._lock:
            if self._is_given_up:
                raise _GivenUpError
            self._process = process

    def give_up(self) -> None:
        """Kill the process that works for it, without waiting for its end."""
        with self._lock:
            self._is_given_up = True
            if self._process is not None:
                self._process.kill()


class _Process:
    """One process, and the messages to and from it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._is_killed = self._is_ended = self._is_busy = False
        self._process = subprocess.Popen(
            [sys.executable, "-c", _CODE.format(path=sys.path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            bufsize=0,  # a fork of this process would write the content of a buffer again
            start_new_session=True,  # its children are ended with it, and Ctrl-C in a terminal reaches only the parent
        )

    def is_alive(self) -> bool:
        """Whether it has not ended."""
        return self._process.poll() is None

    def ask(self, data: bytes, seconds: float | None) -> bytes:
        """Send a pickled message and wait for the reply.

        The messages go through a separate thread, which is abandoned if the pipe does not end with the process. Only
        this method decides whether the reply or the limit came first.

        Raises:
            LateError: It took longer than `seconds`; the process is ended.
            ProcessLostError: The process ended.
        """
        until = float("inf") if seconds is None else time.monotonic() + seconds
        self._is_busy = True
        try:
            exchange = _in_thread(self._exchange, data)
        except RuntimeError:  # the machine has no thread for it
            self._is_busy = False
            raise
        is_alive = True
        while is_alive and not exchange.done() and (left := until - time.monotonic()) > 0:
            is_alive = self.is_alive()
            wait_for_futures([exchange], timeout=min(left, _CHECK_SECONDS))
        is_done = exchange.done()  # read once: a reply from here on is late
        is_read, reply = exchange.result() if is_done else (True, None)
        if reply is not None:
            return reply
        self.end()
        raise LateError(blocked=False) if is_alive and not is_done else self._lost(is_read=is_read)

    def _lost(self, *, is_read: bool) -> ProcessLostError:
        message = f"the process of the function ended {_exit_text(self._process.returncode)}"
        return ProcessLostError(message) if is_read else _UnreadError(message)

    def _exchange(self, data: bytes) -> tuple[bool, bytes | None]:
        """Whether the process read the message, and its reply if there is one."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        is_read = False
        try:
            write_message(self._process.stdin, data)
            is_read = read_message(self._process.stdout) is not None
            return is_read, read_message(self._process.stdout) if is_read else None
        except (OSError, ValueError):
            return is_read, None
        finally:
            with self._lock:
                self._is_busy = False
                if self._is_ended:
                    self._close_pipes()

    def kill(self) -> None:
        """Kill the process and what it started, without waiting for the end."""
        with self._lock:
            if self._is_killed:  # its number may be reused already
                return
            self._is_killed = True
            with contextlib.suppress(OSError):
                if hasattr(os, "killpg"):
                    os.killpg(self._process.pid, signal.SIGKILL)
                else:
                    self._process.kill()

    def end(self) -> None:
        """Kill the process and what it started, and wait for its end."""
        self.kill()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(_END_SECONDS)
        with self._lock:
            self._is_ended = True
            if not self._is_busy:  # else the thread that reads a pipe closes it
                self._close_pipes()

    def _close_pipes(self) -> None:
        for stream in (self._process.stdin, self._process.stdout):
            with contextlib.suppress(OSError):
                if stream is not None:
                    stream.close()

    def disown(self) -> None:
        """In a fork: it is the parent's, and `Popen` is not to wait for it."""
        self._process.returncode = 0


_pools: weakref.WeakSet[ProcessPool] = weakref.WeakSet()


def _end_processes(processes: Iterable[_Process]) -> None:
    processes = list(processes)
    for process in processes:
        process.kill()
    for process in processes:
        process.end()


def _end_own(processes: set[_Process], pid: int) -> None:
    if os.getpid() == pid:  # a fork that no hook saw has the parent's processes
        _end_processes(processes)


@atexit.register
def _close_pools() -> None:
    for pool in list(_pools):
        if pool.is_own:
            pool.close()


def _after_fork() -> None:
    for pool in list(_pools):
        pool.after_fork()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


def _in_thread(work: Callable[..., T], *arguments: Any) -> Future[T]:
    """Start work in a daemon thread: asyncio's few threads may all be in use, and an exit would wait for them."""
    result: Future[T] = Future()
    result.set_running_or_notify_cancel()  # cancelling the wait does not end it
    run = partial(settle, result, partial(work, *arguments))
    threading.Thread(target=run, name="workbench-process", daemon=True).start()
    return result


def _exit_text(code: int | None) -> str:
    if code is not None and code < 0:
        with contextlib.suppress(ValueError):
            return f"by signal {signal.Signals(-code).name}"
    return f"with exit code {code}"


def _pickled(function: Callable[[Any], Any]) -> bytes:
    import cloudpickle

    data = attempt(lambda: bytes(cloudpickle.dumps(function)))
    if isinstance(data, Exception):
        raise CaptureError(
            "the function cannot be sent to a separate process",
            found=f"{type(data).__name__}: {data}"[:200],
            expected="a function that pickle or cloudpickle can write",
            hint="put it into a .py file and import it from there; open files, locks and clients inside the function",
        )
    return data
