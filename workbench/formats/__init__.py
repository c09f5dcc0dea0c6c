"""Graders as files: one module or folder per platform, registered by name; and graders of everything else that a user has."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from typing import Any

from workbench.core.discovery import load_modules
from workbench.core.errors import FormatError
from workbench.core.files import file_before_colon, is_import_path
from workbench.formats import platforms, targets
from workbench.formats.files import convert, dumps, export, load, loads, save
from workbench.formats.platforms.letta import letta_thread
from workbench.formats.platforms.native import as_suite, read, schema, write
from workbench.formats.shared import FORMATS, Document, Format, Loss, Losses, Reading, register
from workbench.formats.shared.writing import Converted, detect
from workbench.graders import CustomGrader, Grader
from workbench.graders.combine import Entry
from workbench.run.suite import Suite

__all__ = [
    "FORMATS",
    "Converted",
    "Document",
    "Format",
    "Loss",
    "Losses",
    "Reading",
    "convert",
    "detect",
    "dumps",
    "export",
    "letta_thread",
    "load",
    "loads",
    "read",
    "read_graders",
    "register",
    "save",
    "schema",
    "write",
]


def read_graders(
    source: str | os.PathLike[str] | Callable[..., Any] | Grader | Entry | Suite | Iterable[Grader | Entry],
    format: str | None = None,  # noqa: A002
    *,
    trust: bool = False,
    release: str = "",
) -> Suite:
    """Read graders from what the user has.

    Args:
        source: A file of any platform; a file and one of its graders, such as "reward.py:near"; the import path of a
            function, such as "trl.rewards:accuracy_reward", which runs in this process; a live function, also of a
            trainer; a grader, a list of them, or a suite.
        format: As in `load`, for a file.
        trust: As in `load`, for a file.
        release: As in `load`, for a file.

    Raises:
        FormatError: As `load`, or a file without the named grader.
        CaptureError: A function that cannot be imported.
        TypeError: Any other object.
    """
    if isinstance(source, str | os.PathLike):
        return _of_text(os.fspath(source), format, trust=trust, release=release)
    if isinstance(source, Suite | Grader | Entry):
        return as_suite(source)
    if callable(source):
        return Suite(CustomGrader(source))
    if isinstance(source, Iterable):
        return as_suite(list(source))
    raise TypeError(f"read_graders takes a path, a function or graders, not {type(source).__name__}")


def _of_text(text: str, format: str | None, **settings: Any) -> Suite:  # noqa: A002
    if path := file_before_colon(text):
        return _named(load(path, format, **settings), text.rpartition(":")[2], path)
    if format is None and is_import_path(text):
        grader = CustomGrader(target=text)
        grader.check_ready()
        return Suite(grader)
    return load(text, format, **settings)


def _named(suite: Suite, name: str, path: str) -> Suite:
    entries = [entry for entry in suite.entries if entry.name == name]
    if not entries:
        names = ", ".join(entry.name for entry in suite.entries)
        raise FormatError(
            f"the file has no grader {name!r}", where=path, found=names, hint=f"name one of them: {path}:NAME"
        )
    return Suite(entries)


# Formats are discovered: every module in `platforms` and its folders, and in `targets`, registers its own.
load_modules(platforms)
load_modules(targets)

# Lists show the native format first, the others by name, independent of import order.
for _name in sorted(FORMATS, key=lambda name: (name != "native", name)):
    FORMATS[_name] = FORMATS.pop(_name)
