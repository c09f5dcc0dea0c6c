"""Whether something outside the sandbox, which its rows cannot cause, ended or stopped a worker."""

from __future__ import annotations

import os
import signal

from workbench.core.grade import ErrorKind, GradeError
from workbench.sandbox.host.worker import ENDED, STOPPED, WorkerLostError

__all__ = ["OUTSIDE", "cause_of", "twice"]

OUTSIDE = "from outside"
"""Cause of a loss that is not the row's fault: the user, a system short of memory, the end of the sandbox's process."""
_SIGNALS = frozenset(
    getattr(signal, name)
    for name in ("SIGKILL", "SIGTERM", "SIGINT", "SIGHUP", "SIGQUIT", "SIGUSR1", "SIGUSR2")
    if hasattr(signal, name)
)
"""Signals that a confined row cannot send, not even to its process."""


def cause_of(death: WorkerLostError, status: int | None) -> str:
    """Why a worker ended, if that may not be the fault of its current row; "" if it certainly is.

    Args:
        death: The observed end.
        status: Its wait status, read if it ended by itself; None if it is no longer available.
    """
    if death.reason == STOPPED:
        return OUTSIDE
    if death.reason != ENDED:
        return ""
    if status is None:
        return OUTSIDE
    if not os.WIFSIGNALED(status):
        return ""
    number = os.WTERMSIG(status)
    return OUTSIDE if number in _SIGNALS else f"signal {number}"


def twice(death: WorkerLostError, status: int | None) -> GradeError:
    """The error of a row at which two workers ended, at least one for a reason that may be outside the row."""
    how = death.reason
    if status is not None and os.WIFSIGNALED(status):
        how = f"signal {os.WTERMSIG(status)}"
    message = f"two workers that graded this row were killed from outside, by a user or for memory ({how})"
    return GradeError(ErrorKind.SANDBOX, message)
