"""Processes of their own for functions that users wrote: whatever such a function does, it can be ended in time.

Each process calls the function in its main thread, where signals work, one argument at a time. It has the user's rights: this
is no sandbox. Messages are pickled both ways; the function is pickled by value where no module has it.
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
import weakref
from collections.abc import Callable
from typing import Any

from workbench.errors import CaptureError
from workbench.user_functions.late import LateError
from workbench.user_functions.process_child import read_message, write_message

__all__ = ["ProcessLostError", "ProcessPool"]

_CODE = "import sys; sys.path[:] = {path!r}; from workbench.user_functions.process_child import main; main()"


class ProcessLostError(RuntimeError):
    """The process ended while the function ran, such as by a crash in C code."""


class ProcessPool:
    """Processes that call one function. They start when they are needed, and end with the pool or with this process.

    Args:
        function: Called with one argument; it must be picklable, by cloudpickle where it is in no module.

    Raises:
        CaptureError: The function cannot be pickled.
    """

    def __init__(self, function: Callable[[Any], Any]) -> None:
        self._setup = _pickled(function)
        self._idle: list[_Process] = []
        self._all: set[_Process] = set()
        self._lock = threading.Lock()
        self._pid = os.getpid()
        weakref.finalize(self, _end_all, self._all).atexit = False
        _pools.add(self)

    async def call(self, argument: Any, seconds: float | None = None) -> Any:
        """What the function returns, in a process that is free.

        Args:
            argument: Anything that can be pickled.
            seconds: The most that the call may take; None for no limit. Then the process is ended.

        Raises:
            LateError: It took longer.
            ProcessLostError: The process ended by itself.
            Exception: What the function raised.
        """
        data = pickle.dumps(argument)
        process = await asyncio.to_thread(self._take)
        try:
            outcome, value = await asyncio.to_thread(process.ask, data, seconds)
        except BaseException:  # a cancellation too: the call goes on in a thread, and ends with its process
            process.end()
            self._all.discard(process)
            raise
        with self._lock:
            self._idle.append(process)
        if outcome == "raised":
            raise value
        return value

    def close(self) -> None:
        """End all processes; the next call starts new ones."""
        with self._lock:
            self._idle.clear()
            _end_all(self._all)

    def _take(self) -> _Process:
        with self._lock:
            if self._pid != os.getpid():  # a fork: the processes are the parent's
                self._pid, self._idle = os.getpid(), []
                self._all.clear()
            if self._idle:
                return self._idle.pop()
        process = _Process()
        self._all.add(process)
        outcome, value = process.ask(self._setup, None)
        if outcome == "raised":
            process.end()
            self._all.discard(process)
            raise value
        return process


class _Process:
    """One process, and the messages to and from it."""

    def __init__(self) -> None:
        self._late = False
        self._process = subprocess.Popen(
            [sys.executable, "-c", _CODE.format(path=sys.path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,  # what it starts is ended with it, and Ctrl-C in a terminal is ours alone
        )

    def ask(self, data: bytes, seconds: float | None) -> tuple[str, Any]:
        """Send a pickled message and wait for the reply: "returned" or "raised", and the value."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        timer = threading.Timer(seconds, self._end_late) if seconds is not None else None
        if timer is not None:
            timer.daemon = True
            timer.start()
        try:
            write_message(self._process.stdin, data)
            reply = read_message(self._process.stdout)
        except (OSError, ValueError):
            reply = None
        finally:
            if timer is not None:
                timer.cancel()
        if self._late:
            raise LateError(blocked=False)
        if reply is None:
            self.end()
            raise ProcessLostError(
                f"the process of the function ended {_exit_text(self._process.returncode)}"
            )
        outcome, value = pickle.loads(reply)  # noqa: S301 (of a function of the user's own, with the same rights)
        return outcome, value

    def _end_late(self) -> None:
        self._late = True
        self.end()

    def end(self) -> None:
        """Kill the process and what it started."""
        with contextlib.suppress(OSError):
            if hasattr(os, "killpg"):
                os.killpg(self._process.pid, signal.SIGKILL)
            else:
                self._process.kill()
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout):
            with contextlib.suppress(OSError, ValueError):
                if stream is not None:
                    stream.close()


_pools: weakref.WeakSet[ProcessPool] = weakref.WeakSet()


def _end_all(processes: set[_Process]) -> None:
    while processes:
        processes.pop().end()


@atexit.register
def _close_pools() -> None:
    for pool in list(_pools):
        if pool._pid == os.getpid():  # noqa: SLF001 (of this module)
            pool.close()


def _exit_text(code: int | None) -> str:
    if code is not None and code < 0:
        with contextlib.suppress(ValueError):
            return f"by signal {signal.Signals(-code).name}"
    return f"with exit code {code}"


def _pickled(function: Callable[[Any], Any]) -> bytes:
    import cloudpickle

    try:
        return bytes(cloudpickle.dumps(function))
    except Exception as error:  # noqa: BLE001 (whatever a user's object raises while it is pickled)
        raise CaptureError(
            "the function cannot be sent to a process of its own",
            found=f"{type(error).__name__}: {error}"[:200],
            expected="a function that pickle or cloudpickle can write",
            hint="put it into a .py file and import it from there; open files, locks and clients inside the function",
        ) from None
