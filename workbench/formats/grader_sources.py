"""Graders of everything that a user has: a file of any platform, a function by its import path, a live function, a suite."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from workbench.core.errors import FormatError
from workbench.formats.files import load
from workbench.formats.platforms.native import as_suite
from workbench.graders import CustomGrader, Grader
from workbench.graders.combine import Entry
from workbench.run.suite import Suite

_TARGET = re.compile(r"[^\W\d]\w*(?:\.[^\W\d]\w*)*:[^\W\d]\w*(?:\.[^\W\d]\w*)*")


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
    path, _, name = text.rpartition(":")
    if path and Path(path).is_file() and not Path(text).exists():
        return _named(load(path, format, **settings), name, path)
    if format is None and not Path(text).exists() and _TARGET.fullmatch(text):
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
