"""The resource limits of this process, and errors that name the one behind a refusal of the system."""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from workbench.errors import WorkbenchError

__all__ = ["FILE_BYTES", "OPEN_FILES", "check_open_files", "is_limit", "limited", "refusal"]

OPEN_FILES = 128
"""Open files that this process should be allowed: two for each worker, a few for the process that makes them and for the
event loop, and those that Python, pandas and a notebook hold."""
_FEWEST_FILES = 66
"""Below this no worker starts: it moves its two pipes to the numbers 64 and 65 first."""
FILE_BYTES = 64 * 1024 * 1024
"""Bytes that a file of this process should be allowed: rows and scores go to workers in memory that counts as a file, 16 MiB
for rows that are sent, and as much as its rows take for a dataset that is encoded once."""
_PROCESSES = 64
"""Processes and threads of this user beyond those that run: workers, their zygote, and this process's threads."""
_ADDRESS_SPACE = 4 * 1024**3
"""Bytes of address space: a worker may have 512 MiB beyond its start, pyarrow and numpy reserve some hundred MiB."""


@dataclass(frozen=True)
class _Limit:
    """A resource limit: its name in `resource`, what it counts, the shell's option for it, and how much there should be."""

    name: str
    counts: str
    option: str
    least: int
    unit: int = 1

    @property
    def value(self) -> int | None:
        """What is allowed now; None for any number, or where the system has no such limit."""
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
    errno.EFBIG: _Limit("RLIMIT_FSIZE", "bytes a file", "-f", FILE_BYTES, 1024),
    errno.EAGAIN: _Limit("RLIMIT_NPROC", "processes and threads", "-u", _PROCESSES),
    errno.ENOMEM: _Limit("RLIMIT_AS", "bytes of address space", "-v", _ADDRESS_SPACE, 1024),
}
"""The limit behind what the system answers."""


def check_open_files(kind: type[WorkbenchError]) -> None:
    """Refuse a process that may open too few files for a worker to start.

    Raises:
        WorkbenchError: Of the kind; it names the limit, its value and what is needed.
    """
    value = _FILES.value
    if value is not None and value < _FEWEST_FILES:
        raise _FILES.as_error(kind, "this process may open too few files for a sandbox worker")


@contextlib.contextmanager
def limited(kind: type[WorkbenchError], what: str) -> Iterator[None]:
    """Around what takes descriptors, memory or processes: a refusal of the system becomes an error that names the limit.

    Args:
        kind: Of the error.
        what: What cannot be done.
    """
    try:
        yield
    except OSError as error:
        raise refusal(error, kind, what) from error


def is_limit(error: OSError) -> bool:
    """Whether a limit of this process is, most likely, what the system refused something for."""
    limit = _LIMITS.get(error.errno or 0)
    return limit is not None and limit.value is not None


def refusal(error: OSError, kind: type[WorkbenchError], what: str) -> WorkbenchError:
    """The error for what the system refused; with the limit behind it where there is one."""
    if is_limit(error):
        return _LIMITS[error.errno or 0].as_error(kind, what)
    details: dict[str, Any] = {"found": os.strerror(error.errno) if error.errno else str(error)}
    return kind(what, **details, hint="free what the system lacks, or run elsewhere")
