"""Worker replies written into the columns of grades: scores, notes, failures, and the finished rows of crashed workers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from workbench.core.grade import Grade, GradeError
from workbench.core.grades import Grades
from workbench.sandbox.child.protocol import CAPACITY, FAILED, NOT_SCORED, SKIPPED
from workbench.sandbox.host.answers import unscored
from workbench.sandbox.host.note_memory import NoteMemory
from workbench.sandbox.host.worker_slot import Request, WorkerSlot

__all__ = ["RowResults", "page_of"]


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
