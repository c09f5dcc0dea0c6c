"""The workers of one program that stay between calls: who grades which rows, and what becomes of those that hang.

All of it runs on one thread, which owns the workers; see `residents`. A row that hangs keeps its worker to the end of its
time, and the rows behind it go to another one; for these a few more workers are started than there are cores, so that
time limits do not add up.
"""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from workbench.errors import SandboxError
from workbench.grade import ErrorKind, GradeError
from workbench.grades import SCORED
from workbench.sandbox.child.protocol import CAPACITY, NOT_SCORED, NOTED_ROWS
from workbench.sandbox.host.answers import ends_loading, read_checks, verdict
from workbench.sandbox.host.batches import Batch, Piece, Waiting
from workbench.sandbox.host.interpreter import StartError
from workbench.sandbox.host.limits import CHECKS, Program, weakest
from workbench.sandbox.host.results import Results, page_of
from workbench.sandbox.host.text import clean
from workbench.sandbox.host.worker import ENDED, TIMED_OUT, Death, Worker
from workbench.sandbox.host.worker_slot import FIRST_ROWS, Request, WorkerSlot
from workbench.sandbox.host.zygote import START_SECONDS

__all__ = ["EXTRA_WORKERS", "Crew", "Member", "NotSelfContainedError"]

EXTRA_WORKERS = 16
"""Workers beyond the usual number, for rows that hang: so many hang side by side before their time limits add up."""
_TARGET_SECONDS = 0.01
"""Work in one command: a tenth of it is what the round trip takes."""
_STUCK_SECONDS, _STUCK_TIMES = 0.03, 4.0
"""A row hangs, as far as the rows behind it are concerned, after so long and so many times what a row takes."""
_MOST_BYTES = 768 * 1024
"""Bytes of rows in one command, if it has more than one: less than the pipe holds, so that sending never waits."""
_ALONE_ROWS = 64
_PRINTED = 4000
"""Characters of what a row printed that are kept."""
_MOST_FRUITLESS = 3
"""Workers lost without a row decided, or without getting ready, after which nothing is tried any more."""
_EXTRA_IDLE_SECONDS = 60.0


class NotSelfContainedError(Exception):
    """The program may leave something behind from row to row: its single calls need fresh workers."""


@dataclass(eq=False)
class Member(WorkerSlot):
    """A worker of the crew.

    Attributes:
        state: "starting", "loading", "idle" or "busy".
        until: When it must have answered.
        pieces: What it is at.
        results: Their grades.
        stuck: Whether the row it is at hangs.
        output: What the module printed when it was loaded, for the first row.
    """

    state: str = "starting"
    until: float = 0.0
    seq: int = 0
    pieces: list[Piece] = field(default_factory=list)
    results: Results | None = None
    stuck: bool = False
    output: str = ""

    @property
    def running(self) -> Worker:
        """Its worker."""
        assert self.worker is not None
        return self.worker

    @property
    def request(self) -> Request:
        """What it is at."""
        return self.requests[0]


class Crew:
    """Workers for one program.

    Args:
        program: What they load.
        workers: How many at most, beside those for rows that hang.
        alone: Whether each row is graded in a module of its own, as a single call is.
        idle_seconds: Time without work after which all end.
        start: Starts a worker without waiting for it.
        discard: Takes a worker that is done with; it may end it later.
    """

    def __init__(
        self, program: Program, *, workers: int, alone: bool, idle_seconds: float,
        start: Callable[[], Worker], discard: Callable[[Worker], object],
    ) -> None:  # fmt: skip
        self._program, self._limits, self._workers, self._alone = program, program.limits, workers, alone
        self._start, self._discard, self._idle_seconds = start, discard, idle_seconds
        self._most = _ALONE_ROWS if alone else NOTED_ROWS if program.noted else CAPACITY - 1
        self._waiting = Waiting()
        self._at_once = 1 if alone else FIRST_ROWS
        self._row_seconds = float("nan")
        self._fruitless = 0
        self._worked = time.monotonic()
        self.members: list[Member] = []
        self.isolation = ""

    def add(self, batch: Batch) -> None:
        """Take rows."""
        self._waiting.add(batch)
        self._worked = time.monotonic()

    @property
    def busy(self) -> bool:
        """Whether rows wait or are being graded."""
        return bool(self._waiting.rows or any(member.state == "busy" for member in self.members))

    def step(self) -> None:
        """Start workers, hand out rows, look after those that are at work."""
        now = time.monotonic()
        for member in list(self.members):
            with self._mourning(member):
                self._watch(member, now)
        self._hire(now)
        for member in list(self.members):
            places = self._wanted() - self._moving
            if member.state == "idle" and places > 0:
                with self._mourning(member):
                    self._hand_out(member, places)
        self._dismiss(now)

    def read(self, member: Member) -> None:
        """Take what a worker has sent."""
        if member not in self.members:
            return  # it was let go a moment ago
        with self._mourning(member):
            if member.state == "idle":
                raise Death(ENDED)  # it has nothing to say: it ended, or writes where it must not
            reply = member.running.poll(member.seq)
            if reply is not None:
                {"starting": self._greet, "loading": self._loaded, "busy": self._collect}[member.state](
                    member, reply
                )

    def close(self) -> None:
        """End every worker; what still waits is cancelled."""
        self._fail_waiting(GradeError(ErrorKind.CANCELLED, "not graded: the workers were closed"))
        for member in list(self.members):
            self._let_go(member)
            for piece in member.pieces:
                piece.batch.fail(
                    piece, GradeError(ErrorKind.CANCELLED, "not graded: the workers were closed")
                )

    @contextlib.contextmanager
    def _mourning(self, member: Member) -> Any:
        try:
            yield
        except Death as death:
            self._handle_death(member, death)
        except SandboxError as error:  # confinement that is too weak: so it will be in the next worker
            self._let_go(member)
            self._end_waiting(error)

    def _hire(self, now: float) -> None:
        """Start workers as far as rows wait for which none is free."""
        moving = sum(not member.stuck for member in self.members)  # those that are getting ready as well
        while moving < self._wanted() and len(self.members) < self._workers + EXTRA_WORKERS:
            try:
                worker = self._start()
            except SandboxError as error:
                self._end_waiting(error)
                return
            member = Member(ranges=deque(), worker=worker, until=now + START_SECONDS)
            self.members.append(member)
            moving += 1

    @property
    def _moving(self) -> int:
        """Workers that grade rows which do not hang."""
        return sum(member.state == "busy" and not member.stuck for member in self.members)

    def _wanted(self) -> int:
        """Workers that the waiting rows are worth, with those that are at work."""
        if not self._waiting.rows:
            return 0
        known = not np.isnan(self._row_seconds)
        worth = (
            self._waiting.rows * self._row_seconds / _TARGET_SECONDS
            if known
            else self._waiting.rows / FIRST_ROWS
        )
        usual = min(self._workers, max(1, int(worth) + self._moving))
        # Where rows hang there may be more of them: twice as many at a time are met with each that is found.
        stuck = sum(member.stuck for member in self.members)
        return max(usual, min(stuck, self._waiting.rows))

    def _greet(self, member: Member, info: Mapping[str, Any]) -> None:
        worker = member.running
        worker.info, worker.level = dict(info), str(info.get("level"))
        self._program.require(worker.level)
        self.isolation = weakest(self.isolation, worker.level)
        member.seq = worker.send({**self._program.load_command("load"), "resident": True})
        member.state, member.until = "loading", time.monotonic() + self._limits.hard_load_seconds

    def _loaded(self, member: Member, reply: Mapping[str, Any]) -> None:
        failed = [check for check in read_checks(reply, CHECKS[:4]) if not check[1]]
        if failed:
            self._let_go(member)
            self._fail_waiting(GradeError(ErrorKind.LOAD, f"{failed[0][0]}: {failed[0][2]}"))
        elif self._alone and reply.get("self_contained") is not True:
            self._let_go(member)
            self._end_waiting(NotSelfContainedError())
        else:
            output = reply.get("output")
            member.output = output if isinstance(output, str) else ""
            member.state, member.loaded = "idle", True

    def _hand_out(self, member: Member, places: int) -> None:
        """Give an idle worker its share of the rows, as one of so many."""
        share = -(-self._waiting.rows // places)
        pieces = self._waiting.take(min(share, self._at_once, self._most), _MOST_BYTES)
        if not pieces:
            return
        rows = [row for piece in pieces for row in piece.batch.rows[piece.first : piece.stop]]
        member.pieces, member.results = pieces, Results(len(rows), noted=self._program.noted)
        member.state, member.stuck, member.mark = "busy", False, -1
        member.since = time.monotonic()
        worker = member.running
        # By the host, before the command: a row that a dying worker never reached must not show an older score.
        worker.bits[: len(rows)] = NOT_SCORED
        worker.scores[CAPACITY : CAPACITY + len(rows)] = np.nan
        worker.bits[-1] = len(rows)
        command = {
            "op": "alone" if self._alone else "lent",
            "rows": rows,
            "seconds": self._limits.row_seconds,
        }
        try:
            member.seq = worker.send({**command, "load_seconds": self._limits.load_seconds})
        except Death:
            member.state = "idle"  # it had ended before: no row is to blame
            self._waiting.put_back(pieces)
            raise
        member.requests.append(Request(0, len(rows), 0, 0))

    def _collect(self, member: Member, reply: Mapping[str, Any]) -> None:
        """Write down what an answered command gave."""
        request, results = member.request, member.results
        assert results is not None
        done = reply.get("done")
        if type(done) is not int or done <= 0:
            raise Death("it broke the protocol")
        # More than asked for: it was at the next row when the rows behind were taken from it.
        self._give_back(member, min(done, request.count))
        results.take(member, request, reply, 0.0)
        self._note_seconds(member)
        if self._alone:
            self._note_printed(member, reply)
        spent_memory = any(error.kind is ErrorKind.MEMORY for error in results.grades.errors.values())
        self._settle(member)
        member.state, member.stuck = "idle", False
        if spent_memory:  # what the row before has taken may still be held, and the next one would pay for it
            self._let_go(member)

    def _give_back(self, member: Member, count: int) -> None:
        """Leave a worker the first rows of its command, and put the others back."""
        kept, back, left = [], [], count
        for piece in member.pieces:
            front, rest = piece.cut(min(left, len(piece)))
            left -= len(front)
            kept.append(front)
            back.append(rest)
        member.pieces, member.request.count = [piece for piece in kept if len(piece)], count
        self._waiting.put_back(back)

    def _note_seconds(self, member: Member) -> None:
        """The time of each row as the worker tells it, and what a row takes by now."""
        assert member.results is not None
        count, grades = member.request.count, member.results.grades
        seconds = member.running.scores[CAPACITY : CAPACITY + count].copy()
        told = np.isfinite(seconds) & (seconds >= 0)
        grades.seconds[:count] = np.where(told, seconds, np.nan)
        # Of rows that hung nothing is learnt: what is sought is the time that an honest row takes.
        honest = seconds[told & (grades.codes[:count] == SCORED)]
        if not len(honest):
            return
        mean = float(honest.mean())
        known = not np.isnan(self._row_seconds)
        self._row_seconds = 0.5 * (self._row_seconds + mean) if known else mean
        if not member.stuck:
            spent = (time.monotonic() - member.since) / count
            fitting = int(_TARGET_SECONDS / max(spent, 1e-9))
            self._at_once = max(1, min(self._most, fitting, 8 * max(self._at_once, count)))

    def _note_printed(self, member: Member, reply: Mapping[str, Any]) -> None:
        told = reply.get("printed")
        printed = [str(text) for text in told] if isinstance(told, list) else []
        printed = [member.output + "".join(printed[:1]), *printed[1:]]
        member.output = ""
        rows = [(piece.batch, row) for piece in member.pieces for row in range(piece.first, piece.stop)]
        for (batch, row), text in zip(rows, printed, strict=False):
            if text:
                batch.printed[row] = clean(text, _PRINTED)

    def _settle(self, member: Member) -> int:
        """Tell the batches what is known of their rows; returns how many rows are."""
        assert member.results is not None
        pieces, member.pieces, at, known = member.pieces, [], 0, 0
        member.requests.clear()
        self._worked = time.monotonic()
        for piece in pieces:
            piece.batch.grades.isolation = self.isolation
            known += piece.batch.put(piece, member.results.grades, at)
            at += len(piece)
        self._fruitless = 0 if known else self._fruitless
        return known

    def _watch(self, member: Member, now: float) -> None:
        """See whether a worker gets on."""
        if member.state in {"starting", "loading"} and now > member.until:
            raise Death(TIMED_OUT)
        if member.state != "busy":
            return
        _, bits = page_of(member, member.request)
        mark = int((bits != NOT_SCORED).sum())
        if mark != member.mark:
            member.mark, member.since_mark = mark, now
            return
        waited = now - member.since_mark
        if waited > self._hard_seconds:
            raise Death(TIMED_OUT)
        if not member.stuck and waited > self._stuck_seconds:
            member.stuck = True
            # First the worker, then the rows: at worst one of them is graded twice, and the second grade counts.
            member.running.bits[-1] = mark + 1
            if mark + 1 < member.request.count:
                self._give_back(member, mark + 1)

    @property
    def _hard_seconds(self) -> float:
        """When a worker is ended whose row ignores the soft limit: within a second of it, however long that is."""
        row = self._limits.row_seconds
        hard = min(self._limits.hard_row_seconds, row + 0.8)
        return hard + self._limits.hard_load_seconds if self._alone else hard

    @property
    def _stuck_seconds(self) -> float:
        if np.isnan(self._row_seconds):
            return max(_STUCK_SECONDS, 0.1 * self._limits.row_seconds)
        return max(_STUCK_SECONDS, _STUCK_TIMES * self._row_seconds)

    def _handle_death(self, member: Member, death: Death) -> None:
        """Keep the finished rows of a worker that is gone, blame the row it was at, put the rest back."""
        pages = page_of(member, member.request) if member.state == "busy" else None
        # Why it ended is asked of those only that ended by themselves: others take their time to free their memory.
        status = member.running.close() if death.reason == ENDED else None
        self._let_go(member)
        self._fruitless += member.state != "idle"
        if pages is not None and _was_killed(status) and self._first_time(member, pages):
            self._try_again(member, pages)
        elif pages is not None:
            self._salvage(member, pages, verdict(death, status, self._hard_seconds))
        elif member.state == "loading" and ends_loading(death, status):
            error = verdict(death, status, self._limits.hard_load_seconds, missing="the module did not load")
            self._fail_waiting(GradeError(ErrorKind.LOAD, error.message))
        if self._fruitless >= _MOST_FRUITLESS:
            self._give_up(death)

    def _first_time(self, member: Member, pages: tuple[Any, Any]) -> bool:
        """Whether the row at which a worker was killed from outside was at none before: it need not be its fault."""
        open_rows = np.flatnonzero(pages[1] == NOT_SCORED)
        if not len(open_rows):
            return False
        (piece,) = _part(member.pieces, int(open_rows[0]), int(open_rows[0]) + 1)
        if piece.first in piece.batch.killed:
            return False
        piece.batch.killed.add(piece.first)
        return True

    def _try_again(self, member: Member, pages: tuple[Any, Any]) -> None:
        """Keep the finished rows of a worker that was killed, and put back all others."""
        results, whole = member.results, member.pieces
        assert results is not None
        if not self._program.noted:  # else their notes are lost with it
            results.keep(member.request, pages)
        missing = results.grades.codes[: member.request.count] == 0
        edges = np.flatnonzero(np.diff(missing, prepend=False, append=False)).tolist()
        self._settle(member)
        ranges = zip(edges[::2], edges[1::2], strict=True)
        self._waiting.put_back(piece for start, stop in ranges for piece in _part(whole, start, stop))

    def _salvage(self, member: Member, pages: tuple[Any, Any], blame: GradeError) -> None:
        results, request = member.results, member.request
        assert results is not None
        member.batch_rows = self._at_once
        results.salvage(member, request, pages, blame)
        if blame.kind is ErrorKind.TIMEOUT and 0 <= member.mark < request.count:
            results.grades.seconds[member.mark] = time.monotonic() - member.since_mark
        self._at_once = max(1, min(self._at_once, member.batch_rows))
        whole = member.pieces
        self._settle(member)
        self._waiting.put_back(piece for start, stop in member.ranges for piece in _part(whole, start, stop))

    def _give_up(self, death: Death) -> None:
        self._fruitless = 0
        if self.isolation:
            reason = f"not tried: {_MOST_FRUITLESS} workers in a row were lost ({death.reason})"
            self._fail_waiting(GradeError(ErrorKind.SANDBOX, reason))
        else:
            self._end_waiting(StartError("a sandbox worker did not start", found=death.reason))

    def _let_go(self, member: Member) -> None:
        """End a worker without waiting for it."""
        if member in self.members:
            self.members.remove(member)
            self._discard(member.running)

    def _fail_waiting(self, error: GradeError) -> None:
        for piece in self._waiting.take_all():
            piece.batch.fail(piece, error)

    def _end_waiting(self, error: BaseException) -> None:
        for piece in self._waiting.take_all():
            piece.batch.end(error)

    def _dismiss(self, now: float) -> None:
        """End workers that have had no work for long; those beyond the usual number soon."""
        idle_for = now - self._worked
        idle = [member for member in self.members if member.state == "idle"]
        most = (
            0 if idle_for > self._idle_seconds else self._workers if idle_for > _EXTRA_IDLE_SECONDS else None
        )
        if most is not None and not self.busy:
            for member in idle[most:]:
                self._let_go(member)


def _was_killed(status: int | None) -> bool:
    """Whether a worker was ended from outside: by a person, or by a system that is short of memory."""
    return status is not None and os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL


def _part(pieces: list[Piece], start: int, stop: int) -> list[Piece]:
    """The rows `start` to `stop` of pieces that stand one after the other."""
    parts, at = [], 0
    for piece in pieces:
        first, last = max(start - at, 0), min(stop - at, len(piece))
        if first < last:
            parts.append(Piece(piece.batch, piece.first + first, piece.first + last))
        at += len(piece)
    return parts
