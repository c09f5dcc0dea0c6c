"""Ends of workers: why a worker ended, which row is blamed for it, and when a run stops because of too many."""

from __future__ import annotations

import os
import signal
import time
from collections import Counter
from dataclasses import dataclass, field

from workbench.core.grade import ErrorKind, GradeError
from workbench.sandbox.host.results import WorkerSlot
from workbench.sandbox.host.worker import ENDED, NOT_READING, STOPPED, TIMED_OUT, WorkerLostError

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


_DOUBT_SECONDS = 60.0
"""Seconds after an end from outside during which a crash may have the same cause: no row is blamed for it."""
MAX_KILLED = 12
"""Consecutive workers ended from outside before the remaining rows are not attempted: starting another takes at most 0.1 s."""


class RowBlame:
    """Decides whether a row at which a worker ended is retried, or what it fails with.

    A row that crashes its worker will crash the next one in the same way. An end from outside shows nothing about the row.

    Args:
        seconds: Time limit of a row.
    """

    def __init__(self, seconds: float) -> None:
        self._seconds, self._outside_until = seconds, 0.0

    def note_outside(self) -> None:
        """Record that a worker was ended from outside: so may others be."""
        self._outside_until = time.monotonic() + _DOUBT_SECONDS

    def error(self, death: WorkerLostError, status: int | None, cause: str, before: str) -> GradeError | None:
        """The row's error; None to retry it.

        Args:
            death: The observed end.
            status: The worker's wait status.
            cause: See `cause_of`.
            before: The cause of an earlier worker's end at this row; "" the first time.
        """
        if cause and not before:
            return None
        is_doubtful = cause and (OUTSIDE in (cause, before) or time.monotonic() < self._outside_until)
        return _twice(death, status) if is_doubtful else verdict(death, status, self._seconds)


def _twice(death: WorkerLostError, status: int | None) -> GradeError:
    """The error of a row at which two workers ended, at least one for a reason that may be outside the row."""
    how = death.reason
    if status is not None and os.WIFSIGNALED(status):
        how = f"signal {os.WTERMSIG(status)}"
    message = f"two workers that graded this row were killed from outside, by a user or for memory ({how})"
    return GradeError(ErrorKind.SANDBOX, message)


def ends_loading(death: WorkerLostError, status: int | None) -> bool:
    """Whether the loss of a worker during loading is evidence about the module.

    A killed worker is not: the system or a user may have ended it, and the next worker may load the module.
    """
    killed = status is None or (os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL)
    return death.reason not in {ENDED, NOT_READING} or not killed


def verdict(
    death: WorkerLostError, status: int | None, seconds: float, *, missing: str = "no reply"
) -> GradeError:
    """The error for the row or check at which a worker ended; `missing` names what was not received in time."""
    if death.reason == TIMED_OUT:
        return GradeError(
            ErrorKind.TIMEOUT, f"timed out: {missing} within {seconds:g} s; the soft limit was ignored"
        )
    if death.reason != ENDED or status is None:
        return GradeError(ErrorKind.CRASH, f"the worker was ended: {death.reason}")
    if not os.WIFSIGNALED(status):
        code = os.waitstatus_to_exitcode(status)
        return GradeError(ErrorKind.CRASH, f"the grader ended its own process (exit code {code})")
    number = os.WTERMSIG(status)
    # A worker that the host ended has another reason, so the system most likely sent this signal.
    if number == signal.SIGKILL:
        return GradeError(ErrorKind.MEMORY, "the system killed the worker (SIGKILL), most likely for memory")
    return GradeError(ErrorKind.CRASH, f"the grader crashed its process ({_signal_name(number)})")


def load_verdict(death: WorkerLostError, status: int | None, seconds: float) -> GradeError:
    """The error of every row if a worker ended while it loaded the module."""
    found = verdict(death, status, seconds, missing="the module did not load")
    return GradeError(ErrorKind.LOAD, found.message)


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"  # a real-time signal has no name


LOST_SHARE = 0.1
"""Crashed workers per decided row above which a run stops. A worker start takes as long as grading thousands of rows,
so above one in ten nearly all time is spent starting workers. Frequent crashes are also not random, so the mean
of the other rows would be a poor estimate for the grader."""
MIN_CRASHES = 30
"""Crashes before the ratio counts. Fewer take only seconds; at 30 the standard error of the ratio is a fifth of it
(1/sqrt(30)), so a cluster of bad rows at the start of a file does not stop the run."""


@dataclass
class Lost:
    """Counts the worker crashes of one run.

    Attributes:
        most_in_row: Consecutive crashes of one slot without a graded row before the run stops. Crashes of different
            slots are not consecutive: two workers that each meet two bad rows show nothing about the rows after them.
        total: Ended workers so far.
        in_row: Crashes of each slot since the last graded row of any slot.
        killed: Workers that were ended from outside since then.
    """

    most_in_row: int
    total: int = 0
    in_row: Counter[WorkerSlot] = field(default_factory=Counter)
    killed: int = 0

    def add(self, slot: WorkerSlot, *, has_graded: bool, is_killed: bool) -> None:
        """Count one ended worker.

        Args:
            slot: Its slot.
            has_graded: Whether any worker has graded a row since the last one ended.
            is_killed: Whether it was ended from outside.
        """
        self.total += 1
        if has_graded:
            self.in_row.clear()
            self.killed = 0
        if is_killed:
            self.killed += 1
        else:
            self.in_row[slot] += 1

    def enough(self, decided: int, reason: str) -> str:
        """Why the run must stop; "" if it may continue.

        Args:
            decided: Rows that have a score, a failure or a skip.
            reason: Why the last worker ended.
        """
        in_row = max(self.in_row.values(), default=0)
        if in_row >= self.most_in_row or self.killed >= MAX_KILLED:
            in_row = max(in_row, self.killed)
            return f"stopped after {in_row} consecutive worker crashes ({reason}); remaining rows not graded"
        if self.total >= MIN_CRASHES and self.total > LOST_SHARE * decided:
            return (
                f"stopped after {self.total:,} worker crashes on {decided:,} rows, more than one in ten ({reason}); "
                "remaining rows not graded"
            )
        return ""
