"""Drive a loaded grader over its rows, inside the worker. Standard library only; loaded by its path.

Every row is awaited in one coroutine on an event loop without sockets. Each score is written immediately into the
page shared with the host, so the end of a worker loses no finished row.
"""

from __future__ import annotations

import json
import signal
import sys
import time
from functools import partial
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

_checks = sys.modules["_wb_checks"]
_protocol = sys.modules["_wb_protocol"]
_library = sys.modules["_wb_library"]
FAILED, NOT_SCORED, SKIPPED = _protocol.FAILED, _protocol.NOT_SCORED, _protocol.SKIPPED


MAX_REASONING = 10_000
"""Maximum characters of reasoning if the metadata had to be omitted."""
MAX_NESTING = 500
"""Maximum levels of lists and dicts in one note."""
_MAX_PAUSE_SECONDS = 0.05
"""Maximum seconds between two clock checks: a row ends at most twice this time after its limit; see `Alarm`."""
MAX_DIGITS = 4300
"""Maximum digits of a whole number in a note: Python's limit for reading one."""


class RowTimeout(BaseException):
    """A row took too long. Not an Exception, so that a grader's `except Exception` does not catch it."""

    plain = True  # its message is shown without the name of its class


class Refused(BaseException):
    """Raised by a loader to fail a row: an error kind and a message for the author."""

    plain = True

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind


class Noted:
    """What a grader returned in addition to a number, or instead of one.

    Attributes:
        score: The number; None for a row that is skipped or failed.
        note: Plain JSON: `reasoning` (text) and `metadata` (a dict), each if there is one.
        error: Kind and message of a failure.
    """

    __slots__ = ("error", "note", "score")

    def __init__(
        self, score: Any, note: dict[str, Any] | None = None, error: tuple[str, str] | None = None
    ) -> None:
        self.score, self.note, self.error = score, note or {}, error


Stuck: Any = _library.Stuck


class Ended(Stuck):  # type: ignore[misc]  # of a file that is loaded by its path
    """Raised by the row source: the remaining rows no longer belong to this worker."""


class Alarm:
    """Raise `RowTimeout` in the main thread if `current()` has not changed for `seconds`.

    Args:
        seconds: The limit.
        current: A number that changes with each row.
        missing: What was not received in time.
        look: Called at each clock check.
    """

    def __init__(
        self, seconds: float, current: Callable[[], int], *, missing: str = "no score",
        look: Callable[[], object] = lambda: None,
    ) -> None:  # fmt: skip
        self._seconds, self._current, self._missing, self._look = seconds, current, missing, look
        self._row, self._since = current(), 0.0

    def __enter__(self) -> Self:
        self._since = time.monotonic()
        # Set again for every range: the grader may have replaced the handler.
        signal.signal(signal.SIGALRM, self._tick)
        # Several checks within the limit, since the clock restarts only when a check finds another row.
        pause = min(max(self._seconds / 20, 0.001), _MAX_PAUSE_SECONDS)
        signal.setitimer(signal.ITIMER_REAL, pause, pause)
        return self

    def __exit__(self, *exc: object) -> None:
        signal.setitimer(signal.ITIMER_REAL, 0)

    def _tick(self, *_: object) -> None:
        self._look()
        row, now = self._current(), time.monotonic()
        if row != self._row:
            self._row, self._since = row, now
        elif now - self._since >= self._seconds:
            raise RowTimeout(f"timed out: {self._missing} within {self._seconds:g} s")


def drive(
    grade: Any, threads: list[Any], where: tuple[memoryview[float], memoryview[int], int], seconds: float,
    errors: dict[int, tuple[str, str]], notes: dict[int, Any] | None = None,
    until: memoryview[int] | None = None,
) -> int:  # fmt: skip
    """Grade `threads` into the page from `where` on; a row that ends the loop costs only itself.

    Args:
        grade: The loaded coroutine function.
        threads: What to grade; a list, or an object that can be sliced from any row on.
        where: The page as floats, the page as bits, the index of the first row's score.
        seconds: Limit per row.
        errors: Filled with offset to (kind, message).
        notes: Filled with offset to note, for graders that return notes; None for others.
        until: One number, the first row that no longer belongs to this worker: the host lowers it if rows take long.

    Returns:
        Rows done: all, or fewer if their notes fill a reply, or if the host took the others away.
    """
    scores, bits, base = where
    size = len(threads)

    def current() -> int:
        """First row without a verdict; rows fill in order, so a binary search finds it."""
        low, high = 0, size
        while low < high:
            middle = (low + high) // 2
            low, high = (low, middle) if bits[base + middle] == NOT_SCORED else (middle + 1, high)
        return low

    def fail(offset: int, error: BaseException | tuple[str, str]) -> None:
        errors[offset] = error if isinstance(error, tuple) else (kind_of(error), message_of(error))
        bits[base + offset] = FAILED

    tally = None if notes is None else Tally(notes, errors, bits[base : base + size])
    work = tally.each if tally else _each
    page, start = scores[base : base + size], 0
    while start < (size if until is None else min(size, until[0])) and not (tally and tally.full):
        loop = _library.new_loop()
        rows = threads[start:]
        # Only here: checking the number before each row would cost a twentieth of a short grader's time.
        look = partial(_cut, rows, until, start)
        try:
            # One timer per range: arming one for every row takes a microsecond, more than a short grader.
            with Alarm(seconds, current, look=look):
                loop.run_until_complete(work(grade, rows, start, page, fail))
        except Ended:
            return current()
        except BaseException as error:  # noqa: BLE001 (raised while the loop ran, not the grader)
            if current() < size:
                fail(current(), error)
        finally:
            loop.close()
        # The row at which the loop ended has a verdict now, so each pass makes progress.
        start = current()
    return start


def _cut(rows: list[Any], until: memoryview[int] | None, start: int) -> None:
    """Drop the rows that the host took away, from the list during its iteration."""
    if until is not None:
        del rows[max(0, until[0] - start) :]


async def _each(
    grade: Any, rows: Iterable[Any], start: int, scores: memoryview[float], fail: Callable[..., None]
) -> None:
    """Await every row in one coroutine: a task, or a loop run, for each row would take ten times as long as the row."""
    for index, row in enumerate(rows, start):
        try:
            value = await grade(row)
            # Exactly float or int: a bool, or an instance of the grader's classes, is not a score. NaN and the
            # infinities are stored unchanged and refused by the host, for all rows together.
            if type(value) is float:
                scores[index] = value
            elif type(value) is int:
                scores[index] = float(value)
            else:
                fail(index, ("return_type", _refusal(value)))
        except (Stuck, GeneratorExit):
            raise  # the loop is being abandoned: the following rows start in a new one
        except BaseException as error:  # noqa: BLE001 (any exception of a grader is this row's result)
            fail(index, error)


class Tally:
    """The notes of a range, and the bytes that they and its failures will take in the reply."""

    def __init__(
        self, notes: dict[int, Any], errors: dict[int, tuple[str, str]], bits: memoryview[int]
    ) -> None:
        self._notes, self._errors, self._bits = notes, errors, bits
        self._spent = 0

    @property
    def full(self) -> bool:
        """Whether the range should end here."""
        return bool(self._spent >= _protocol.ENOUGH)

    async def each(
        self,
        grade: Any,
        rows: Iterable[Any],
        start: int,
        scores: memoryview[float],
        fail: Callable[..., None],
    ) -> None:
        """As `_each`, for graders that return notes; stops when the reply is full."""
        for index, row in enumerate(rows, start):
            try:
                value = await grade(row)
                if type(value) is float:
                    scores[index] = value
                    continue
                self._take(index, value, scores, fail)
            except (Stuck, GeneratorExit):
                raise
            except BaseException as error:  # noqa: BLE001 (any exception of a grader is this row's result)
                fail(index, error)
            if index in self._errors:
                # 40: about the bytes of the row's number, its kind and the brackets, in addition to the message.
                self._spent += len(self._errors[index][1]) + 40
            if self.full:
                return

    def _take(self, index: int, value: Any, scores: memoryview[float], fail: Callable[..., None]) -> None:
        noted = value if type(value) is Noted else Noted(value)
        if noted.note:
            # Encoded once, and stored as parsed back: it contains no object of the grader.
            size, self._notes[index] = _encoded(noted.note)
            self._spent += size + 20
        if noted.error is not None:
            fail(index, noted.error)
        elif noted.score is None and value is noted:
            self._bits[index] = SKIPPED
        elif type(noted.score) in (float, int):
            scores[index] = float(noted.score)
        else:
            fail(index, ("return_type", _refusal(noted.score)))


def _encoded(note: dict[str, Any]) -> tuple[int, dict[str, Any]]:
    """A note's size as JSON and its parsed form; metadata that cannot be sent is replaced by a mark with the reason."""
    try:
        text = _as_text(note)
        if len(text) <= _protocol.MAX_NOTE:
            return len(text), json.loads(text, parse_int=_whole)
        problem = {
            "code": "metadata_too_large",
            "size_bytes": len(text),
            "max_size_bytes": _protocol.MAX_NOTE,
        }
    except (TypeError, ValueError, RecursionError) as error:
        problem = {"code": "metadata_not_serializable", "detail": str(error)[:500]}
    reasoning = str(note.get("reasoning") or "")[:MAX_REASONING]
    marked = {"reasoning": reasoning, "metadata": {"_error": problem}}
    return len(_protocol.compact(marked)), marked


def _as_text(note: dict[str, Any]) -> bytes:
    text: bytes = _protocol.compact(note)
    # Counting brackets costs next to nothing and suffices for nearly every note; only the others are walked.
    if text.count(b"[") + text.count(b"{") > MAX_NESTING and _is_deep(note):
        raise RecursionError(
            "nested too deeply"
        )  # newer Pythons write and read deeper structures than others
    return text


def _is_deep(value: Any) -> bool:
    """Whether lists and dicts are nested more than `MAX_NESTING` levels deep."""
    level = [value]
    for _ in range(MAX_NESTING):
        level = [child for parent in level for child in _inside(parent)]
        if not level:
            return False
    return True


def _inside(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return list(value.values())
    return value if isinstance(value, list) else []


def _whole(digits: str) -> int:
    """An int that the host can read as well, independent of the grader's limit for digits."""
    if len(digits) > MAX_DIGITS:
        raise ValueError(f"a number of {len(digits):,} digits; the limit is {MAX_DIGITS:,}")
    return int(digits)


def _refusal(value: object) -> str:
    description = _checks.written(repr, value, otherwise="a value that cannot be shown")[:80]
    hint = "; write float(...)" if type(value) is bool else ""
    return f"grade must return a number (int or float), not {description} ({type(value).__name__}){hint}"


def kind_of(error: BaseException) -> str:
    """The error kind of an exception."""
    if type(error) is Refused:
        return error.kind
    if isinstance(error, RowTimeout):
        return "timeout"
    # From float() of a huge int: a number was returned, but too large for a float.
    if isinstance(error, OverflowError) and "int too large" in str(error):
        return "not_finite"
    return "memory" if isinstance(error, MemoryError) else "runtime"


def message_of(error: BaseException) -> str:
    """The message for the author."""
    if isinstance(error, RowTimeout):
        return f"{error}{_checks.place(error)}"
    if isinstance(error, Stuck):
        return "grade awaits something that cannot complete in the sandbox (no network, threads or processes)"
    if isinstance(error, MemoryError):
        return f"out of memory{_checks.place(error)}"
    if type(error) is Refused:
        return str(error)
    return str(_checks.describe(error))
