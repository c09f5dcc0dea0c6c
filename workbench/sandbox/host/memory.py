"""Memory that host and workers share: the rows, which are read-only, and the score pages."""

from __future__ import annotations

import marshal
import os
import tempfile
from collections.abc import Sequence
from pathlib import Path

__all__ = ["Blob", "anonymous_file"]


class Blob:
    """A dataset's bytes, written once and mapped by every worker: the batches, and behind them where each of them is.

    So a worker is started with the same few words however large the dataset is.

    The descriptor that workers get is read-only. Mapping a writable one for reading would not do: a grader
    could make the mapping writable again and change the rows of every other worker.
    """

    def __init__(self, batches: Sequence[bytes], counts: Sequence[int]) -> None:
        spans, at = [], 0
        for data, count in zip(batches, counts, strict=True):
            spans.append((at, len(data), count))
            at += len(data)
        index = marshal.dumps(spans)
        self.index = at
        """Where the list of (offset, bytes, rows) of the batches begins."""
        self.nbytes = at + len(index)
        self.fd = _read_only([*batches, index])

    def close(self) -> None:
        """Give the memory back once no worker maps it."""
        os.close(self.fd)


def _read_only(batches: Sequence[bytes]) -> int:
    if hasattr(os, "memfd_create") and Path("/proc/self/fd").is_dir():
        with os.fdopen(os.memfd_create("workbench", os.MFD_CLOEXEC), "wb") as file:
            file.writelines(batches)
            file.flush()
            # Opened anew through /proc: a duplicate of the writable descriptor would be writable, too.
            return os.open(f"/proc/self/fd/{file.fileno()}", os.O_RDONLY | os.O_CLOEXEC)
    # Without memfd: a file whose name is gone before any worker starts.
    with tempfile.NamedTemporaryFile(prefix="workbench-") as file:
        file.writelines(batches)
        file.flush()
        return os.open(file.name, os.O_RDONLY | os.O_CLOEXEC)


def anonymous_file() -> int:
    """A descriptor of memory without a name, for one worker's scores."""
    if hasattr(os, "memfd_create"):
        return os.memfd_create("workbench", os.MFD_CLOEXEC)
    fd, name = tempfile.mkstemp()
    Path(name).unlink()
    return fd
