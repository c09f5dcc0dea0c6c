"""A worker of a group: its current command, the handling of its reply, and recovery of its rows after a crash."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.core.display_text import clean
from workbench.core.grade import ErrorKind, GradeError
from workbench.core.grades import SCORED
from workbench.sandbox.child.protocol import CAPACITY, NOT_SCORED
from workbench.sandbox.host.batches import BatchSlice
from workbench.sandbox.host.program import Program, load_problem
from workbench.sandbox.host.results import Request, RowResults, WorkerSlot, current_row, page_of
from workbench.sandbox.host.worker import Worker, WorkerLostError
from workbench.sandbox.host.zygote import is_stopped

MAX_ROWS = CAPACITY - 1
"""Rows of one command: the last number of the page is the row at which to stop."""
_PRINTED = 4000
"""Maximum characters of what a row printed."""
_UNTOLD_SECONDS = 0.05
"""Seconds of a command, beyond its rows' reported times, allowed for transfer and a busy machine."""
STOPPED_SECONDS = 0.2
"""Seconds to wait for a stopped (SIGSTOP) worker before its row goes to another worker."""
_LOOK_SECONDS = 0.05
_BEGUN = -1.0
"""A row's time during grading if the module must first be prepared for it."""


@dataclass(eq=False)
class Member(WorkerSlot):
    """A worker of the group.

    Attributes:
        state: "starting", "loading", "idle" or "busy".
        until: When it must be ready, or have loaded.
        seq: The number of the expected reply.
        pieces: The rows of its current command.
        results: Their grades.
        stuck: Whether its current row hangs.
        printed: What the module printed during loading, for the first row.
        preparing: Whether the module is being prepared for its row.
        n_flushed: Number of leading rows of its command that no longer belong to it: see `flush_finished`.
        load_seconds: Load time of the module, by this process's clock.
        looked: When its state was last checked.
        ran: When it was last seen running.
    """

    state: str = "starting"
    until: float = 0.0
    seq: int = 0
    pieces: list[BatchSlice] = field(default_factory=list)
    results: RowResults = field(default_factory=lambda: RowResults(0, noted=False))
    stuck: bool = False
    printed: str = ""
    preparing: bool = False
    n_flushed: int = 0
    load_seconds: float = 0.0
    looked: float = 0.0
    ran: float = 0.0

    @property
    def running(self) -> Worker:
        """Its worker."""
        assert self.worker is not None
        return self.worker

    @property
    def request(self) -> Request:
        """Its current rows."""
        return self.requests[0]

    def load(self, program: Program) -> None:
        """Send the load command to a ready worker."""
        self.since = time.monotonic()
        self.seq = self.running.send({**program.load_command("load"), "resident": True})
        self.state, self.until = "loading", time.monotonic() + program.limits.hard_load_seconds

    def loads(self, reply: Mapping[str, Any]) -> GradeError | None:
        """Read the reply to `load`; returns why the program cannot be loaded, or None.

        Raises:
            WorkerLostError: The reply is malformed.
        """
        if (problem := load_problem(reply)) is not None:
            return problem
        printed = reply.get("output")
        self.printed = printed if isinstance(printed, str) else ""
        self.state, self.loaded, self.load_seconds = "idle", True, time.monotonic() - self.since
        return None

    def begin(self, pieces: list[BatchSlice], program: Program, *, alone: bool) -> None:
        """Send rows to grade.

        Raises:
            WorkerLostError: The worker had already ended; no row was started.
        """
        rows = [row for piece in pieces for row in piece.batch.rows[piece.first : piece.stop]]
        worker = self.running
        # Written by the host before the command: a row that a dying worker never reached must not show an older score.
        worker.bits[: len(rows)] = NOT_SCORED
        worker.scores[CAPACITY : CAPACITY + len(rows)] = np.nan
        worker.bits[-1] = len(rows)
        limits = program.limits
        times = {"seconds": limits.row_seconds, "load_seconds": limits.load_seconds}
        # Set before sending: every genuine row ends within the time counted from here, see `_seconds`.
        self.since = time.monotonic()
        self.seq = worker.send({"op": "grade_isolated" if alone else "grade_batch", "rows": rows, **times})
        self.pieces, self.results = pieces, RowResults(len(rows), noted=program.noted)
        self.requests.append(Request(0, len(rows), 0, 0, len(rows)))
        self.state, self.stuck, self.mark, self.n_flushed, self.cut_at = "busy", False, -1, 0, None

    def page(self) -> tuple[NDArray[np.float64], NDArray[np.uint64]]:
        """Copied scores and bits of its command; returned rows always read as finished, to prevent forgery."""
        scores, bits = page_of(self, self.request)
        scores[: self.n_flushed] = 0.0
        return scores, bits

    def move(self, now: float, *, alone: bool) -> float:
        """Update its progress; returns the seconds since the last progress."""
        _, bits = self.page()
        mark = int((bits != NOT_SCORED).sum())
        preparing = alone and mark < len(bits) and self.running.scores[CAPACITY + mark] != _BEGUN
        if (mark, preparing) != (self.mark, self.preparing):
            self.mark, self.preparing, self.since_mark = mark, preparing, now
        return now - self.since_mark

    def cut(self, now: float) -> list[BatchSlice]:
        """Make it stop after its current row, and return the rows after that."""
        if self.cut_at is not None:
            return []
        self.cut_at = now
        # First the worker, then the rows: at worst one row is graded twice, and the second grade counts.
        self.running.bits[-1] = self.mark + 1
        return self._keep(self.mark + 1) if self.mark + 1 < self.request.count else []

    def flush_finished(self, isolation: str, *, noted: bool) -> list[BatchSlice]:
        """Pass the scores of the rows before the hanging one to their batches, so that callers need not wait for it.

        Args:
            isolation: Of the worker.
            noted: Whether rows have more than a score, which is sent only with the reply.

        Returns:
            Rows that another worker must grade, because their details are sent only with the reply.
        """
        count = min(self.mark, self.request.count)
        if not noted:
            scores, bits = self.page()
            self.results.keep(self.request, (scores[:count], bits[:count]))
            self.results.grades.seconds[:count] = self._seconds(count)
        all_pieces, self.pieces = self.pieces, _part(self.pieces, count - self.n_flushed, self.request.count)
        done = _part(all_pieces, 0, count - self.n_flushed)
        self._put(done, isolation)
        open_rows = self.results.grades.codes[self.n_flushed : count] == 0
        back = [part for start, stop in _ranges(open_rows) for part in _part(done, start, stop)]
        self.n_flushed = count
        return back

    def _seconds(self, count: int) -> NDArray[np.float64]:
        """Reported seconds of the first rows of its command; NaN if missing or impossible."""
        seconds, most = self.running.scores[CAPACITY : CAPACITY + count].copy(), time.monotonic() - self.since
        # A sum above the total is forged: the size of the next command is computed from it.
        return np.where(np.isfinite(seconds) & (seconds >= 0) & (seconds <= most), seconds, np.nan)

    def _keep(self, count: int) -> list[BatchSlice]:
        """Leave it the first rows of its command, and return the others."""
        kept, back, left = [], [], max(0, count - self.n_flushed)
        for piece in self.pieces:
            front, rest = piece.cut(min(left, len(piece)))
            left -= len(front)
            kept.append(front)
            back.append(rest)
        self.pieces, self.request.count = [piece for piece in kept if len(piece)], count
        return back

    def receive(
        self, reply: Mapping[str, Any], *, alone: bool
    ) -> tuple[list[BatchSlice], NDArray[np.float64]]:
        """Store the results of a finished command.

        Returns:
            Rows that it did not reach, and the seconds of each scored row.

        Raises:
            WorkerLostError: The reply is malformed.
        """
        done = reply.get("done")
        if type(done) is not int or done <= 0:
            raise WorkerLostError("malformed reply")
        took = time.monotonic() - self.since
        # More rows than requested: it had started the next row when the following rows were removed.
        back = self._keep(min(done, self.request.count))
        self.results.take(self, self.request, reply, 0.0)
        if alone:
            self._take_printed(reply)
        count, grades = self.request.count, self.results.grades
        seconds = self._seconds(count)
        if took - np.nansum(seconds) > np.nansum(seconds) + _UNTOLD_SECONDS + self.load_seconds:
            seconds[:] = took / count  # it reports less than half of the elapsed time
        grades.seconds[:count] = seconds
        return back, seconds[~np.isnan(seconds) & (grades.codes[:count] == SCORED)]

    def _take_printed(self, reply: Mapping[str, Any]) -> None:
        told = reply.get("printed")
        printed = [text if isinstance(text, str) else "" for text in told] if isinstance(told, list) else []
        printed = [self.printed + "".join(printed[:1]), *printed[1:]]
        self.printed = ""
        rows = [(piece.batch, row) for piece in self.pieces for row in range(piece.first, piece.stop)]
        for (batch, row), text in zip(rows, printed, strict=False):
            if text:
                batch.printed[row] = clean(text, _PRINTED)

    def settle(self, isolation: str) -> int:
        """Pass the known grades of its rows to their batches; returns their number."""
        pieces, self.pieces = self.pieces, []
        self.requests.clear()
        self.state = "idle"
        return self._put(pieces, isolation)

    def _put(self, pieces: Iterable[BatchSlice], isolation: str) -> int:
        """Pass the known grades of pieces, its leading rows, to their batches; returns their number."""
        at, known = self.n_flushed, 0
        for piece in pieces:
            piece.batch.grades.isolation = isolation
            known += piece.batch.put(piece, self.results.grades, at)
            at += len(piece)
        return known

    def recover_rows(
        self, pages: tuple[Any, Any], error: GradeError | None, at_once: int
    ) -> list[BatchSlice]:
        """Keep the finished rows of an ended worker, assign the error to its current row, and return the others.

        Args:
            pages: Its scores and their bits.
            error: The error for its current row; None to return this row, too.
            at_once: Current rows per command; `batch_rows` then returns the new number.
        """
        self.batch_rows = at_once
        self.results.recover_rows(self, self.request, pages, error)
        if error is not None and error.kind is ErrorKind.TIMEOUT and 0 <= self.mark < self.request.count:
            # A counter that advanced after all other rows were removed was forged.
            since = self.since_mark if self.cut_at is None else min(self.since_mark, self.cut_at)
            self.results.grades.seconds[self.mark] = time.monotonic() - since
        return self._parts(self.ranges)

    def lost_before(self, pages: tuple[Any, Any], cause: str) -> str:
        """Why an earlier worker ended at the current row; "" the first time.

        Args:
            pages: Its scores and their bits.
            cause: Why this worker ended, stored for the next time.
        """
        at = current_row(self.request, pages[1])
        for piece in self._parts([(at, at + 1)]):
            before = piece.batch.lost.get(piece.first, "")
            piece.batch.lost.setdefault(piece.first, cause)
            return before
        return ""

    def is_stopped(self, now: float) -> bool:
        """Whether its process has been stopped for `STOPPED_SECONDS`."""
        if now - self.looked < _LOOK_SECONDS:
            return False
        if now - self.looked > STOPPED_SECONDS or not is_stopped(self.running.pid):
            self.ran = now
        self.looked = now
        return now - self.ran > STOPPED_SECONDS

    def _parts(self, ranges: Iterable[tuple[int, int]]) -> list[BatchSlice]:
        """Ranges of its command's rows as pieces of their batches."""
        n_flushed = self.n_flushed
        return [
            part for start, stop in ranges for part in _part(self.pieces, start - n_flushed, stop - n_flushed)
        ]


def _ranges(rows: NDArray[np.bool_]) -> list[tuple[int, int]]:
    """Start and end of each run of true rows."""
    edges = np.flatnonzero(np.diff(rows, prepend=False, append=False)).tolist()
    return list(zip(edges[::2], edges[1::2], strict=True))


def _part(pieces: list[BatchSlice], start: int, stop: int) -> list[BatchSlice]:
    """Rows `start` to `stop` of consecutive pieces."""
    parts, at = [], 0
    for piece in pieces:
        first, last = max(start - at, 0), min(stop - at, len(piece))
        if first < last:
            parts.append(BatchSlice(piece.batch, piece.first + first, piece.first + last))
        at += len(piece)
    return parts
