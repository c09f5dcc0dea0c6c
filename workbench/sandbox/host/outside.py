"""What is done to a worker from outside: whether it was ended or stopped by something that its rows cannot do to it."""

from __future__ import annotations

import os
import signal

from workbench.grade import ErrorKind, GradeError
from workbench.sandbox.host.worker import ENDED, STOPPED, Death

__all__ = ["OUTSIDE", "cause_of", "twice"]

OUTSIDE = "from outside"
"""The cause of a loss that no row is to blame for: a person, a system short of memory, the end of the sandbox's process."""
_SIGNALS = frozenset(
    getattr(signal, name)
    for name in ("SIGKILL", "SIGTERM", "SIGINT", "SIGHUP", "SIGQUIT", "SIGUSR1", "SIGUSR2")
    if hasattr(signal, name)
)
"""Signals that a confined row cannot send, its own process included."""


def cause_of(death: Death, status: int | None) -> str:
    """Why a worker was lost, where that may be no fault of the row it was at; "" where it surely is the row's.

    Args:
        death: What was seen.
        status: Its wait status, asked for where it ended by itself; None where nobody knows it any more.
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


def twice(death: Death, status: int | None) -> GradeError:
    """What a row fails as whose workers were lost twice, and at least once for no fault that is surely its own."""
    how = death.reason
    if status is not None and os.WIFSIGNALED(status):
        how = f"signal {os.WTERMSIG(status)}"
    message = f"two workers were lost at this row and ended from outside, by a person or for memory ({how})"
    return GradeError(ErrorKind.SANDBOX, message)
