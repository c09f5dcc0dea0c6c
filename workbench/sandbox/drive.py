"""Drive a loaded grader over its rows, inside the worker. Standard library only; loaded by its path.

Every row is awaited in one coroutine on an event loop without sockets. Each score goes straight into the
page shared with the host, so a worker that dies takes no finished row with it.
"""

from __future__ import annotations

import asyncio
import asyncio.base_events
import signal
import sys
import time
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from collections.abc import Callable

_checks = sys.modules["_wb_checks"]
_protocol = sys.modules["_wb_protocol"]
FAILED, NOT_SCORED = _protocol.FAILED, _protocol.NOT_SCORED


class RowTimeout(BaseException):
    """A row took too long. Not an Exception, so that a grader's `except Exception` lets it through."""

    plain = True  # its message stands without the name of its class


class Stuck(Exception):  # noqa: N818 (named for what happened)
    """Everything is waiting and nothing can ever wake."""


class Alarm:
    """Raise `RowTimeout` in the main thread when `current()` has not moved for `seconds`."""

    def __init__(self, seconds: float, current: Callable[[], int], *, what: str = "no score") -> None:
        self._seconds, self._current, self._what = seconds, current, what
        self._row, self._since = current(), 0.0

    def __enter__(self) -> Self:
        self._since = time.monotonic()
        signal.signal(signal.SIGALRM, self._tick)
        pause = max(self._seconds / 5, 0.001)
        signal.setitimer(signal.ITIMER_REAL, pause, pause)
        return self

    def __exit__(self, *exc: object) -> None:
        signal.setitimer(signal.ITIMER_REAL, 0)

    def _tick(self, *_: object) -> None:
        row, now = self._current(), time.monotonic()
        if row != self._row:
            self._row, self._since = row, now
        elif now - self._since >= self._seconds:
            raise RowTimeout(f"timed out: {self._what} within {self._seconds:g} s")


def drive(
    grade: Any, threads: list[Any], where: tuple[memoryview[float], memoryview[int], int], seconds: float,
    errors: dict[int, tuple[str, str]],
) -> None:  # fmt: skip
    """Grade `threads` into the page from `where` on; a row that ends the loop costs only itself.

    Args:
        grade: The loaded coroutine function.
        threads: What to grade.
        where: The page as floats, the page as bits, the index of the first row's score.
        seconds: Limit a row.
        errors: Filled with offset to (kind, message).
    """
    scores, bits, base = where
    size = len(threads)

    def current() -> int:
        """First row without a verdict; they fill in order, so halve the range."""
        low, high = 0, size
        while low < high:
            middle = (low + high) // 2
            low, high = (low, middle) if bits[base + middle] == NOT_SCORED else (middle + 1, high)
        return low

    def fail(offset: int, error: BaseException | tuple[str, str]) -> None:
        errors[offset] = error if isinstance(error, tuple) else (kind_of(error), message_of(error))
        bits[base + offset] = FAILED

    start = 0
    while start < size:
        loop = SilentLoop()
        try:
            with Alarm(seconds, current):
                loop.run_until_complete(_each(grade, threads, start, scores[base : base + size], fail))
        except BaseException as error:  # noqa: BLE001 (raised while the loop ran, not the grader)
            if current() < size:
                fail(current(), error)
        finally:
            loop.close()
        start = current()


async def _each(
    grade: Any, threads: list[Any], start: int, scores: memoryview[float], fail: Callable[..., None]
) -> None:
    """Await every row in one coroutine: a task, or a loop run, for each row would cost ten times the row."""
    for index in range(start, len(threads)):
        try:
            value = await grade(threads[index])
            # Exactly float or int: a bool, or a class of the grader's own, is no score. NaN and the
            # infinities are stored as they are and refused by the host, for all rows at once.
            if type(value) is float:
                scores[index] = value
            elif type(value) is int:
                scores[index] = float(value)
            else:
                fail(index, ("return_type", _refusal(value)))
        except (Stuck, GeneratorExit):
            raise  # the loop is being given up: the rows behind this one start in a new one
        except BaseException as error:  # noqa: BLE001 (whatever a grader raises is this row's result)
            fail(index, error)


def _refusal(value: object) -> str:
    try:
        shown = repr(value)[:80]
    except BaseException:  # noqa: BLE001 (a stranger's __repr__)
        shown = "a value that cannot be shown"
    hint = "; write float(...)" if type(value) is bool else ""
    return f"grade must return a number (int or float), not {shown} ({type(value).__name__}){hint}"


def kind_of(error: BaseException) -> str:
    """The error kind of an exception."""
    if isinstance(error, RowTimeout):
        return "timeout"
    if isinstance(error, OverflowError) and "int too large" in str(error):
        return "not_finite"
    return "memory" if isinstance(error, MemoryError) else "runtime"


def message_of(error: BaseException) -> str:
    """The sentence for the author."""
    if isinstance(error, RowTimeout):
        return f"{error}{_checks.place(error)}"
    if isinstance(error, Stuck):
        return "grade waits for something that can never happen (there is no network, thread or process here)"
    if isinstance(error, MemoryError):
        return f"out of memory{_checks.place(error)}"
    return str(_checks.describe(error))


class SilentLoop(asyncio.base_events.BaseEventLoop):
    """An event loop without sockets: timers, tasks, locks and queues work; nothing else exists."""

    def __init__(self) -> None:
        super().__init__()
        self._selector = self

    def select(self, timeout: float | None) -> list[Any]:
        """Sleep; with nothing to wake up for, say so at once instead of for ever."""
        if timeout is None:
            raise Stuck
        if timeout > 0:
            time.sleep(timeout)
        return []

    def _process_events(self, event_list: list[Any]) -> None:
        """There are none."""

    def _write_to_self(self) -> None:
        """Nobody else is here to wake us."""

    def call_exception_handler(self, context: dict[str, Any]) -> None:
        """A forgotten task's exception is nobody's score."""
