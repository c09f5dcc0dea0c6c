"""Memory shared by host and workers: the read-only rows and the score pages."""

from __future__ import annotations

import marshal
import mmap
import os
import tempfile
from collections.abc import Sequence
from pathlib import Path

BUFFER_BYTES = 8 * 1024 * 1024
"""Bytes of rows that one command may send: two commands are in flight, and each worker has a separate buffer.
A larger single row gets a worker with a buffer of sufficient size."""


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
        try:
            os.truncate(fd, self.nbytes)
            self._memory = mmap.mmap(fd, self.nbytes)
        except BaseException:
            os.close(self.fd)
            raise
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
    try:
        with os.fdopen(fd, "wb") as file:
            file.writelines(batches)
    except BaseException:
        os.close(for_reading)
        raise
    return for_reading


def _written_and_read() -> tuple[int, int]:
    """Two descriptors of anonymous memory: one writable, one read-only."""
    if hasattr(os, "memfd_create") and Path("/proc/self/fd").is_dir():
        fd = os.memfd_create("workbench", os.MFD_CLOEXEC)
        try:
            # Reopened through /proc: a duplicate of the writable descriptor would be writable, too.
            return fd, os.open(f"/proc/self/fd/{fd}", os.O_RDONLY | os.O_CLOEXEC)
        except BaseException:
            os.close(fd)
            raise
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
