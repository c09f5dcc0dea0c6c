"""Grading in a persistent worker: rows are sent with the command, and their times are returned. Loaded by its path.

Standard library only. Scores are written to the first half of the page as in every run, seconds to the second. The page's
last number is where to stop: the host lowers it when it moves the rows after a hanging one to another worker.
"""

from __future__ import annotations

import marshal
import sys
import time
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

_checks = sys.modules["_wb_checks"]
_drive = sys.modules["_wb_drive"]
_protocol = sys.modules["_wb_protocol"]
NOT_SCORED = _protocol.NOT_SCORED


class BatchRows:
    """The rows of one command, which the driver takes in sequence.

    Args:
        rows: What to grade.
        seconds: Filled with the time of each.
        until: One number: the first row that no longer belongs to this worker.
    """

    def __init__(self, rows: list[Any], seconds: memoryview[float], until: memoryview[int]) -> None:
        self._rows, self._seconds, self._until = rows, seconds, until
        self._at, self._since = -1, 0.0

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, part: slice) -> Iterator[Any]:
        return map(self._next, range(*part.indices(len(self._rows))))

    def _next(self, index: int) -> Any:
        self.stop_clock()
        if index >= self._until[0]:
            raise _drive.Ended
        row = self._rows[index]
        self._at, self._since = index, time.perf_counter()
        return row

    def stop_clock(self) -> None:
        """Record the time of the current row."""
        if self._at >= 0:
            self._seconds[self._at] = time.perf_counter() - self._since
            self._at = -1


class Calls:
    """Grading in a persistent worker.

    Args:
        scores: The page as floats.
        bits: The page as bits.
        output: What the grader prints.
    """

    def __init__(self, scores: memoryview[float], bits: memoryview[int], output: Any) -> None:
        half = len(scores) // 2
        self._scores, self._bits, self._output = scores[:half], bits[:half], output
        self._seconds, self._until = scores[half : 2 * half - 1], bits[2 * half - 1 : 2 * half]
        self._used = False

    def rows(self, loading: Any, command: dict[str, Any]) -> dict[str, Any]:
        """Grade rows in sequence without reloading the module."""
        rows = BatchRows(_read(loading, command), self._seconds, self._until)
        errors: dict[int, tuple[str, str]] = {}
        notes: dict[int, Any] | None = {} if loading.noted else None
        where = (self._scores, self._bits, 0)
        done = _drive.drive(loading.grade, rows, where, command["seconds"], errors, notes)
        rows.stop_clock()
        return self._reply(errors, notes, done, {"output": self._output.take()})

    def grade_isolated(self, loading: Any, command: dict[str, Any]) -> dict[str, Any]:
        """Grade each row in a freshly executed module: its score equals that of a fresh worker."""
        errors: dict[int, tuple[str, str]] = {}
        notes: dict[int, Any] | None = {} if loading.noted else None
        printed: list[str] = []
        spent = 0
        for index, row in enumerate(_read(loading, command)):
            if index >= self._until[0] or spent > _protocol.ENOUGH:
                break
            # Loading prints as well, and already happened for the first row.
            problem = self.prepare(loading, command["load_seconds"])
            if problem is None:
                self._used = True
                self._grade_one(loading, (row, index), command["seconds"], errors, notes)
            else:
                errors[index], self._bits[index] = problem, _protocol.FAILED
            printed.append(self._output.take()[:4000])
            spent += len(_protocol.compact([errors.get(index), (notes or {}).get(index), printed[-1]]))
        return self._reply(errors, notes, len(printed), {"printed": printed})

    def _grade_one(
        self, loading: Any, row: tuple[Any, int], seconds: float, errors: dict[int, tuple[str, str]],
        notes: dict[int, Any] | None,
    ) -> None:  # fmt: skip
        thread, index = row
        own_errors: dict[int, tuple[str, str]] = {}
        own_notes: dict[int, Any] | None = None if notes is None else {}
        self._seconds[index] = -1.0  # from here on only the row's time counts, see `Member.move`
        since = time.perf_counter()
        _drive.drive(
            loading.grade, [thread], (self._scores, self._bits, index), seconds, own_errors, own_notes
        )
        self._seconds[index] = time.perf_counter() - since
        if own_errors:
            errors[index] = own_errors[0]
        if notes is not None and own_notes:
            notes[index] = own_notes[0]

    def prepare(self, loading: Any, seconds: float) -> tuple[str, str] | None:
        """Prepare the module for another row if it was used; returns kind and message if that fails."""
        if not self._used:
            return None

        def load() -> None:
            with _drive.Alarm(seconds, lambda: 0, missing="the module did not load"):
                loading.afresh()

        _, error = _checks.attempted(load)
        if error is not None:
            return _drive.kind_of(error), f"the module did not load: {_drive.message_of(error)}"
        self._used = False
        return None

    def _reply(
        self,
        errors: dict[int, tuple[str, str]],
        notes: dict[int, Any] | None,
        done: int,
        rest: dict[str, Any],
    ) -> dict[str, Any]:
        noted = {} if notes is None else {"notes": list(notes.items())}
        return {"errors": errors, "done": done, **noted, **rest}


def _read(loading: Any, command: dict[str, Any]) -> list[Any]:
    return [loading.row(marshal.loads(data)) for data in command["rows"]]
