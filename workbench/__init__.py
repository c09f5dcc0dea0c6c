"""Grader workbench: write a grader in a cell, prove it, run it, diagnose it, export it.

The public names below load on first use, so that `import workbench` stays light.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from workbench.columns import Grades as Grades
    from workbench.grade import ErrorKind as ErrorKind
    from workbench.grade import Grade as Grade
    from workbench.grade import GradeError as GradeError
    from workbench.samples import Sample as Sample
    from workbench.samples import Samples as Samples
    from workbench.samples import read_samples as read_samples
    from workbench.thread import StringThread as StringThread

__version__ = "0.1.0"

_HOMES = {
    "ErrorKind": "grade",
    "Grade": "grade",
    "GradeError": "grade",
    "Grades": "columns",
    "Sample": "samples",
    "Samples": "samples",
    "StringThread": "thread",
    "read_samples": "samples",
}

__all__ = sorted(_HOMES)


def __getattr__(name: str) -> Any:
    """Load a public name, or a module of ours such as `wb.errors`, when it is first asked for."""
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'workbench' has no attribute {name!r}")
    value = getattr(importlib.import_module(f"workbench.{home}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """The public names, for tab completion."""
    return sorted({*globals(), *__all__})
