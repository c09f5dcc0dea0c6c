"""The zygote as seen from the host: the process that workers are forked from, its start, its requests, its end."""

from __future__ import annotations

import contextlib
import importlib.util
import json
import os
import re
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from functools import partial
from pathlib import Path
from queue import SimpleQueue
from typing import Any

from workbench.core.background import settle
from workbench.core.errors import SandboxError
from workbench.core.system_limits import check_open_files, is_limit, limited, refusal, undo_on_error
from workbench.sandbox import child

# A fixed hash seed makes the iteration order of sets, and thus some graders' scores, reproducible.
_FIXED = {"PYTHONHASHSEED": "0", "PYTHONUTF8": "1", "LC_ALL": "C.UTF-8", "TZ": "UTC", "PATH": ""}
_DYLD = ("LIBRARY_PATH", "FALLBACK_LIBRARY_PATH", "FRAMEWORK_PATH", "FALLBACK_FRAMEWORK_PATH")
_LOADER = tuple(f"DYLD_{name}" for name in _DYLD) if sys.platform == "darwin" else ("LD_LIBRARY_PATH",)
"""Where the system's loader searches for libraries; a Python with a separate shared library may need it to start.
Variables that inject code into a process, such as LD_PRELOAD and DYLD_INSERT_LIBRARIES, are excluded."""
HINT = "check that this Python runs alone: python -s -S -P -B -c pass"
"""The hint if the interpreter does not start."""
_warned: list[str] = []


class StartError(SandboxError):
    """The sandbox cannot start, so no grader can run in it."""

    @property
    def message(self) -> str:
        """The error as one line."""
        details = " ".join(self.found.split())
        return f"{self.what} ({details})" if details else self.what


def environment(variables: Mapping[str, str]) -> dict[str, str]:
    """The variables that the sandbox's interpreter starts with; it removes the loader's before it creates a worker.

    Args:
        variables: This process's variables.
    """
    loader = {name: _absolute(variables[name]) for name in _LOADER if variables.get(name)}
    return {**_FIXED, **loader}


def _absolute(folders: str) -> str:
    """The same folders as absolute paths, since the interpreter starts in another folder. Empty means the current one."""
    parts = re.split("[:;]" if sys.platform != "darwin" else ":", folders)
    # $ORIGIN and similar are loader variables, not folders.
    return ":".join(part if part.startswith("$") else str(Path(part).absolute()) for part in parts)


def start(script: Path, control: int, engine: str) -> subprocess.Popen[bytes]:
    """Run a script of this package with a clean interpreter.

    Args:
        script: The file.
        control: The only descriptor it inherits apart from the standard ones.
        engine: Path of the JavaScript engine, "" for none.

    Raises:
        StartError: The system has no fork, or the interpreter's program cannot be run.
    """
    if not hasattr(os, "fork"):
        raise StartError(
            "the sandbox needs a system with fork (Linux or macOS)",
            found=sys.platform,
            hint="run the workbench under Linux: WSL2, a container or Binder",
        )
    # Not -I, which would ignore the hash seed. -S excludes installed packages and the code their .pth files run.
    # Compiled files are cached as this process caches its files: without them, compiling takes half of the start-up time.
    keeps = ["-B"] if sys.dont_write_bytecode else []
    command = [sys.executable, "-s", "-S", "-P", *keeps, str(script), str(control), engine]
    try:
        return subprocess.Popen(
            command,
            pass_fds=[control],
            env=environment(os.environ),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            start_new_session=True,  # an interrupt in the notebook must not end it
            cwd="/",
        )
    except OSError as error:
        if is_limit(error):
            raise refusal(error, StartError, "the sandbox process did not start") from error
        raise StartError(
            "the sandbox process did not start",
            found=f"{sys.executable or 'this Python has no program'}: {error.strerror or error}",
            hint=HINT,
        ) from error


def warn_absent(error: StartError) -> None:
    """Warn once per process that code graders can be defined on this system but not run."""
    if _warned:
        return
    _warned.append(error.what)
    warnings.warn(
        f"{error.message}: code graders can be defined on this system, but neither validated nor run. Rules, judges, "
        f"labels and comparisons work. Next step: {error.hint or 'see workbench.sandbox_info()'}",
        stacklevel=2,
    )


def is_stopped(number: int) -> bool:
    """Whether a process is stopped, for example by SIGSTOP; False if the system does not report it."""
    try:
        text = Path(f"/proc/{number}/stat").read_bytes()
    except OSError:
        return False
    return text.rpartition(b")")[2].split()[:1] == [b"T"]


def engine_path() -> str:
    """Path of the JavaScript engine (package `quickjs-ng`); "" if it is not installed."""
    try:
        spec = importlib.util.find_spec("_quickjs")
    except (ImportError, ValueError):
        return ""
    return (spec.origin or "") if spec is not None else ""


def require_engine() -> None:
    """Require the JavaScript engine.

    Raises:
        SandboxError: It is not installed; the hint explains how to install it and which systems have wheels.
    """
    if engine_path():
        return
    raise SandboxError(
        "JavaScript graders need the package quickjs-ng, which is not installed",
        expected="the module _quickjs of quickjs-ng",
        hint="pip install quickjs-ng, then restart Python; wheels exist for Linux (x86_64, aarch64), macOS on "
        "Apple silicon and Windows; on an Intel Mac pip builds it from source, which needs a C compiler",
    )


Job = tuple[Callable[..., object], tuple[object, ...], "Future[object]"]


class CleanupThread:
    """Runs jobs in order on a separate thread, started with the first job.

    `SimpleQueue.put` is safe in a finalizer, which may run at any point; a lock of this package is not.
    """

    def __init__(self) -> None:
        self._jobs: SimpleQueue[Job | None] = SimpleQueue()
        self._thread: threading.Thread | None = None
        self._owner = 0

    def later(self, work: Callable[..., object], *args: object) -> Future[object]:
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

    def post(self, work: Callable[..., object], *args: object) -> Future[object]:
        """Queue a job without starting the thread: for finalizers."""
        future: Future[object] = Future()
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
        settle(future, partial(work, *args))
        del work, args, future, job  # a waiting thread must not keep a dataset alive


START_SECONDS = 60.0
"""Seconds until a zygote or a worker must be ready."""
_LOOK_SECONDS = 1.0
"""Seconds between checks whether a zygote that does not reply was stopped from outside: it is then replaced."""


class Zygote:
    """A running zygote process.

    Raises:
        StartError: The system has no fork, or the process does not start.
    """

    def __init__(self) -> None:
        # One request at a time: otherwise runs, cells and the janitor would read each other's replies.
        self._lock = threading.Lock()
        self._number, self._broken = 0, False
        check_open_files(StartError)
        with limited(StartError, "the sandbox process did not start"):
            own_socket, child_socket = socket.socketpair()
        # Closed here once the child has it: while one end is open here, the zygote's end would not be noticed.
        with child_socket:
            script = Path(child.__file__).with_name("zygote.py")
            with undo_on_error(own_socket.close):
                self._process = start(script, child_socket.fileno(), engine_path())
        self._control = own_socket
        # For every later request as well: a hanging zygote must not block the notebook.
        self._control.settimeout(_LOOK_SECONDS)
        self._await_ready()
        if self._process.stderr is not None:
            self._process.stderr.close()  # not read from here on, and a full pipe would block

    def _await_ready(self) -> None:
        with undo_on_error(self.close):
            try:
                self._read()
            except (OSError, EOFError) as error:
                self._process.kill()
                _, text = self._process.communicate()
                raise StartError(
                    "the sandbox process did not start",
                    found=text.decode(errors="replace").strip()[-500:] or str(error),
                    hint=HINT,
                ) from error

    @property
    def alive(self) -> bool:
        """Whether it still runs."""
        return not self._broken and self._process.poll() is None

    def request(self, message: dict[str, Any], fds: Sequence[int] = ()) -> dict[str, Any]:
        """Send one request and return its reply.

        Raises:
            SandboxError: The zygote has ended.
        """
        with self._lock:
            if not self.alive:
                raise SandboxError("the sandbox process ended", hint="run again")
            with undo_on_error(self._break):
                try:
                    reply = self._ask(message, fds)
                except (OSError, EOFError, ValueError) as error:
                    raise SandboxError(
                        "the sandbox process ended", found=str(error), hint="run again"
                    ) from error
        if "error" in reply:
            raise SandboxError("the sandbox process could not execute the request", found=str(reply["error"]))
        return reply

    def _break(self) -> None:
        """End it after a request without its reply: a late reply could be mistaken for the reply to the next request."""
        self._broken = True
        self._process.kill()

    def _ask(self, message: dict[str, Any], fds: Sequence[int]) -> dict[str, Any]:
        self._number += 1
        data = json.dumps({**message, "n": self._number}).encode()
        frame = struct.pack("<I", len(data)) + data
        sent = socket.send_fds(self._control, [frame], list(fds))
        # The descriptors were sent with the first byte, so the remaining bytes are text.
        if sent < len(frame):
            self._control.sendall(frame[sent:])
        reply = self._read()
        if reply.get("n") != self._number:
            raise EOFError("reply to another request")
        return reply

    def _read(self) -> dict[str, Any]:
        (size,) = struct.unpack("<I", self._exactly(4))
        return dict(json.loads(self._exactly(size)))

    def _exactly(self, size: int) -> bytes:
        data, until = b"", time.monotonic() + START_SECONDS
        while len(data) < size:
            try:
                part = self._control.recv(size - len(data))
            except TimeoutError:
                if time.monotonic() > until or is_stopped(self._process.pid):
                    raise
                continue
            if not part:
                raise EOFError("control socket closed")
            data += part
        return data

    def close(self) -> None:
        """End the zygote and with it every worker."""
        self._control.close()
        self._process.kill()
        self._process.wait()
        if self._process.stderr is not None:
            self._process.stderr.close()

    def close_at_exit(self) -> None:
        """Close it when Python exits."""
        with no_interrupts():
            self.close()

    def forget(self) -> None:
        """In a forked process: close this process's end of the parent's zygote, and leave the zygote running."""
        self._control.close()
        self._process.returncode = 0  # a child of another process: this one cannot wait for it
