"""The grades of one run, written from replies: scores, notes, failures, and the finished rows of crashed workers."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from workbench.core.grade import Grade, GradeError
from workbench.core.grades import Grades
from workbench.sandbox.child.protocol import CAPACITY, FAILED, NOT_SCORED, SKIPPED
from workbench.sandbox.host.answers import noted, read_errors, read_notes, unscored
from workbench.sandbox.host.batches import Request, WorkerSlot

MAX_KEPT = 256 * 1024 * 1024
"""Bytes of memory for the notes and error texts of one run: a hundred thousand rows could return 128 KiB each.
Later ones are shortened or omitted, with a remark."""
_SHORT = 100
_ATOM = 32  # bytes of a number


class NoteMemory:
    """The memory budget for the notes and error texts of one run.

    Args:
        total: Bytes.
    """

    def __init__(self, total: int = MAX_KEPT) -> None:
        self._total = self._left = total

    def errors(self, reply: Mapping[str, Any]) -> dict[int, GradeError]:
        """The error table of a reply; if no memory remains, the texts are cut to 100 characters."""
        errors = read_errors(reply) if self._left > 0 else read_errors(reply, _SHORT)
        # As a set: rows that fail for the same reason share its text.
        self._left -= sum(map(sys.getsizeof, {error.message for error in errors.values()}))
        return errors

    def notes(self, reply: Mapping[str, Any], count: int) -> dict[int, dict[str, Any]]:
        """The notes of a reply; if no memory remains, each is replaced by a remark."""
        if self._left <= 0:  # not even parsed: that takes time
            return {offset: self._mark() for offset in noted(reply, count)}
        notes = read_notes(reply, count)
        self._left -= sum(map(weight, notes.values()))
        return notes

    def _mark(self) -> dict[str, Any]:
        return {"metadata": {"_error": {"code": "run_notes_too_large", "max_size_bytes": self._total}}}


def weight(value: Any) -> int:
    """Approximate bytes that plain JSON takes in memory: up to thirty times its text."""
    if isinstance(value, str):
        return sys.getsizeof(value)
    if isinstance(value, dict):
        return sys.getsizeof(value) + sum(sys.getsizeof(key) + weight(item) for key, item in value.items())
    return sys.getsizeof(value) + sum(map(weight, value)) if isinstance(value, list) else _ATOM


class RowResults:
    """The grades of one run, filled in during the run.

    Args:
        rows: Rows in the dataset.
        noted: The grader may return more than a number per row.

    Attributes:
        grades: One per row.
        done: Number of rows with an outcome.
        failed: Number of them that failed.
    """

    def __init__(self, rows: int, *, noted: bool) -> None:
        self.grades = Grades.empty(rows)
        self.done = self.failed = 0
        self._noted, self._note_memory = noted, NoteMemory()

    def take(self, slot: WorkerSlot, request: Request, reply: Mapping[str, Any], seconds: float) -> None:
        """Write the rows of a finished request."""
        self._store(slot, request, self._note_memory.errors(reply), seconds)
        if self._noted:
            self._put_notes(request, self._note_memory.notes(reply, request.count))

    def _store(
        self, slot: WorkerSlot, request: Request, errors: Mapping[int, GradeError], seconds: float
    ) -> None:
        scores, bits = page_of(slot, request)
        finite = np.isfinite(scores)
        self.grades.put_scores(
            request.first, np.where(finite, scores, np.nan), seconds=seconds / request.count
        )
        failed = np.flatnonzero(~finite)
        if self._noted:
            failed = self._skip(request, failed, bits)
        for offset in failed.tolist():
            self.grades.fail(
                request.first + offset, errors.get(offset) or unscored(scores[offset], bits[offset])
            )
        self.done += request.count
        self.failed += len(failed)

    def _skip(
        self, request: Request, rows: np.ndarray[Any, Any], bits: np.ndarray[Any, Any]
    ) -> np.ndarray[Any, Any]:
        """Skip the rows that the grader does not apply to, and return the others."""
        skipped = bits[rows] == SKIPPED
        for offset in rows[skipped].tolist():
            self.grades.put(request.first + offset, Grade.skipped())
        return np.asarray(rows[~skipped])

    def _put_notes(self, request: Request, notes: Mapping[int, Mapping[str, Any]]) -> None:
        for offset, note in notes.items():
            if "reasoning" in note:
                self.grades.reasoning[request.first + offset] = note["reasoning"]
            if "passed" in note:
                self.grades.passed[request.first + offset] = note["passed"]
            if "metadata" in note:
                self.grades.metadata[request.first + offset] = note["metadata"]

    def keep(self, request: Request, page: tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]) -> bool:
        """Store the finished rows of an unfinished range; returns whether there were any."""
        scores, bits = page
        finished = np.flatnonzero((bits != NOT_SCORED) & (bits != FAILED))
        for offset in finished.tolist():
            if self._noted and bits[offset] == SKIPPED:
                self.grades.put(request.first + offset, Grade.skipped())
            elif np.isfinite(scores[offset]):
                # The duration is sent with the reply, which was never received.
                self.grades.put_scores(request.first + offset, scores[offset : offset + 1], seconds=np.nan)
            else:
                self.grades.fail(request.first + offset, unscored(scores[offset], bits[offset]))
                self.failed += 1
        self.done += len(finished)
        return len(finished) > 0

    def recover_rows(
        self,
        slot: WorkerSlot,
        request: Request,
        page: tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]],
        verdict: GradeError,
    ) -> bool:
        """Keep the finished rows of a crashed worker, fail its current row, and return the others to its slot.

        Args:
            slot: The slot of the crashed worker.
            request: Its current request.
            page: Its scores and their bits.
            verdict: The error for its current row.

        Returns:
            Whether it graded any row, stored or to be graded again.
        """
        scores, bits = page
        open_rows = np.flatnonzero(bits == NOT_SCORED)
        blamed = int(open_rows[0]) if len(open_rows) else request.count
        if self._noted and blamed == request.count:
            # Every row was graded, so the reply was the problem: one row per request finds the row at fault.
            slot.batch_rows, blamed = 1, 0 if request.count == 1 else blamed
        if self._noted:
            # Their notes were in the worker, so all rows before it are graded again.
            ranges = [(0, blamed)] if blamed else []
            any_graded = bool((bits[:blamed] != FAILED).any())
        else:
            ranges = [(int(offset), int(offset) + 1) for offset in np.flatnonzero(bits[:blamed] == FAILED)]
            any_graded = self.keep(request, (scores[:blamed], bits[:blamed]))
        if blamed < request.count:
            self.grades.fail(request.first + blamed, verdict)
            self.done, self.failed = self.done + 1, self.failed + 1
            if blamed + 1 < request.count:
                slot.ranges.appendleft((request.first + blamed + 1, request.first + request.count))
        # The messages of failed rows before it were in the worker: these rows are graded again.
        for start, stop in reversed(ranges):
            slot.ranges.appendleft((request.first + start, request.first + stop))
        return any_graded


def page_of(slot: WorkerSlot, request: Request) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """The scores of a request and their bits, copied: the worker could change them during the check."""
    assert slot.worker is not None
    rows = slice(request.half * CAPACITY, request.half * CAPACITY + request.count)
    bits = slot.worker.bits[rows].copy()
    return bits.view(np.float64), bits


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
        most_in_row: Consecutive crashes without a graded row before the run stops.
        total: Crashes so far.
        in_row: Crashes since the last graded row.
    """

    most_in_row: int
    total: int = 0
    in_row: int = 0

    def add(self) -> None:
        """Count one crash."""
        self.total += 1
        self.in_row += 1

    def enough(self, decided: int, reason: str) -> str:
        """Why the run must stop; "" if it may continue.

        Args:
            decided: Rows that have a score, a failure or a skip.
            reason: Why the last worker ended.
        """
        if self.in_row >= self.most_in_row:
            return f"stopped after {self.in_row} consecutive worker crashes ({reason}); remaining rows not graded"
        if self.total >= MIN_CRASHES and self.total > LOST_SHARE * decided:
            return (
                f"stopped after {self.total:,} worker crashes on {decided:,} rows, more than one in ten ({reason}); "
                "remaining rows not graded"
            )
        return ""
