"""Python graders that return more than a number: `wb.Grade(...)` returned, `wb.Skip(...)` raised.

Standard library only; loaded by its path. A grader whose text mentions neither is not
loaded with this: each of its rows returns one number, which is faster.
"""

from __future__ import annotations

import sys
from typing import Any

_checks = sys.modules["_wb_checks"]
_drive = sys.modules["_wb_drive"]
_grade = sys.modules["_wb_grade"]


# Other kinds describe events outside a grader; the host refuses them as well (`WORKER_KINDS`).
_OWN_KINDS = frozenset({"out_of_range", "return_type", "runtime"})


class OutcomeLoading(_checks.Loading):  # type: ignore[misc, name-defined]  # loaded by path
    """Checks of `async def grade(thread) -> float | Grade`."""

    noted = True

    def _loaded(self) -> str:
        message: str = super()._loaded()
        function: Any = self.namespace["grade"]

        async def grade(thread: Any) -> Any:
            try:
                value = await function(thread)
            except _grade.Skip as skip:
                return _drive.Noted(None, _texts(reasoning=str(skip)))
            return _noted(value) if type(value) is _grade.Grade else value

        self.grade = grade
        return message


def _noted(grade: Any) -> Any:
    """A `Grade` in the driver's form: its number, its note, and its failure if it is one."""
    error = None if grade.error is None else _failure(str(grade.error.kind), str(grade.error.message))
    note = _texts(reasoning=grade.reasoning)
    if grade.metadata:
        note["metadata"] = dict(grade.metadata)
    if isinstance(grade.passed, bool):
        note["passed"] = grade.passed
    return _drive.Noted(grade.score, note, error)


def _failure(kind: str, message: str) -> tuple[str, str]:
    """A failure that the grader reports; it may not use the kinds that describe servers or the sandbox."""
    return (kind, message) if kind in _OWN_KINDS else ("runtime", f"{kind}: {message}")


def _texts(reasoning: Any) -> dict[str, Any]:
    return {"reasoning": reasoning} if isinstance(reasoning, str) and reasoning else {}
