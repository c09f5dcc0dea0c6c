"""One worker as seen from the host (fork it, send commands, read replies, end it), and the memory it shares.

The host never trusts a reply: a frame has a fixed header whose magic, sequence number and
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
import struct
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from workbench.core.errors import SandboxError
from workbench.core.system_limits import limited, undo_on_error
from workbench.sandbox.child.protocol import CAPACITY, HEADER, MAGIC, MAX_TEXT
from workbench.sandbox.host.zygote import START_SECONDS, StartError, Zygote

ENDED = "the process ended"
TIMED_OUT = "timed out"
NOT_READING = "it does not read commands"
STOPPED = "it was stopped"
_SEND_SECONDS = 5.0
"""Seconds without reading a command after which a worker is considered stuck."""
_CLOSE_SECONDS = 0.5
"""Seconds for the system to close all pipes of a process that ends."""
BUFFER_BYTES = 8 * 1024 * 1024
"""Bytes of rows that one command may send: two commands are in flight, and each worker has a separate buffer.
A larger single row gets a worker with a buffer of sufficient size."""


class WorkerLostError(Exception):
    """A worker ended by itself, or was ended because its reply was malformed.

    Attributes:
        status: The wait status, None if unknown.
        reason: What the host observed.
    """

    def __init__(self, reason: str, status: int | None = None) -> None:
        super().__init__(reason)
        self.reason, self.status = reason, status


class Blob:
    """A dataset's bytes, written once and mapped by every worker: the batches, followed by their offsets.

    So a worker's start-up arguments are equally short for every dataset size.

    The descriptor that workers get is read-only. A read-only mapping of a writable one would not suffice: a grader
    could make the mapping writable again and change the rows of every other worker.
    """

    def __init__(self, batches: Sequence[bytes], counts: Sequence[int]) -> None:
        spans, at = [], 0
        for data, count in zip(batches, counts, strict=True):
            spans.append((at, len(data), count))
            at += len(data)
        index = marshal.dumps(spans)
        self.index = at
        """Offset of the list of (offset, bytes, rows) of the batches."""
        self.nbytes = at + len(index)
        self.fd = _read_only([*batches, index])

    def close(self) -> None:
        """Release the memory once no worker maps it."""
        os.close(self.fd)


class RowBuffer:
    """Memory that sends one worker its rows, two commands' worth: the host writes, the worker reads.

    As with a `Blob`, the worker's descriptor is read-only. The worker can see only the rows it has to grade.

    Args:
        command_bytes: Bytes of rows that one command may send.
    """

    def __init__(self, command_bytes: int) -> None:
        self.command_bytes = command_bytes
        self.nbytes = 2 * command_bytes
        fd, self.fd = _written_and_read()
        with undo_on_error(os.close, self.fd):
            try:
                os.truncate(fd, self.nbytes)
                self._memory = mmap.mmap(fd, self.nbytes)
            finally:
                os.close(fd)

    def write(self, half: int, data: bytes) -> int:
        """Write the rows of one command to a half; returns their offset."""
        at = half * self.command_bytes
        self._memory[at : at + len(data)] = data
        return at

    def close(self) -> None:
        """Release the memory; a living worker retains its mapping."""
        os.close(self.fd)
        self._memory.close()


def _read_only(batches: Sequence[bytes]) -> int:
    fd, for_reading = _written_and_read()
    with undo_on_error(os.close, for_reading), os.fdopen(fd, "wb") as file:
        file.writelines(batches)
    return for_reading


def _written_and_read() -> tuple[int, int]:
    """Two descriptors of anonymous memory: one writable, one read-only."""
    if hasattr(os, "memfd_create") and Path("/proc/self/fd").is_dir():
        fd = os.memfd_create("workbench", os.MFD_CLOEXEC)
        with undo_on_error(os.close, fd):
            # Reopened through /proc: a duplicate of the writable descriptor would be writable, too.
            return fd, os.open(f"/proc/self/fd/{fd}", os.O_RDONLY | os.O_CLOEXEC)
    # Without memfd: a file that is unlinked before any worker starts.
    fd, name = tempfile.mkstemp(prefix="workbench-")
    try:
        return fd, os.open(name, os.O_RDONLY | os.O_CLOEXEC)
    finally:
        Path(name).unlink()


def anonymous_file() -> int:
    """A descriptor of anonymous memory for one worker's scores."""
    if hasattr(os, "memfd_create"):
        return os.memfd_create("workbench", os.MFD_CLOEXEC)
    fd, name = tempfile.mkstemp()
    Path(name).unlink()
    return fd


@dataclass(frozen=True)
class Layout:
    """Start parameters of a worker.

    Attributes:
        layers: Names of its isolation layers.
        memory_bytes: Address space beyond its initial size.
        buffer_bytes: Bytes of rows that a command may send through the worker's separate buffer; 0 if none are sent.
        library: Whether it has all of the standard library that graders may import, for which a first worker waits.
    """

    layers: tuple[str, ...]
    memory_bytes: int
    buffer_bytes: int = 0
    library: bool = True


@dataclass(eq=False)
class Worker:
    """One forked worker, as seen from the host.

    Attributes:
        level: The level its self-test supports: "kernel", "partial" or "process"; "" before it is ready.
        info: The active layers and the probes that succeeded.
        has_library: Whether it has all of the standard library that graders may import.
        buffer: Where its rows are written, if they are sent with each command.
    """

    zygote: Zygote
    layout: Layout
    pid: int = 0
    level: str = ""
    info: dict[str, Any] = field(default_factory=dict)
    has_library: bool = False
    _in: int = -1
    _out: int = -1
    _buffer: bytearray = field(default_factory=bytearray)
    # Random, so that a reply forged beforehand cannot have the right number; 62 bits leave room to count
    # up.
    _seq: int = field(default_factory=lambda: secrets.randbits(62) + 1)
    _closed: bool = False
    buffer: RowBuffer | None = None

    @classmethod
    def start(cls, zygote: Zygote, layout: Layout, blob: Blob | None = None) -> Worker:
        """Fork a worker. It is not ready yet: its first frame reports that, see `await_ready`.

        Raises:
            StartError: The system has no descriptors or memory for it; the error names the limit.
            SandboxError: The zygote has ended.
        """
        worker, child_fds = cls(zygote, layout), list[int]()
        with undo_on_error(worker.forget):  # no descriptor may leak
            try:
                with limited(StartError, "a sandbox worker did not start"):
                    worker._connect(child_fds)
                rows = worker.buffer or blob
                fds = [*child_fds, *([rows.fd] if rows else [])]
                reply = zygote.request(worker._order(blob), fds)
                worker.pid, worker.has_library = int(reply["pid"]), bool(reply["library"])
            finally:
                # The worker's ends: while the host has one open, it never sees that pipe end. The blob's is for
                # later workers, too.
                for fd in child_fds:
                    os.close(fd)
        return worker

    def _connect(self, child_fds: list[int]) -> None:
        """Create the page, the pipes and the buffer; `child_fds` gets the worker's end of both pipes and the page."""
        page_fd = anonymous_file()
        child_fds.append(page_fd)
        # Two halves of 8-byte scores.
        os.truncate(page_fd, 16 * CAPACITY)
        self._page = mmap.mmap(page_fd, 16 * CAPACITY)
        self.scores = np.frombuffer(self._page, np.float64)
        self.bits = np.frombuffer(self._page, np.uint64)
        child_in, self._in = os.pipe()
        child_fds.insert(0, child_in)
        self._out, child_out = os.pipe()
        child_fds.insert(1, child_out)
        self.buffer = RowBuffer(self.layout.buffer_bytes) if self.layout.buffer_bytes else None
        # A worker may send half a frame or stop reading; neither may block the host.
        os.set_blocking(self._out, False)
        os.set_blocking(self._in, False)

    _page: mmap.mmap = field(init=False)
    scores: np.ndarray[Any, np.dtype[np.float64]] = field(init=False)
    bits: np.ndarray[Any, np.dtype[np.uint64]] = field(init=False)

    def _order(self, blob: Blob | None) -> dict[str, Any]:
        order = {
            "op": "fork",
            "layers": self.layout.layers,
            "memory": self.layout.memory_bytes,
            "page_bytes": 16 * CAPACITY,
            "library": self.layout.library,
        }
        if self.buffer is not None:
            order |= {"blob_bytes": self.buffer.nbytes}
        elif blob is not None:
            order |= {"blob_bytes": blob.nbytes, "index": blob.index}
        return order

    def fileno(self) -> int:
        """The descriptor of its replies, for `select`."""
        return self._out

    def widen(self) -> None:
        """Enlarge its pipe to 1 MB if the system allows it: then sending does not block."""
        with contextlib.suppress(OSError, AttributeError, ImportError):
            import fcntl  # not on Windows, where no worker runs

            fcntl.fcntl(self._in, fcntl.F_SETPIPE_SZ, 1 << 20)

    def await_ready(self, seconds: float = START_SECONDS) -> None:
        """Wait until it has confined itself and tested its isolation.

        Raises:
            WorkerLostError: It ended before that.
        """
        if not self.level:
            self.info = self.receive(0, seconds) or {}
            self.level = str(self.info["level"])

    def send(self, message: dict[str, Any]) -> int:
        """Send a command; returns the sequence number of its reply.

        Raises:
            WorkerLostError: The worker has ended.
        """
        self._seq += 1
        data = marshal.dumps({**message, "seq": self._seq})
        try:
            self._write(struct.pack("<I", len(data)) + data)
        except OSError as error:
            raise WorkerLostError(ENDED if self._has_ended() else NOT_READING) from error
        return self._seq

    def _has_ended(self) -> bool:
        """Whether it closed its replies as well as its commands: a process that ends does, on a busy machine a moment later."""
        deadline = time.monotonic() + _CLOSE_SECONDS
        while (left := deadline - time.monotonic()) > 0:
            try:
                if self._fill():
                    return True
            except WorkerLostError:
                return True
            readable([self], left)
        return False

    def _write(self, data: bytes) -> None:
        """Write with a deadline: a grader that forges replies need never read a command."""
        frame, deadline = memoryview(data), time.monotonic() + _SEND_SECONDS
        while frame:
            try:
                frame = frame[os.write(self._in, frame) :]
            except BlockingIOError:
                if time.monotonic() > deadline:
                    raise WorkerLostError(TIMED_OUT) from None
                _await_writable(self._in, deadline - time.monotonic())

    def receive(
        self, seq: int, seconds: float, *, unless: Callable[[], bool] = lambda: False
    ) -> dict[str, Any] | None:
        """Wait for the reply to one command; None if `unless` returns True.

        Raises:
            WorkerLostError: The worker ended, sent a malformed reply, or took longer than `seconds`.
        """
        deadline = time.monotonic() + seconds
        while (frame := self.poll(seq)) is None:
            left = deadline - time.monotonic()
            if left <= 0:
                raise WorkerLostError(TIMED_OUT)
            if unless():
                return None
            # In short steps, to notice a cancelled run.
            readable([self], min(left, 0.1))
        return frame

    def answer(self, message: dict[str, Any], seconds: float) -> dict[str, Any]:
        """Send a command and wait for its reply. See `send` and `receive`."""
        return self.receive(self.send(message), seconds) or {}

    def poll(self, seq: int) -> dict[str, Any] | None:
        """The reply to command `seq` if it is complete, else None.

        Raises:
            WorkerLostError: The worker ended or sent a malformed reply.
        """
        ended = self._fill()
        if len(self._buffer) < HEADER.size:
            return None
        magic, number, size = HEADER.unpack_from(self._buffer)
        if magic != MAGIC or number != seq or size > MAX_TEXT:
            raise WorkerLostError("malformed reply")
        end = HEADER.size + size
        if len(self._buffer) < end:
            if ended:  # in the middle of its reply
                raise WorkerLostError(ENDED)
            return None
        text = bytes(self._buffer[HEADER.size : end])
        del self._buffer[:end]
        return _parse(text)

    def _fill(self) -> bool:
        """Read the available bytes; returns whether the pipe has ended.

        At most one frame and a header are buffered: a flood waits in the pipe.
        """
        while len(self._buffer) <= MAX_TEXT + HEADER.size:
            try:
                part = os.read(self._out, 65536)
            except BlockingIOError:
                return False
            if not part:
                # Bytes sent before its end still count.
                if len(self._buffer) < HEADER.size:
                    raise WorkerLostError(ENDED)
                return True
            self._buffer += part
        return False

    def close(self) -> int | None:
        """Kill it, free its resources, and return its wait status (None if unknown)."""
        if self._closed:
            return None
        self._closed = True
        status = None
        # If the zygote has ended, so have its workers.
        with contextlib.suppress(SandboxError):
            status = self.zygote.request({"op": "kill", "pid": self.pid})["status"]
        self._free()
        return status if isinstance(status, int) else None

    def forget(self) -> None:
        """In a forked process: close the descriptors of the parent's worker, and leave the worker running."""
        if not self._closed:
            self._closed = True
            self._free()

    def _free(self) -> None:
        for fd in (self._in, self._out):
            if fd >= 0:
                os.close(fd)
        if self.buffer is not None:
            self.buffer.close()
        # Memory cannot be unmapped while arrays point into it. Some attributes are missing if the start failed.
        self.__dict__.pop("scores", None)
        self.__dict__.pop("bits", None)
        with contextlib.suppress(
            BufferError, AttributeError
        ):  # a caller still has a view, which frees it later
            self._page.close()


def _await_writable(fd: int, seconds: float) -> None:
    """Wait until a pipe accepts more, at most for the given time."""
    if hasattr(select, "poll"):
        poll = select.poll()
        poll.register(fd, select.POLLOUT)
        poll.poll(max(0.0, 1000 * seconds))
    else:
        select.select([], [fd], [], max(0.0, seconds))


def readable(workers: Sequence[Worker], seconds: float) -> list[Worker]:
    """The workers with something to read, waiting at most `seconds` for the first."""
    if not hasattr(select, "poll"):
        return list(select.select(workers, [], [], seconds)[0])
    # poll, since select supports no descriptor above 1,023 and notebooks run long.
    poll = select.poll()
    for worker in workers:
        poll.register(worker, select.POLLIN)
    ready = {fd for fd, _ in poll.poll(1000 * seconds)}
    return [worker for worker in workers if worker.fileno() in ready]


def _parse(text: bytes) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise WorkerLostError("malformed reply") from error
    if not isinstance(value, dict):
        raise WorkerLostError("malformed reply")
    return value
