"""Files written whole or not at all."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from workbench.errors import FormatError

__all__ = ["check_writable", "replaced", "write_atomically"]

_HINT = "choose an existing folder you may write to"


def check_writable(path: str | os.PathLike[str]) -> None:
    """Refuse a path that cannot be written, before work is done that would be lost.

    Raises:
        FormatError: The folder is missing or not writable.
    """
    folder = Path(path).parent
    if "\0" in os.fspath(path):
        raise FormatError("a path cannot hold a NUL character", found=ascii(os.fspath(path))[:200])
    if not folder.is_dir():
        raise FormatError(
            "the file cannot be written", where=str(path), found=f"no folder {str(folder)!r}", hint=_HINT
        )
    if not os.access(folder, os.W_OK):
        raise FormatError(
            "the file cannot be written", where=str(path), found="no right to write there", hint=_HINT
        )


def write_atomically(path: str | os.PathLike[str], text: str) -> Path:
    """Write a text file so that a reader sees the old text or the new one, never half of it.

    Raises:
        FormatError: The folder is missing or cannot be written; the old file is untouched.
    """
    with replaced(path) as temporary:
        temporary.write_text(text, encoding="utf-8", newline="\n")
    return Path(path)


@contextmanager
def replaced(path: str | os.PathLike[str]) -> Iterator[Path]:
    """A path to write a file of any kind to, which takes the place of the old one when the block ends without an error.

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
            # Before the rename: a power cut could else leave the new name on a file without its content.
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
