"""Names of files and of functions in modules, reading of regular files only, and atomic writing."""

from __future__ import annotations

import os
import re
import stat
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from workbench.core.errors import FormatError, WorkbenchError

STANDARD_INPUT = "-"
"""The path that names standard input; `./-` is a file of that name."""

IMPORT_PATH = re.compile(r"[^\W\d]\w*(?:\.[^\W\d]\w*)*:[^\W\d]\w*(?:\.[^\W\d]\w*)*")
"""A function by its module: "package.module:function"."""


def file_before_colon(text: str) -> str:
    """The file in "file:grader"; "" if there is none of that name."""
    path = text.rpartition(":")[0]
    return path if path and Path(path).is_file() and not Path(text).exists() else ""


def is_import_path(text: str) -> bool:
    """Whether a text names a function by its module, "package.module:function", rather than a file, or a grader of one."""
    return IMPORT_PATH.fullmatch(text) is not None and not file_before_colon(text) and not Path(text).exists()


_KINDS = (
    (stat.S_ISFIFO, "a named pipe (FIFO)"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
)

_HINT = "choose an existing folder you may write to"


def check_regular(path: str | os.PathLike[str], kind: type[WorkbenchError]) -> None:
    """Refuse a path that is not a regular file: opening a pipe waits for a writer, and a device may never end.

    A missing path, and a folder, are accepted here: the reader reports them.

    Args:
        path: The path to be opened.
        kind: Class of the error.

    Raises:
        WorkbenchError: Of the kind: a pipe, a socket or a device.
    """
    try:
        mode = os.stat(path).st_mode  # noqa: PTH116 (Path.stat would take a descriptor's number for a name)
    except (OSError, ValueError):
        return  # missing, or not a path: the reader reports it
    _refuse_irregular(mode, path, kind)


def _refuse_irregular(mode: int, path: str | os.PathLike[str], kind: type[WorkbenchError]) -> None:
    found = next((name for is_kind, name in _KINDS if is_kind(mode)), "")
    if found:
        raise kind(
            "only regular files are read", where=os.fspath(path), found=found, expected="a regular file",
            hint="write it to a file first; the command line takes - for standard input",
        )  # fmt: skip


def standard_input(kind: type[WorkbenchError], most: int = -1) -> bytes:
    """The bytes of standard input, for a path `STANDARD_INPUT` that was given by the user and not by a file.

    Raises:
        WorkbenchError: Of the kind: there is none, as in a notebook.
    """
    stream = getattr(sys.stdin, "buffer", None)
    if stream is None:
        raise kind("standard input is not available", where=STANDARD_INPUT, hint="name a file")
    data: bytes = stream.read(most)
    return data


def read_bytes(path: str | os.PathLike[str], kind: type[WorkbenchError], most: int = -1) -> bytes:
    """The bytes of a regular file.

    Args:
        path: The file.
        kind: Class of the error for a path that is not a regular file.
        most: Maximum number of bytes to read; all by default.

    Raises:
        WorkbenchError: Of the kind: a pipe, a socket or a device.
        OSError: It cannot be opened or read.
        ValueError: The name is invalid.
    """
    check_regular(path, kind)  # before it is opened: opening some devices has side effects
    # Non-blocking, in case a pipe has replaced the file in between.
    fd = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    with os.fdopen(fd, "rb") as file:
        _refuse_irregular(os.fstat(fd).st_mode, path, kind)
        return file.read(most)


def check_writable(path: str | os.PathLike[str]) -> None:
    """Refuse a path that cannot be written, before work is done whose result would be lost.

    Raises:
        FormatError: The folder is missing or not writable.
    """
    folder = Path(path).parent
    if "\0" in os.fspath(path):
        raise FormatError("a path cannot contain a NUL character", found=ascii(os.fspath(path))[:200])
    if not folder.is_dir():
        raise FormatError(
            "the file cannot be written", where=str(path), found=f"no folder {str(folder)!r}", hint=_HINT
        )
    if not os.access(folder, os.W_OK):
        raise FormatError(
            "the file cannot be written", where=str(path), found="no permission to write there", hint=_HINT
        )


def write_atomically(path: str | os.PathLike[str], text: str) -> Path:
    """Write a text file so that a reader sees the old text or the new one, never a part of it.

    Raises:
        FormatError: The folder is missing or cannot be written; the old file is untouched.
    """
    with replaced(path) as temporary:
        temporary.write_text(text, encoding="utf-8", newline="\n")
    return Path(path)


@contextmanager
def replaced(path: str | os.PathLike[str]) -> Iterator[Path]:
    """A path for writing a file of any kind, which replaces the old one if the block ends without an error.

    Raises:
        FormatError: The folder is missing or cannot be written; the old file is untouched.
    """
    check_writable(path)
    target = Path(path)
    try:
        # In the same folder, because a rename across file systems is a copy.
        fd, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.", suffix=".tmp")
        os.close(fd)
        temporary = Path(name)
        try:
            yield temporary
            # Before the rename: after a power cut the new name could otherwise refer to a file without its content.
            with temporary.open("r+b") as file:
                os.fsync(file.fileno())
            _keep_mode(temporary, target)
            temporary.replace(target)
        finally:
            temporary.unlink(missing_ok=True)
    except OSError as error:
        reason = error.strerror or str(error)
        raise FormatError(
            "the file cannot be written", where=str(target), found=reason, hint=_HINT
        ) from error


def _keep_mode(temporary: Path, target: Path) -> None:
    """Give the new file the mode of the file it replaces, or that of the umask: a temporary file is private."""
    if target.exists():
        temporary.chmod(target.stat().st_mode & 0o777)
        return
    # The mask can be read only by setting it.
    mask = os.umask(0)
    os.umask(mask)
    temporary.chmod(0o666 & ~mask)
