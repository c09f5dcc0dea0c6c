"""The zygote as seen from the host: start the process that workers are forked from, send it requests, end it."""

from __future__ import annotations

import json
import socket
import struct
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from workbench.core.errors import SandboxError
from workbench.core.system_limits import check_open_files, limited
from workbench.sandbox import child
from workbench.sandbox.host.cleanup_thread import no_interrupts
from workbench.sandbox.host.engine import engine_path
from workbench.sandbox.host.interpreter import HINT, StartError, start
from workbench.sandbox.host.stopped import is_stopped

__all__ = ["START_SECONDS", "Zygote"]

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
            try:
                script = Path(child.__file__).with_name("zygote.py")
                self._process = start(script, child_socket.fileno(), engine_path())
            except BaseException:
                own_socket.close()
                raise
        self._control = own_socket
        # For every later request as well: a hanging zygote must not block the notebook.
        self._control.settimeout(_LOOK_SECONDS)
        self._await_ready()
        if self._process.stderr is not None:
            self._process.stderr.close()  # not read from here on, and a full pipe would block

    def _await_ready(self) -> None:
        try:
            self._read()
        except BaseException as error:
            self._process.kill()
            _, text = self._process.communicate()
            self._control.close()
            if not isinstance(error, OSError | EOFError):
                raise  # an interrupt: no resource may leak
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
            try:
                reply = self._ask(message, fds)
            except BaseException as error:
                # A late reply could be mistaken for the reply to the next request.
                self._broken = True
                self._process.kill()
                if isinstance(error, OSError | EOFError | ValueError):
                    raise SandboxError(
                        "the sandbox process ended", found=str(error), hint="run again"
                    ) from error
                raise
        if "error" in reply:
            raise SandboxError("the sandbox process could not execute the request", found=str(reply["error"]))
        return reply

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
