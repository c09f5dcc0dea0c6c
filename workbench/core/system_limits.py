"""The resources of this process: their limits, errors that name the limit, and their release when something fails."""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from workbench.core.errors import WorkbenchError

OPEN_FILES = 128
"""Minimum open files of this process: two for each worker, a few for the process that creates them and for the
event loop, and those of Python, pandas and a notebook."""
_MIN_FILES = 66
"""Below this limit no worker starts: it moves its two pipes to the numbers 64 and 65 first."""
FILE_BYTES = 64 * 1024 * 1024
"""Minimum file size in bytes: rows and scores are sent to workers in memory that counts as a file, 16 MiB
for rows that are streamed, and the size of the rows for a dataset that is encoded once."""
_PROCESSES = 64
"""Processes and threads of this user beyond the current ones: workers, their zygote, and this process's threads."""
_ADDRESS_SPACE = 4 * 1024**3
"""Bytes of address space: a worker may have 512 MiB beyond its start, pyarrow and numpy reserve some hundred MiB."""


@dataclass(frozen=True)
class _Limit:
    """A resource limit: its name in `resource`, what it counts, the shell's option for it, and the required minimum."""

    name: str
    counts: str
    option: str
    least: int
    unit: int = 1

    @property
    def value(self) -> int | None:
        """The current value; None for unlimited, or if the system has no such limit."""
        try:
            import resource
        except ImportError:
            return None  # Windows
        number = getattr(resource, self.name, None)
        soft = resource.RLIM_INFINITY if number is None else resource.getrlimit(number)[0]
        return None if soft == resource.RLIM_INFINITY else int(soft)

    def as_error(self, kind: type[WorkbenchError], what: str) -> WorkbenchError:
        """The error that names it."""
        return kind(
            what,
            found=f"{self.name} allows {self.value:,} {self.counts}",
            expected=f"at least {self.least:,}",
            hint=f"raise the limit: ulimit {self.option} {self.least // self.unit}, or in Python resource.setrlimit",
        )


_FILES = _Limit("RLIMIT_NOFILE", "open files", "-n", OPEN_FILES)
_LIMITS = {
    errno.EMFILE: _FILES,
    errno.EFBIG: _Limit("RLIMIT_FSIZE", "bytes per file", "-f", FILE_BYTES, 1024),
    errno.EAGAIN: _Limit("RLIMIT_NPROC", "processes and threads", "-u", _PROCESSES),
    errno.ENOMEM: _Limit("RLIMIT_AS", "bytes of address space", "-v", _ADDRESS_SPACE, 1024),
}
"""The limit that causes an error number."""


def check_open_files(kind: type[WorkbenchError]) -> None:
    """Refuse a process whose limit of open files is too low for a worker.

    Raises:
        WorkbenchError: Of the kind; it names the limit, its value and the required value.
    """
    value = _FILES.value
    if value is not None and value < _MIN_FILES:
        raise _FILES.as_error(kind, "this process may open too few files for a sandbox worker")


@contextlib.contextmanager
def limited(kind: type[WorkbenchError], what: str) -> Iterator[None]:
    """Context for code that takes descriptors, memory or processes: a system error becomes an error that names the limit.

    Args:
        kind: Class of the error.
        what: The operation that failed.
    """
    try:
        yield
    except OSError as error:
        raise refusal(error, kind, what) from error


def is_limit(error: OSError) -> bool:
    """Whether a limit of this process is the most likely cause of a system error."""
    limit = _LIMITS.get(error.errno or 0)
    return limit is not None and limit.value is not None


def refusal(error: OSError, kind: type[WorkbenchError], what: str) -> WorkbenchError:
    """The error for a system error, with the limit that caused it if there is one."""
    if is_limit(error):
        return _LIMITS[error.errno or 0].as_error(kind, what)
    details: dict[str, Any] = {"found": os.strerror(error.errno) if error.errno else str(error)}
    return kind(what, **details, hint="free the exhausted resource, or run elsewhere")


def cores() -> int:
    """Number of processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 2


class undo_on_error:  # noqa: N801 (used like a function)
    """Context that undoes a step if what follows fails, also by an interrupt or a cancellation.

    Args:
        undo: Called with the arguments after an error, which is then raised.
        arguments: Of `undo`.
    """

    def __init__(self, undo: Callable[..., object], *arguments: object) -> None:
        self._undo, self._arguments = undo, arguments

    def __enter__(self) -> None:
        return

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is not None:
            self._undo(*self._arguments)
