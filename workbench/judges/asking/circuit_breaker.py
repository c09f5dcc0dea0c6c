"""When a run stops sending requests: budget exhausted, store failure, or consecutive rows without a server or valid key."""

from __future__ import annotations

from collections.abc import Callable

from workbench.core.grade import ErrorKind, Grade, GradeError

__all__ = ["NOT_ASKED", "UNRECOVERABLE", "CircuitBreaker"]

UNRECOVERABLE = frozenset({ErrorKind.JUDGE_KEY, ErrorKind.JUDGE_UNREACHABLE})
"""Errors that every later row would have too."""
_ROWS_TO_STOP = 3
"""Consecutive rows with such an error after which a run stops sending. Workbench limit: a single one may be an accident."""
NOT_ASKED = f"\n  not sent: the {_ROWS_TO_STOP} preceding rows failed with this error"
"""End of the message of rows that were not sent."""


class CircuitBreaker:
    """Called with each grade of a run; decides when to stop sending requests.

    Args:
        budget_spent: Whether the whole budget is exhausted: a request larger than the remaining budget fails only
            its row.
    """

    def __init__(self, budget_spent: Callable[[], bool] = lambda: True) -> None:
        self._budget_spent = budget_spent
        self._failures_in_a_row = 0

    def __call__(self, grade: Grade) -> GradeError | None:
        """The error of all remaining rows; None to continue."""
        error = grade.error
        if error is not None and (
            error.kind is ErrorKind.STORE or (error.kind is ErrorKind.BUDGET and self._budget_spent())
        ):
            return error
        unrecoverable = error is not None and error.kind in UNRECOVERABLE
        self._failures_in_a_row = self._failures_in_a_row + 1 if unrecoverable else 0
        if error is None or self._failures_in_a_row < _ROWS_TO_STOP:
            return None
        return GradeError(error.kind, f"{error.message}{NOT_ASKED}")
