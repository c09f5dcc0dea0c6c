"""Rows at a worker and what becomes of them: ranges in flight, grades written from replies, the errors of workers that ended.

A grader can write to its worker's reply descriptor, so any reply may be forged. A forged reply can misreport the grader's
own rows. It must not raise anything here or affect the results of another grader.
"""

from __future__ import annotations

import math
import sys
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from workbench.core.display_text import clean
from workbench.core.grade import ErrorKind, Grade, GradeError
from workbench.core.grades import Grades
from workbench.sandbox.child.protocol import CAPACITY, FAILED, NOT_SCORED, SKIPPED
from workbench.sandbox.host.worker import Worker, WorkerLostError

WORKER_KINDS = frozenset({
    ErrorKind.TIMEOUT, ErrorKind.MEMORY, ErrorKind.RUNTIME, ErrorKind.RETURN_TYPE, ErrorKind.NOT_FINITE, ErrorKind.OUT_OF_RANGE,
})  # fmt: skip
"""Kinds that the package's code in a worker reports. All other kinds describe events outside the worker, such as
an exhausted budget or a stopped run, and decide whether a row counts. A grader must not be able to choose those.
*sandbox* is excluded: a forged or incomplete reply counts as a failure of the grader."""
MAX_REASONING = 20_000
"""Maximum characters of a row's reasoning."""
MAX_DEPTH = 50
"""Maximum nesting depth of a row's metadata."""
MAX_KEPT = 256 * 1024 * 1024
"""Bytes of memory for the notes and error texts of one run: a hundred thousand rows could return 128 KiB each.
Later ones are shortened or omitted, with a remark."""
_SHORT = 100
_ATOM = 32  # bytes of a number
FIRST_ROWS = 8
"""Rows of the first command, before any row time is known."""


@dataclass
class Request:
    """A range of rows in flight, the half of the page for its scores, and the bytes of its rows if these were sent.

    `asked` is the requested number of rows; `count` is lower if rows were removed later.
    """

    first: int
    count: int
    half: int
    seq: int
    asked: int
    size: int = 0


@dataclass(eq=False)
class WorkerSlot:
    """A worker with its rows, whether it has loaded the program, and the bytes of rows that it can be sent.

    `load_seq` is the number of the reply that reports it loaded, `is_contained` whether the module keeps state only in its
    names, `mark` is the plausible number of rows it has finished, `since` the start of its time, `cut_at` when all rows
    after the current one were removed.
    """

    ranges: deque[tuple[int, int]]
    worker: Worker | None = None
    loaded: bool = False
    load_seq: int = 0
    is_contained: bool = False
    requests: deque[Request] = field(default_factory=deque)
    batch_rows: int = FIRST_ROWS
    mark: int = -1
    since: float = 0.0
    since_mark: float = 0.0
    cut_at: float | None = None
    buffer_bytes: int = 0

    @property
    def left(self) -> int:
        """Rows not yet requested."""
        return sum(stop - start for start, stop in self.ranges)

    def take(self, count: int) -> tuple[int, int] | None:
        """Rows from the front."""
        if not self.ranges:
            return None
        start, stop = self.ranges.popleft()
        cut = min(stop, start + count)
        if cut < stop:
            self.ranges.appendleft((cut, stop))
        return start, cut

    def give(self, most: int) -> tuple[int, int] | None:
        """Rows from the back, for a slot without rows; at most half of the last range."""
        if not self.ranges:
            return None
        start, stop = self.ranges.pop()
        cut = max(start, stop - max(1, min(most, (stop - start) // 2)))
        if cut > start:
            self.ranges.append((start, cut))
        return cut, stop


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
        error: GradeError | None,
    ) -> bool:
        """Keep the finished rows of an ended worker, fail its current row, and return the others to its slot.

        Args:
            slot: The slot of the crashed worker.
            request: Its current request.
            page: Its scores and their bits.
            error: The error for its current row; None to return this row, too.

        Returns:
            Whether it graded any row, stored or to be graded again.
        """
        scores, bits = page
        open_rows = np.flatnonzero(bits == NOT_SCORED)
        blamed = int(open_rows[0]) if len(open_rows) else request.count
        if self._noted and blamed == request.count and error is not None:
            # Every row was graded, so the reply was the problem: one row per request finds the row at fault.
            slot.batch_rows, blamed = 1, 0 if request.count == 1 else blamed
        if self._noted:
            # Their notes were in the worker, so all rows before it are graded again.
            ranges = [(0, blamed)] if blamed else []
            any_graded = bool((bits[:blamed] != FAILED).any())
        else:
            ranges = [(int(offset), int(offset) + 1) for offset in np.flatnonzero(bits[:blamed] == FAILED)]
            any_graded = self.keep(request, (scores[:blamed], bits[:blamed]))
        rest = blamed
        if blamed < request.count and error is not None:
            self.grades.fail(request.first + blamed, error)
            self.done, self.failed, rest = self.done + 1, self.failed + 1, blamed + 1
        if rest < request.count:
            slot.ranges.appendleft((request.first + rest, request.first + request.count))
        # The messages of failed rows before it were in the worker: these rows are graded again.
        for start, stop in reversed(ranges):
            slot.ranges.appendleft((request.first + start, request.first + stop))
        return any_graded


def current_row(request: Request, bits: np.ndarray[Any, Any]) -> int:
    """Index in a range of the row at which its worker ended; the last one if it was sending the reply."""
    open_rows = np.flatnonzero(bits == NOT_SCORED)
    return int(open_rows[0]) if len(open_rows) else request.count - 1


def page_of(slot: WorkerSlot, request: Request) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """The scores of a request and their bits, copied: the worker could change them during the check."""
    assert slot.worker is not None
    rows = slice(request.half * CAPACITY, request.half * CAPACITY + request.count)
    bits = slot.worker.bits[rows].copy()
    return bits.view(np.float64), bits


class NoteMemory:
    """The memory budget for the notes and error texts of one run.

    Args:
        total: Bytes.
    """

    def __init__(self, total: int = MAX_KEPT) -> None:
        self._total = self._left = total

    def errors(self, reply: Mapping[str, Any]) -> dict[int, GradeError]:
        """The error table of a reply; if no memory remains, the texts are cut to 100 characters."""
        if not reply.get("errors"):
            return {}
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


def read_errors(reply: Mapping[str, Any], limit: int = 2000) -> dict[int, GradeError]:
    """The error table of a range of rows, each text cut to `limit` characters.

    Forged entries are omitted and their rows report that no reason was given. A reserved kind becomes *runtime*.
    """
    texts, entries = reply.get("texts"), reply.get("errors")
    if not isinstance(texts, list) or not isinstance(entries, list):
        return {}
    # Each text once: many rows fail for the same reason and share one object.
    messages = [clean(text, limit) if isinstance(text, str) else "" for text in texts]
    shared: dict[tuple[str, int], GradeError] = {}
    errors: dict[int, GradeError] = {}
    for entry in entries:
        try:
            row, kind, text = entry
            if (kind, text) not in shared:
                shared[kind, text] = _error(ErrorKind(kind), messages[text])
            errors[int(row)] = shared[kind, text]
        except (TypeError, ValueError, IndexError, OverflowError):
            # Forged: not a triple, an unknown kind, not a text, a missing text, or an infinite row index.
            continue
    return errors


def _error(kind: ErrorKind, message: str) -> GradeError:
    if kind in WORKER_KINDS:
        return GradeError(kind, message)
    return GradeError(ErrorKind.RUNTIME, f"worker reported reserved error kind {kind}: {message}")


def read_notes(reply: Mapping[str, Any], count: int) -> dict[int, dict[str, Any]]:
    """Offset to what a grader returned with its score: `reasoning` (text), `metadata` (plain JSON), `passed` (bool).

    Texts are cut and cleaned like all worker output. Entries of another shape are omitted.
    """
    return {offset: _note(entry) for offset, entry in noted(reply, count).items()}


def noted(reply: Mapping[str, Any], count: int) -> dict[int, dict[str, Any]]:
    """The unchecked notes of a reply; only their row indices are checked."""
    entries, notes = reply.get("notes"), {}
    for entry in entries if isinstance(entries, list) else ():
        well_formed = (
            isinstance(entry, list)
            and len(entry) == 2
            # Exactly an int: True would be accepted as row 1.
            and type(entry[0]) is int
            and isinstance(entry[1], dict)
        )
        if well_formed and 0 <= entry[0] < count:
            notes[entry[0]] = entry[1]
    return notes


def _note(entry: dict[str, Any]) -> dict[str, Any]:
    reasoning, metadata = entry.get("reasoning"), entry.get("metadata")
    note: dict[str, Any] = {"passed": entry["passed"]} if isinstance(entry.get("passed"), bool) else {}
    if isinstance(reasoning, str):
        note["reasoning"] = clean(reasoning, MAX_REASONING)
    if isinstance(metadata, dict) and metadata:
        note["metadata"] = _cleaned(metadata, 0)
    return note


def _cleaned(value: Any, depth: int) -> Any:
    """Plain JSON with every text cleaned; a placeholder replaces values that are nested too deeply."""
    if isinstance(value, str):
        # Not cut: the reply size is already limited.
        return clean(value, len(value))
    if depth > MAX_DEPTH:
        return "(nested too deeply)"
    if isinstance(value, dict):
        return {clean(key, len(key)): _cleaned(item, depth + 1) for key, item in value.items()}
    if isinstance(value, list):
        return [_cleaned(item, depth + 1) for item in value]
    # A forged reply may contain NaN, which exported JSON files cannot represent.
    return None if isinstance(value, float) and not math.isfinite(value) else value


def read_done(reply: Mapping[str, Any], count: int) -> int:
    """The number of graded rows of a range: all, or fewer if their notes filled the reply.

    Raises:
        WorkerLostError: The number is invalid; otherwise a worker that does nothing would get requests forever.
    """
    rows = reply.get("done", count)
    if type(rows) is not int or not 0 < rows <= count:
        raise WorkerLostError("malformed reply")
    return rows


def unscored(score: np.float64, bits: np.uint64) -> GradeError:
    """Why a row has no score if the worker gave no reason."""
    if bits in (NOT_SCORED, FAILED):
        return GradeError(ErrorKind.RUNTIME, "the worker gave no score and no reason")
    return GradeError(ErrorKind.NOT_FINITE, f"grade returned {float(score)!r}, which is not finite")
