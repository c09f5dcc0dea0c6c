"""The host's side of the sandbox's processes: start the zygote, fork workers, talk to them, end them.

The host never trusts what comes back: a frame has a fixed header whose magic, sequence number and
length are checked before its text is read, the text is JSON of bounded size, and nothing is unpickled.
"""

from __future__ import annotations

import contextlib
import json
import marshal
import mmap
import os
import secrets
import select
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from workbench.errors import SandboxError
from workbench.sandbox.protocol import CAPACITY, HEADER, MAGIC, MAX_TEXT

__all__ = ["Blob", "Death", "Layout", "Worker", "Zygote", "readable"]

TIMED_OUT = "it took too long"
_ENVIRONMENT = {"PYTHONHASHSEED": "0", "PYTHONUTF8": "1", "LC_ALL": "C.UTF-8", "TZ": "UTC", "PATH": ""}
_START_SECONDS = 60.0


class Death(Exception):  # noqa: N818 (a fact about a worker, handled by the pool)
    """A worker ended, or spoke nonsense and was ended.

    Attributes:
        status: The wait status, None where it is unknown.
        reason: What the host saw.
    """

    def __init__(self, reason: str, status: int | None = None) -> None:
        super().__init__(reason)
        self.reason, self.status = reason, status


@dataclass(frozen=True)
class Layout:
    """What a worker is started with.

    Attributes:
        layers: Names of the locks to put on.
        memory_bytes: Address space beyond what the worker starts with.
        shard: First and one past the last row to decode beforehand.
    """

    layers: tuple[str, ...]
    memory_bytes: int
    shard: tuple[int, int] = (0, 0)


class Blob:
    """A dataset's bytes in anonymous shared memory, written once and mapped by every worker."""

    def __init__(self, batches: Sequence[bytes], counts: Sequence[int]) -> None:
        self.fd = _anonymous_file()
        self.spans: list[tuple[int, int, int]] = []
        self.nbytes = 0
        with os.fdopen(os.dup(self.fd), "wb") as file:
            for data, count in zip(batches, counts, strict=True):
                file.write(data)
                self.spans.append((self.nbytes, len(data), count))
                self.nbytes += len(data)

    def close(self) -> None:
        """Give the memory back once no worker maps it."""
        os.close(self.fd)


def _anonymous_file() -> int:
    if hasattr(os, "memfd_create"):
        return os.memfd_create("workbench", os.MFD_CLOEXEC)
    fd, name = tempfile.mkstemp()
    Path(name).unlink()
    return fd


class Zygote:
    """A running zygote process.

    Raises:
        SandboxError: This system has no fork, or the process does not come up.
    """

    def __init__(self) -> None:
        if not hasattr(os, "fork"):
            raise SandboxError(
                "the sandbox needs a system with fork (Linux or macOS)",
                found=sys.platform,
                hint="run the workbench under Linux: WSL2, a container or Binder",
            )
        self._lock = threading.Lock()
        ours, theirs = socket.socketpair()
        script = str(Path(__file__).with_name("zygote.py"))
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-s", "-S", "-P", "-B", script, str(theirs.fileno())],
                pass_fds=[theirs.fileno()],
                env=_ENVIRONMENT,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                start_new_session=True,  # an Interrupt in the notebook must not end it
                cwd="/",
            )
        self._control = ours
        self._control.settimeout(_START_SECONDS)
        self._await_ready()

    def _await_ready(self) -> None:
        try:
            self._read()
        except (OSError, EOFError) as error:
            self._process.kill()
            _, text = self._process.communicate()
            raise SandboxError(
                "the sandbox process did not start",
                found=text.decode(errors="replace").strip()[-500:] or str(error),
                hint="check that this Python runs on its own: python -s -S -P -B -c pass",
            ) from error

    @property
    def alive(self) -> bool:
        """Whether it still runs."""
        return self._process.poll() is None

    def request(self, message: dict[str, Any], fds: Sequence[int] = ()) -> dict[str, Any]:
        """Send one request and return its answer.

        Raises:
            SandboxError: The zygote is gone.
        """
        data = json.dumps(message).encode()
        try:
            with self._lock:
                frame = struct.pack("<I", len(data)) + data
                sent = socket.send_fds(self._control, [frame], list(fds))
                if sent < len(frame):
                    self._control.sendall(frame[sent:])
                return self._read()
        except (OSError, EOFError) as error:
            raise SandboxError("the sandbox process ended", found=str(error), hint="run again") from error

    def _read(self) -> dict[str, Any]:
        (size,) = struct.unpack("<I", self._exactly(4))
        return dict(json.loads(self._exactly(size)))

    def _exactly(self, size: int) -> bytes:
        data = b""
        while len(data) < size:
            part = self._control.recv(size - len(data))
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


@dataclass(eq=False)
class Worker:
    """One forked worker, seen from the host.

    Attributes:
        level: What its self-test allows to say: "kernel", "partial" or "process"; "" before it is ready.
        info: The layers it has and the probes that succeeded.
    """

    zygote: Zygote
    layout: Layout
    pid: int = 0
    level: str = ""
    info: dict[str, Any] = field(default_factory=dict)
    _in: int = -1
    _out: int = -1
    _buffer: bytearray = field(default_factory=bytearray)
    _seq: int = field(default_factory=lambda: secrets.randbits(62) + 1)
    _closed: bool = False

    @classmethod
    def start(cls, zygote: Zygote, layout: Layout, blob: Blob | None = None) -> Worker:
        """Fork a worker. It is not ready yet: its first frame says so, see `await_ready`."""
        worker = cls(zygote, layout)
        page_fd = _anonymous_file()
        os.truncate(page_fd, 16 * CAPACITY)
        worker._page = mmap.mmap(page_fd, 16 * CAPACITY)
        worker.scores = np.frombuffer(worker._page, np.float64)
        worker.bits = np.frombuffer(worker._page, np.uint64)
        child_in, worker._in = os.pipe()
        worker._out, child_out = os.pipe()
        fds = [child_in, child_out, page_fd, *([blob.fd] if blob else [])]
        try:
            worker.pid = int(zygote.request(worker._order(blob), fds)["pid"])
        finally:
            for fd in fds[:3]:
                os.close(fd)
        os.set_blocking(worker._out, False)
        return worker

    _page: mmap.mmap = field(init=False)
    scores: np.ndarray[Any, np.dtype[np.float64]] = field(init=False)
    bits: np.ndarray[Any, np.dtype[np.uint64]] = field(init=False)

    def _order(self, blob: Blob | None) -> dict[str, Any]:
        order = {
            "op": "fork",
            "layers": self.layout.layers,
            "memory": self.layout.memory_bytes,
            "page_bytes": 16 * CAPACITY,
        }
        if blob is not None:
            order |= {"blob_bytes": blob.nbytes, "spans": blob.spans, "shard": self.layout.shard}
        return order

    def fileno(self) -> int:
        """The descriptor answers come from, for `select`."""
        return self._out

    def await_ready(self, seconds: float = _START_SECONDS) -> None:
        """Wait until it has decoded its shard, locked down and tested its locks.

        Raises:
            Death: It ended before that.
        """
        if not self.level:
            self.info = self.receive(0, seconds)
            self.level = str(self.info["level"])

    def send(self, message: dict[str, Any]) -> int:
        """Send a command; returns the number its answer will carry.

        Raises:
            Death: The worker is gone.
        """
        self._seq += 1
        data = marshal.dumps({**message, "seq": self._seq})
        try:
            frame = memoryview(struct.pack("<I", len(data)) + data)
            while frame:
                frame = frame[os.write(self._in, frame) :]
        except OSError as error:
            raise Death("it no longer takes commands") from error
        return self._seq

    def receive(self, seq: int, seconds: float) -> dict[str, Any]:
        """Wait for the answer to one command.

        Raises:
            Death: The worker ended, spoke nonsense, or took longer than `seconds`.
        """
        deadline = time.monotonic() + seconds
        while (frame := self.poll(seq)) is None:
            left = deadline - time.monotonic()
            if left <= 0:
                raise Death(TIMED_OUT)
            readable([self], min(left, 0.5))
        return frame

    def poll(self, seq: int) -> dict[str, Any] | None:
        """The answer to command `seq` if it has come whole, else None.

        Raises:
            Death: The worker ended or spoke nonsense.
        """
        self._fill()
        if len(self._buffer) < HEADER.size:
            return None
        magic, got, size = HEADER.unpack_from(self._buffer)
        if magic != MAGIC or got != seq or size > MAX_TEXT:
            raise Death("it broke the protocol")
        end = HEADER.size + size
        if len(self._buffer) < end:
            return None
        text = bytes(self._buffer[HEADER.size : end])
        del self._buffer[:end]
        return _parse(text)

    def _fill(self) -> None:
        """Read what is there. One frame and a header is the most we hold: a flood waits in the pipe."""
        while len(self._buffer) <= MAX_TEXT + HEADER.size:
            try:
                part = os.read(self._out, 65536)
            except BlockingIOError:
                return
            if not part:
                if len(self._buffer) < HEADER.size:
                    raise Death("the grader ended its own process, or crashed it")
                return
            self._buffer += part

    def close(self) -> int | None:
        """Kill it, free what it held, and return its wait status (None where unknown)."""
        if self._closed:
            return None
        self._closed = True
        status = None
        with contextlib.suppress(SandboxError):
            status = self.zygote.request({"op": "kill", "pid": self.pid})["status"]
        for fd in (self._in, self._out):
            os.close(fd)
        del self.scores, self.bits
        with contextlib.suppress(BufferError):  # a caller still holds a view; the garbage collector frees it
            self._page.close()
        return status if isinstance(status, int) else None


def readable(workers: Sequence[Worker], seconds: float) -> list[Worker]:
    """The workers with something to read, waiting at most `seconds` for the first."""
    if not hasattr(select, "poll"):
        return list(select.select(workers, [], [], seconds)[0])
    # poll, since select knows no descriptor above 1,023 and notebooks live long.
    poll = select.poll()
    for worker in workers:
        poll.register(worker, select.POLLIN)
    ready = {fd for fd, _ in poll.poll(1000 * seconds)}
    return [worker for worker in workers if worker.fileno() in ready]


def _parse(text: bytes) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise Death("it broke the protocol") from error
    if not isinstance(value, dict):
        raise Death("it broke the protocol")
    return value
