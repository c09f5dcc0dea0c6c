"""A worker of a group: the command it is at, what becomes of its answer, and what is kept of it when it is lost."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.grade import ErrorKind, GradeError
from workbench.grades import SCORED
from workbench.sandbox.child.protocol import CAPACITY, NOT_SCORED
from workbench.sandbox.host.answers import read_checks
from workbench.sandbox.host.batches import Piece
from workbench.sandbox.host.limits import CHECKS, Program
from workbench.sandbox.host.results import Results, page_of
from workbench.sandbox.host.stopped import is_stopped
from workbench.sandbox.host.text import clean
from workbench.sandbox.host.worker import Death, Worker
from workbench.sandbox.host.worker_slot import Request, WorkerSlot

__all__ = ["MOST_ROWS", "STOPPED_SECONDS", "Member"]

MOST_ROWS = CAPACITY - 1
"""Rows of one command: the page's last number says where to stop."""
_PRINTED = 4000
"""Characters of what a row printed that are kept."""
_UNTOLD_SECONDS = 0.05
"""Seconds of a command beyond what its rows tell they took that the way there and back, and a busy machine, account for."""
STOPPED_SECONDS = 0.2
"""Seconds that a worker which something has stopped is waited for, before its row goes to another one."""
_LOOK_SECONDS = 0.05
_BEGUN = -1.0
"""What a row's time is while it is graded, where the module was made ready for it first."""


@dataclass(eq=False)
class Member(WorkerSlot):
    """A worker of the group.

    Attributes:
        state: "starting", "loading", "idle" or "busy".
        until: When it must be ready, or have loaded.
        seq: The number of the answer it owes.
        pieces: What it is at.
        results: Their grades.
        stuck: Whether the row it is at hangs.
        printed: What the module printed when it was loaded, for the first row.
        preparing: Whether the module is being made ready for its row.
        given: Rows at the beginning of its command that are no longer its own: see `give_finished`.
        load_seconds: What loading the module took, by this process's clock.
        looked: When it was last seen whether it runs.
        ran: When it was last seen to run.
    """

    state: str = "starting"
    until: float = 0.0
    seq: int = 0
    pieces: list[Piece] = field(default_factory=list)
    results: Results = field(default_factory=lambda: Results(0, noted=False))
    stuck: bool = False
    printed: str = ""
    preparing: bool = False
    given: int = 0
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
        """What it is at."""
        return self.requests[0]

    def load(self, program: Program) -> None:
        """Tell a worker that is ready what to load."""
        self.since = time.monotonic()
        self.seq = self.running.send({**program.load_command("load"), "resident": True})
        self.state, self.until = "loading", time.monotonic() + program.limits.hard_load_seconds

    def loads(self, reply: Mapping[str, Any]) -> GradeError | None:
        """Take the answer to `load`; why the program cannot be loaded, None where it is.

        Raises:
            Death: It is no such answer.
        """
        failed = [check for check in read_checks(reply, CHECKS[:4]) if not check[1]]
        if failed:
            return GradeError(ErrorKind.LOAD, f"{failed[0][0]}: {failed[0][2]}")
        printed = reply.get("output")
        self.printed = printed if isinstance(printed, str) else ""
        self.state, self.loaded, self.load_seconds = "idle", True, time.monotonic() - self.since
        return None

    def begin(self, pieces: list[Piece], program: Program, *, alone: bool) -> None:
        """Have rows graded.

        Raises:
            Death: It had ended before; nothing was begun.
        """
        rows = [row for piece in pieces for row in piece.batch.rows[piece.first : piece.stop]]
        worker = self.running
        # By the host, before the command: a row that a dying worker never reached must not show an older score.
        worker.bits[: len(rows)] = NOT_SCORED
        worker.scores[CAPACITY : CAPACITY + len(rows)] = np.nan
        worker.bits[-1] = len(rows)
        limits = program.limits
        times = {"seconds": limits.row_seconds, "load_seconds": limits.load_seconds}
        # Before it is sent: no honest row takes longer than from here on, see `_seconds`.
        self.since = time.monotonic()
        self.seq = worker.send({"op": "alone" if alone else "lent", "rows": rows, **times})
        self.pieces, self.results = pieces, Results(len(rows), noted=program.noted)
        self.requests.append(Request(0, len(rows), 0, 0))
        self.state, self.stuck, self.mark, self.given, self.cut_at = "busy", False, -1, 0, None

    def page(self) -> tuple[NDArray[np.float64], NDArray[np.uint64]]:
        """The scores of its command and their bits, copied; rows that were given back read as finished, whatever it writes."""
        scores, bits = page_of(self, self.request)
        scores[: self.given] = 0.0
        return scores, bits

    def move(self, now: float, *, alone: bool) -> float:
        """See how far it is; returns the seconds since it last moved."""
        _, bits = self.page()
        mark = int((bits != NOT_SCORED).sum())
        preparing = alone and mark < len(bits) and self.running.scores[CAPACITY + mark] != _BEGUN
        if (mark, preparing) != (self.mark, self.preparing):
            self.mark, self.preparing, self.since_mark = mark, preparing, now
        return now - self.since_mark

    def cut(self, now: float) -> list[Piece]:
        """Have it stop behind the row that it is at, and return the rows behind."""
        if self.cut_at is not None:
            return []
        self.cut_at = now
        # First the worker, then the rows: at worst one of them is graded twice, and the second grade counts.
        self.running.bits[-1] = self.mark + 1
        return self._keep(self.mark + 1) if self.mark + 1 < self.request.count else []

    def give_finished(self, isolation: str, *, noted: bool) -> list[Piece]:
        """Tell the batches the scores of the rows before the one that hangs: nobody is to wait for that one.

        Args:
            isolation: Of the worker.
            noted: Whether a row has more than a score, which comes with the answer only.

        Returns:
            Those of the rows that another worker must grade, since what there is to say of them comes with the answer.
        """
        count = min(self.mark, self.request.count)
        if not noted:
            scores, bits = self.page()
            self.results.keep(self.request, (scores[:count], bits[:count]))
            self.results.grades.seconds[:count] = self._seconds(count)
        all_pieces, self.pieces = self.pieces, _part(self.pieces, count - self.given, self.request.count)
        done = _part(all_pieces, 0, count - self.given)
        self._put(done, isolation)
        open_rows = self.results.grades.codes[self.given : count] == 0
        back = [part for start, stop in _ranges(open_rows) for part in _part(done, start, stop)]
        self.given = count
        return back

    def _seconds(self, count: int) -> NDArray[np.float64]:
        """Seconds of the first rows of its command as it tells them, NaN where it does not, or tells what cannot be."""
        seconds, most = self.running.scores[CAPACITY : CAPACITY + count].copy(), time.monotonic() - self.since
        # More than all of them took together is forged: the size of the next command is reckoned from it.
        return np.where(np.isfinite(seconds) & (seconds >= 0) & (seconds <= most), seconds, np.nan)

    def _keep(self, count: int) -> list[Piece]:
        """Leave it the first rows of its command, and return the others."""
        kept, back, left = [], [], max(0, count - self.given)
        for piece in self.pieces:
            front, rest = piece.cut(min(left, len(piece)))
            left -= len(front)
            kept.append(front)
            back.append(rest)
        self.pieces, self.request.count = [piece for piece in kept if len(piece)], count
        return back

    def receive(self, reply: Mapping[str, Any], *, alone: bool) -> tuple[list[Piece], NDArray[np.float64]]:
        """Write down what an answered command gave.

        Returns:
            Rows that it did not come to, and the seconds of each row that was scored.

        Raises:
            Death: It is no such answer.
        """
        done = reply.get("done")
        if type(done) is not int or done <= 0:
            raise Death("it broke the protocol")
        took = time.monotonic() - self.since
        # More than asked for: it was at the next row when the rows behind were taken from it.
        back = self._keep(min(done, self.request.count))
        self.results.take(self, self.request, reply, 0.0)
        if alone:
            self._take_printed(reply)
        count, grades = self.request.count, self.results.grades
        seconds = self._seconds(count)
        if took - np.nansum(seconds) > np.nansum(seconds) + _UNTOLD_SECONDS + self.load_seconds:
            seconds[:] = took / count  # it tells less than half of the time that has passed
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
        """Tell the batches what is known of their rows; returns how many rows are."""
        pieces, self.pieces = self.pieces, []
        self.requests.clear()
        self.state = "idle"
        return self._put(pieces, isolation)

    def _put(self, pieces: Iterable[Piece], isolation: str) -> int:
        """Tell the batches what is known of pieces, the first rows that are its own; returns how many rows are."""
        at, known = self.given, 0
        for piece in pieces:
            piece.batch.grades.isolation = isolation
            known += piece.batch.put(piece, self.results.grades, at)
            at += len(piece)
        return known

    def salvage(self, pages: tuple[Any, Any], blame: GradeError, at_once: int) -> list[Piece]:
        """Keep the finished rows of a worker that is gone, blame the row it was at, and return the rest.

        Args:
            pages: Its scores and their bits.
            blame: What its loss means for that row.
            at_once: Rows of a command by now; `batch_rows` then says how many there should be.
        """
        self.batch_rows = at_once
        self.results.salvage(self, self.request, pages, blame)
        if blame.kind is ErrorKind.TIMEOUT and 0 <= self.mark < self.request.count:
            # A mark that moved after all rows but one were taken from it was forged.
            since = self.since_mark if self.cut_at is None else min(self.since_mark, self.cut_at)
            self.results.grades.seconds[self.mark] = time.monotonic() - since
        return self._parts(self.ranges)

    def lost_before(self, pages: tuple[Any, Any], cause: str) -> str:
        """Why a worker was lost at the row that this one was at when it was lost; "" for the first time.

        Args:
            pages: Its scores and their bits.
            cause: Why this one was lost, which is remembered.
        """
        open_rows = np.flatnonzero(pages[1] == NOT_SCORED)
        # Where all rows were decided it was on its way with the answer.
        at = int(open_rows[0]) if len(open_rows) else self.request.count - 1
        for piece in self._parts([(at, at + 1)]):
            before = piece.batch.lost.get(piece.first, "")
            piece.batch.lost.setdefault(piece.first, cause)
            return before
        return ""

    def is_stopped(self, now: float) -> bool:
        """Whether its process was stopped and does not run since `STOPPED_SECONDS`."""
        if now - self.looked < _LOOK_SECONDS:
            return False
        if now - self.looked > STOPPED_SECONDS or not is_stopped(self.running.pid):
            self.ran = now
        self.looked = now
        return now - self.ran > STOPPED_SECONDS

    def keep_finished(self, pages: tuple[Any, Any], *, noted: bool) -> list[Piece]:
        """Keep the finished rows of a worker that was killed, and return all others."""
        if not noted:  # else their notes are lost with it
            self.results.keep(self.request, pages)
        missing = self.results.grades.codes[: self.request.count] == 0
        return self._parts(_ranges(missing))

    def _parts(self, ranges: Iterable[tuple[int, int]]) -> list[Piece]:
        """Ranges of its command's rows as pieces of their batches."""
        given = self.given
        return [part for start, stop in ranges for part in _part(self.pieces, start - given, stop - given)]


def _ranges(rows: NDArray[np.bool_]) -> list[tuple[int, int]]:
    """Where rows that are true begin and end."""
    edges = np.flatnonzero(np.diff(rows, prepend=False, append=False)).tolist()
    return list(zip(edges[::2], edges[1::2], strict=True))


def _part(pieces: list[Piece], start: int, stop: int) -> list[Piece]:
    """The rows `start` to `stop` of pieces that stand one after the other."""
    parts, at = [], 0
    for piece in pieces:
        first, last = max(start - at, 0), min(stop - at, len(piece))
        if first < last:
            parts.append(Piece(piece.batch, piece.first + first, piece.first + last))
        at += len(piece)
    return parts
