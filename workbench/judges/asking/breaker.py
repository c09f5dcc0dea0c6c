"""When a run need not ask on: a spent budget, a broken store, rows in a row without a server or a valid key."""

from __future__ import annotations

from collections.abc import Callable

from workbench.grade import ErrorKind, Grade, GradeError

__all__ = ["HOPELESS", "NOT_ASKED", "Breaker"]

HOPELESS = frozenset({ErrorKind.JUDGE_KEY, ErrorKind.JUDGE_UNREACHABLE})
"""Failures that every other row would have too."""
_HOPELESS_ROWS = 3
NOT_ASKED = f"\n  this row was not asked: {_HOPELESS_ROWS} rows before it had failed so"
"""End of the message of rows that were left out."""


class Breaker:
    """Told each grade of a run, it says when asking on is no use.

    Args:
        spent: Whether the budget is: a question that is larger than what is left fails its own row alone.
    """

    def __init__(self, spent: Callable[[], bool] = lambda: True) -> None:
        self._spent = spent
        self._in_a_row = 0

    def __call__(self, grade: Grade) -> GradeError | None:
        """The error of the rows that are left; None to go on."""
        error = grade.error
        if error is not None and (
            error.kind is ErrorKind.STORE or (error.kind is ErrorKind.BUDGET and self._spent())
        ):
            return error
        self._in_a_row = self._in_a_row + 1 if error is not None and error.kind in HOPELESS else 0
        if error is None or self._in_a_row < _HOPELESS_ROWS:
            return None
        return GradeError(error.kind, f"{error.message}{NOT_ASKED}")
