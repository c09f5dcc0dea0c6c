"""The workers of one program that stay between calls: who grades which rows, and what becomes of those that hang.

All of it runs on one thread, which owns the workers; see `residents`. A row that hangs keeps its worker to the end of its
time. The rows before it get their grades at once, and the rows behind it go to another worker; for these a few more
workers are started than there are cores, so that time limits do not add up.
"""

from __future__ import annotations

import contextlib
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from workbench.errors import SandboxError
from workbench.grade import ErrorKind, GradeError
from workbench.sandbox.child.protocol import NOTED_ROWS
from workbench.sandbox.host.answers import ends_loading, verdict
from workbench.sandbox.host.batches import Batch, Piece, Waiting
from workbench.sandbox.host.interpreter import StartError
from workbench.sandbox.host.limits import SHARED_SECONDS, Program, weakest
from workbench.sandbox.host.member import MOST_ROWS, Member
from workbench.sandbox.host.outside import OUTSIDE, cause_of, twice
from workbench.sandbox.host.pool import cores
from workbench.sandbox.host.row_times import RowTimes
from workbench.sandbox.host.worker import ENDED, STOPPED, TIMED_OUT, Death, Worker
from workbench.sandbox.host.worker_slot import FIRST_ROWS
from workbench.sandbox.host.zygote import START_SECONDS

__all__ = ["EXTRA_WORKERS", "NotSelfContainedError", "WorkerGroup"]

EXTRA_WORKERS = 16
"""Workers beyond the usual number, for rows that hang for sure: so many hang side by side before their limits add up."""
_MOST_BYTES = 768 * 1024
"""Bytes of rows in one command, if it has more than one: less than the pipe holds, so that sending never waits."""
_ALONE_ROWS = 64
"""Rows of one command whose module is made anew for each."""
_MAKING_SECONDS, _MAKINGS = 0.1, 4.0
"""Time to make a module ready once more: these seconds, and so many times what loading it took."""
_MOST_LOSSES = 3
"""Workers lost one after the other, none with a row decided, after which nothing is tried any more."""
_MOST_FROM_OUTSIDE = 12
"""The same of workers that were ended from outside: to start one more costs a tenth of a second at most."""
_DOUBT_SECONDS = 60.0
"""How long after a worker was ended from outside a crash may be from there, too: no row is blamed for it."""
_EXTRA_IDLE_SECONDS = 60.0
"""Seconds without work after which the workers beyond the usual number end."""
_CLOSED = GradeError(ErrorKind.CANCELLED, "not graded: the workers were closed")


class NotSelfContainedError(Exception):
    """The program may leave something behind from row to row: its single calls need fresh workers."""


class WorkerGroup:
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
        self._most = _ALONE_ROWS if alone else NOTED_ROWS if program.noted else MOST_ROWS
        self._waiting = Waiting()
        self._times = RowTimes(program.limits.row_seconds, rows=1 if alone else FIRST_ROWS)
        self._losses = self._from_outside = 0
        self._crashed_loading, self._outside_until = False, 0.0
        self._worked = time.monotonic()
        self.members: list[Member] = []
        self._open: set[Batch] = set()
        self._isolation = ""

    def add(self, batch: Batch) -> None:
        """Take rows."""
        self._waiting.add(batch)
        self._worked = time.monotonic()
        self._open.add(batch)
        batch.future.add_done_callback(lambda _: self._open.discard(batch))

    @property
    def busy(self) -> bool:
        """Whether rows wait or are being graded."""
        return bool(self._waiting.rows or any(member.state == "busy" for member in self.members))

    def step(self) -> None:
        """Start workers, hand out rows, look after those that are at work."""
        now = time.monotonic()
        for member in list(self.members):
            with self._losing(member):
                if member.state != "idle" and member.is_stopped(now):
                    raise Death(STOPPED)
                self._watch(member, now)
        self._start_workers(now)
        for member in list(self.members):
            at_work = sum(other.state == "busy" for other in self.members)
            places = min(self._wanted() - self._moving, self._most_at_work(now) - at_work)
            if member.state == "idle" and places > 0:
                with self._losing(member):
                    self._hand_out(member, places)
        self._close_idle(now)

    def read(self, member: Member) -> None:
        """Take what a worker has sent."""
        if member not in self.members:
            return  # it was let go a moment ago
        with self._losing(member):
            if member.state == "idle":
                raise Death(ENDED)  # it has nothing to say: it ended, or writes where it must not
            reply = member.running.poll(member.seq)
            if reply is not None:
                take = {"starting": self._note_started, "loading": self._loaded, "busy": self._collect}
                take[member.state](member, reply)

    def close(self, error: BaseException | None = None) -> None:
        """End every worker. What has no grade is cancelled, or an error is raised where somebody waits for it."""
        pieces = [*self._waiting.take_all(), *(piece for member in self.members for piece in member.pieces)]
        for member in list(self.members):
            self._close_member(member)
        for piece in pieces if error is None else ():
            piece.batch.fail(piece, _CLOSED)
        for batch in list(self._open):
            batch.end(error or SandboxError("the workers were closed"))

    @contextlib.contextmanager
    def _losing(self, member: Member) -> Iterator[None]:
        """Around whatever may find that a worker is lost, or that it cannot be used."""
        try:
            yield
        except Death as death:
            self._handle_death(member, death)
        except SandboxError as error:  # confinement that is too weak: so it will be in the next worker
            self._close_member(member)
            self._end_waiting(error)

    def _start_workers(self, now: float) -> None:
        """Start workers as far as rows wait for which none is free."""
        moving = sum(not member.stuck for member in self.members)  # those that are getting ready as well
        most = self._most_at_work(now)
        while moving < self._wanted() and len(self.members) < most:
            try:
                worker = self._start()
            except SandboxError as error:
                self._losses += 1  # where workers have started before, the next one may as well
                if not self._isolation or self._losses >= _MOST_LOSSES:
                    self._end_waiting(error)
                return
            self.members.append(Member(ranges=deque(), worker=worker, until=now + START_SECONDS))
            moving += 1

    @property
    def _moving(self) -> int:
        """Workers that grade rows which do not hang."""
        return sum(member.state == "busy" and not member.stuck for member in self.members)

    def _wanted(self) -> int:
        """Workers that the waiting rows are worth, with those that are at work."""
        rows = self._waiting.rows
        if not rows:
            return 0
        usual = min(self._workers, max(1, int(self._times.commands(rows)) + self._moving))
        # Where rows hang there may be more of them: twice as many at a time are met with each that is found.
        stuck = sum(member.stuck for member in self.members)
        return max(usual, min(stuck, rows))

    def _most_at_work(self, now: float) -> int:
        """Workers that may grade at once: as many as there are cores, and more where rows hang for sure."""
        usual = max(self._workers, cores())
        if not self._times.known:
            return usual  # nobody knows yet what is long
        least = self._hang_seconds
        hanging = sum(member.stuck and now - member.since_mark > least for member in self.members)
        return usual + min(EXTRA_WORKERS, 2 * hanging)

    @property
    def _hang_seconds(self) -> float:
        """Seconds at one row after which it counts as hanging, with as many workers at work as there are."""
        return self._times.hang_seconds(sum(member.state == "busy" for member in self.members) / cores())

    def _note_started(self, member: Member, info: Mapping[str, Any]) -> None:
        worker = member.running
        worker.info, worker.level = dict(info), str(info.get("level"))
        self._program.require(worker.level)
        self._isolation = weakest(self._isolation, worker.level)
        member.load(self._program)

    def _loaded(self, member: Member, reply: Mapping[str, Any]) -> None:
        problem, self._crashed_loading = member.loads(reply), False
        if problem is not None:
            self._close_member(member)
            self._fail_waiting(problem)
        elif self._alone and reply.get("self_contained") is not True:
            self._close_member(member)
            self._end_waiting(NotSelfContainedError())

    def _hand_out(self, member: Member, places: int) -> None:
        """Give an idle worker its share of the rows, as one of so many."""
        share = -(-self._waiting.rows // places)
        pieces = self._waiting.take(min(share, self._times.rows_at_once, self._most), _MOST_BYTES)
        if not pieces:
            return
        try:
            member.begin(pieces, self._program, alone=self._alone)
        except Death:
            self._waiting.put_back(pieces)  # no row is to blame
            raise

    def _collect(self, member: Member, reply: Mapping[str, Any]) -> None:
        """Take an answer, and learn from it what a row takes."""
        back, seconds = member.receive(reply, alone=self._alone)
        memory = any(error.kind is ErrorKind.MEMORY for error in member.results.grades.errors.values())
        self._times.learn(seconds)
        if len(seconds) and not member.stuck:
            self._times.size_next(time.monotonic() - member.since, member.request.count, self._most)
        self._settle(member)
        self._waiting.put_back(back)
        if memory:  # what the row before has taken may still be held, and the next one would pay for it
            self._close_member(member)

    def _settle(self, member: Member) -> None:
        self._worked = time.monotonic()
        if member.settle(self._isolation):
            self._losses = self._from_outside = 0
        member.stuck = False

    def _watch(self, member: Member, now: float) -> None:
        """See whether a worker gets on."""
        if member.state in {"starting", "loading"} and now > member.until:
            raise Death(TIMED_OUT)
        if member.state != "busy":
            return
        waited = member.move(now, alone=self._alone)
        if (
            member.cut_at is not None
            and now - member.cut_at > self._limits.hard_row_seconds + self._making_seconds(member)
        ):
            raise Death(TIMED_OUT)  # whatever it writes of how far it is: all other rows were taken from it
        if not member.stuck and waited > self._times.bypass_seconds:
            member.stuck = True
        if member.stuck or now - member.since > SHARED_SECONDS:
            self._waiting.put_back(member.cut(now))
        if self._holds_others(member, waited):
            self._waiting.put_back(member.give_finished(self._isolation, noted=self._program.noted))

    def _holds_others(self, member: Member, waited: float) -> bool:
        """Whether finished rows wait for the end of a row that hangs; where they must be graded again, for sure."""
        waits = member.stuck and not member.given and 0 < member.mark < member.request.count
        return waits and not self._alone and (not self._program.noted or waited > self._hang_seconds)

    def _making_seconds(self, member: Member) -> float:
        """How long a worker may make its module ready for a row; the worker's own word is not trusted."""
        if not self._alone:
            return 0.0
        return min(self._limits.hard_load_seconds, _MAKING_SECONDS + _MAKINGS * member.load_seconds)

    def _handle_death(self, member: Member, death: Death) -> None:
        """Keep the finished rows of a worker that is gone, blame the row it was at, put the rest back."""
        state = member.state
        pages = member.page() if state == "busy" else None
        # Why it ended is asked of those only that ended by themselves: others take their time to free their memory.
        status = member.running.close() if death.reason == ENDED else None
        self._close_member(member)
        if cause_of(death, status) == OUTSIDE:
            self._from_outside += 1
            self._outside_until = time.monotonic() + _DOUBT_SECONDS
        else:
            self._losses += state != "idle"
        if pages is not None:
            back = self._left_of(member, pages, death, status)
            self._settle(member)
            self._waiting.put_back(back)
        elif state == "loading" and self._is_load_error(death, status):
            error = verdict(death, status, self._limits.hard_load_seconds, missing="the module did not load")
            self._fail_waiting(GradeError(ErrorKind.LOAD, error.message))
        if self._losses >= _MOST_LOSSES or self._from_outside >= _MOST_FROM_OUTSIDE:
            self._give_up(death)

    def _is_load_error(self, death: Death, status: int | None) -> bool:
        """Whether a worker that was lost while it loaded says something of the module: not if anything else may have ended it."""
        cause = cause_of(death, status)
        if cause == OUTSIDE or not ends_loading(death, status):
            return False
        before, self._crashed_loading = self._crashed_loading, True
        return before or not cause

    def _left_of(
        self, member: Member, pages: tuple[Any, Any], death: Death, status: int | None
    ) -> list[Piece]:
        """What a lost worker leaves to do."""
        cause = cause_of(death, status)
        before = member.lost_before(pages, cause) if cause else ""
        if cause and not before:
            return member.keep_finished(pages, noted=self._program.noted)
        # A row that crashes its worker does so in the same way again.
        is_ours = cause and (OUTSIDE in (cause, before) or time.monotonic() < self._outside_until)
        blame = twice(death, status) if is_ours else verdict(death, status, self._limits.hard_row_seconds)
        back = member.salvage(pages, blame, self._times.rows_at_once)
        self._times.rows_at_once = max(1, min(self._times.rows_at_once, member.batch_rows))
        return back

    def _give_up(self, death: Death) -> None:
        lost, self._losses, self._from_outside = self._losses + self._from_outside, 0, 0
        if self._isolation:
            reason = f"not tried: {lost} workers in a row were lost ({death.reason})"
            self._fail_waiting(GradeError(ErrorKind.SANDBOX, reason))
        else:
            self._end_waiting(StartError("a sandbox worker did not start", found=death.reason))

    def _close_member(self, member: Member) -> None:
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

    def _close_idle(self, now: float) -> None:
        """End workers that have had no work for long; those beyond the usual number sooner."""
        idle_for = now - self._worked
        if self.busy or idle_for <= min(_EXTRA_IDLE_SECONDS, self._idle_seconds):
            return
        idle = [member for member in self.members if member.state == "idle"]
        for member in idle[0 if idle_for > self._idle_seconds else self._workers :]:
            self._close_member(member)
