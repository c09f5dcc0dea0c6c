"""Files of graders: read with a limit, written whole or not at all."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from workbench.errors import FormatError
from workbench.files import check_writable, write_atomically
from workbench.formats.native import read, write
from workbench.graders import Grader

__all__ = ["MAX_FILE_BYTES", "load", "save"]

MAX_FILE_BYTES = 16 * 1024 * 1024
"""Largest grader file read: 200 graders of the largest source allowed fit."""


def save(
    graders: Grader | Iterable[Grader], path: str | os.PathLike[str], *, allow_unvalidated: bool = False
) -> Path:
    """Write graders to a native JSON file, atomically: the old file stays until the new one is whole.

    Args:
        graders: One grader, a list of them, or a `Suite`.
        path: The file; its folder must exist.
        allow_unvalidated: Write graders that have not passed their checks, marked as such.

    Returns:
        The path.

    Raises:
        NotValidatedError: A grader is not validated; nothing is written.
        FormatError: The folder is missing or cannot be written.
    """
    items = [graders] if isinstance(graders, Grader) else list(graders)
    check_writable(path)
    return write_atomically(path, write(items, allow_unvalidated=allow_unvalidated))


def load(path: str | os.PathLike[str], *, trust: bool = False) -> list[Grader]:
    """Read graders from a native JSON file. Nothing in it is executed.

    The source of loaded function graders counts as *imported*: it runs only where the kernel confines it,
    unless `trust` is given.

    Args:
        path: The file.
        trust: Run these sources even where the machine cannot confine them. Read them first.

    Raises:
        FormatError: Missing, too large, no JSON, another format, tampered with; file and place are named.
    """
    target = Path(path)
    try:
        with target.open("rb") as file:
            data = file.read(MAX_FILE_BYTES + 1)
    except OSError as error:
        raise FormatError(
            "the file cannot be read", where=str(target), found=error.strerror or str(error)
        ) from error
    if len(data) > MAX_FILE_BYTES:
        raise FormatError(
            "the file is too large", where=str(target), expected=f"at most {MAX_FILE_BYTES // 2**20} MiB"
        )
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise FormatError("the file is not UTF-8 text", where=f"{target}, byte {error.start}") from error
    return read(text, where=str(target), trust=trust)
