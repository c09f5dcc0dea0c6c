"""Persistent workers of one program: assigns rows to workers and handles rows that hang.

All of it runs on one thread, which owns the workers; see `worker_pool`. A hanging row occupies its worker until its time
limit. The rows before it get their grades immediately, and the rows after it move to another worker. For these, extra
workers beyond the number of cores are started, so that time limits do not add up.
"""

from __future__ import annotations

import contextlib
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from workbench.core.errors import SandboxError
from workbench.core.grade import ErrorKind, GradeError
from workbench.core.system_limits import cores
from workbench.sandbox.child.protocol import NOTED_ROWS
from workbench.sandbox.host.batches import Batch, BatchSlice, RowQueue, RowTimes
from workbench.sandbox.host.losses import MAX_KILLED, OUTSIDE, RowBlame, cause_of, ends_loading, load_verdict
from workbench.sandbox.host.member import MAX_ROWS, Member
from workbench.sandbox.host.program import SHARED_SECONDS, Program, weakest
from workbench.sandbox.host.results import FIRST_ROWS
from workbench.sandbox.host.worker import ENDED, STOPPED, TIMED_OUT, Worker, WorkerLostError
from workbench.sandbox.host.zygote import START_SECONDS, StartError

EXTRA_WORKERS = 16
"""Maximum workers beyond the usual number, for rows that certainly hang: this many hang in parallel before limits add up."""
_MAX_BYTES = 768 * 1024
"""Bytes of rows in one command, if it has more than one: less than the pipe's capacity, so that sending never waits."""
_ALONE_ROWS = 64
"""Rows of one command if the module is reloaded for each row."""
_MAKING_SECONDS, _MAKINGS = 0.1, 4.0
"""Time to prepare a module again: these seconds, plus this multiple of its load time."""
_MAX_LOSSES = 3
"""Consecutive worker crashes without a decided row after which the remaining rows fail."""
_EXTRA_IDLE_SECONDS = 60.0
"""Seconds without work after which the workers beyond the usual number end."""
_CLOSED = GradeError(ErrorKind.CANCELLED, "not graded: the workers were closed")


class NotSelfContainedError(Exception):
    """The program may leave state from row to row: its single calls need fresh workers."""


class WorkerGroup:
    """Workers for one program.

    Args:
        program: What they load.
        workers: Maximum number, not counting those for rows that hang.
        alone: Whether each row is graded in a fresh module, as a single call is.
        idle_seconds: Time without work after which all end.
        start: Starts a worker without waiting for it.
        discard: Takes a worker that is no longer needed; it may end it later.
    """

    def __init__(
        self, program: Program, *, workers: int, alone: bool, idle_seconds: float,
        start: Callable[[], Worker], discard: Callable[[Worker], object],
    ) -> None:  # fmt: skip
        self._program, self._limits, self._workers, self._alone = program, program.limits, workers, alone
        self._start, self._discard, self._idle_seconds = start, discard, idle_seconds
        self._most = _ALONE_ROWS if alone else NOTED_ROWS if program.noted else MAX_ROWS
        self._waiting, self._cores = RowQueue(), cores()
        self._times = RowTimes(program.limits.row_seconds, rows=1 if alone else FIRST_ROWS)
        self._losses = self._from_outside = 0
        self._crashed_loading, self._blame = False, RowBlame(program.limits.hard_row_seconds)
        self._worked = time.monotonic()
        self.members: list[Member] = []
        self._open: set[Batch] = set()
        self._isolation = ""

    def add(self, batch: Batch) -> None:
        """Add rows."""
        self._waiting.add(batch)
        self._worked = time.monotonic()
        self._open.add(batch)
        batch.future.add_done_callback(lambda _: self._open.discard(batch))

    @property
    def busy(self) -> bool:
        """Whether rows are waiting or being graded."""
        return bool(self._waiting.rows or any(member.state == "busy" for member in self.members))

    def step(self) -> None:
        """Start workers, assign rows, monitor running workers."""
        now = time.monotonic()
        for member in list(self.members):
            with self._losing(member):
                if member.state != "idle" and member.is_stopped(now):
                    raise WorkerLostError(STOPPED)
                self._watch(member, now)
        self._start_workers(now)
        for member in list(self.members):
            if member.state == "idle" and self._waiting.rows:
                wanted, most = self._demand(now)
                if (places := min(wanted - self._n_busy + self._n_stuck, most - self._n_busy)) > 0:
                    with self._losing(member):
                        self._hand_out(member, places)
        self._close_idle(now)

    def read(self, member: Member) -> None:
        """Process what a worker has sent."""
        if member not in self.members:
            return  # it was discarded just before
        with self._losing(member):
            if member.state == "idle":
                raise WorkerLostError(
                    ENDED
                )  # readable without a request: it ended, or its grader wrote to the descriptor
            reply = member.running.poll(member.seq)
            if reply is not None:
                take = {"starting": self._note_started, "loading": self._loaded, "busy": self._collect}
                take[member.state](member, reply)

    def close(self, error: BaseException | None = None) -> None:
        """End every worker. Rows without a grade are cancelled, or an error is raised in their waiting callers."""
        pieces = [*self._waiting.take_all(), *(piece for member in self.members for piece in member.pieces)]
        for member in list(self.members):
            self._close_member(member)
        for piece in pieces if error is None else ():
            piece.batch.fail(piece, _CLOSED)
        for batch in list(self._open):
            batch.end(error or SandboxError("the workers were closed"))

    @contextlib.contextmanager
    def _losing(self, member: Member) -> Iterator[None]:
        """Context for code that may find that a worker has ended or cannot be used."""
        try:
            yield
        except WorkerLostError as death:
            self._handle_death(member, death)
        except SandboxError as error:  # confinement that is too weak: the next worker would have the same
            self._close_member(member)
            self._end_waiting(error)

    def _start_workers(self, now: float) -> None:
        """Start workers for rows that wait while no worker is free."""
        if not self._waiting.rows:
            return
        wanted, most = self._demand(now)
        moving = len(self.members) - self._n_stuck  # includes those that are starting
        while moving < wanted and len(self.members) < most:
            try:
                worker = self._start()
            except SandboxError as error:
                self._losses += 1  # if workers have started before, the next one may start as well
                if not self._isolation or self._losses >= _MAX_LOSSES:
                    self._end_waiting(error)
                return
            self.members.append(Member(ranges=deque(), worker=worker, until=now + START_SECONDS))
            moving += 1

    @property
    def _n_busy(self) -> int:
        return [member.state for member in self.members].count("busy")

    @property
    def _n_stuck(self) -> int:
        """Busy workers whose current rows hang."""
        return [member.stuck for member in self.members].count(True)

    def _demand(self, now: float) -> tuple[int, int]:
        """Number of workers justified by the waiting rows, including those at work, and the maximum at work.

        The maximum is the number of cores, plus one per row that certainly hangs.
        """
        rows, n_busy, n_stuck = self._waiting.rows, self._n_busy, self._n_stuck
        usual = min(self._workers, max(1, int(self._times.commands(rows)) + n_busy - n_stuck))
        most = max(self._workers, self._cores)
        if n_stuck and self._times.known:
            least = self._hang_seconds
            hanging = sum(member.stuck and now - member.since_mark > least for member in self.members)
            most += min(EXTRA_WORKERS, 2 * hanging)
        # If rows hang there may be more of them: the number doubles with each one found.
        return max(usual, min(n_stuck, rows)), most

    @property
    def _hang_seconds(self) -> float:
        """Seconds at one row after which it counts as hanging, given the current number of busy workers."""
        return self._times.hang_seconds(self._n_busy / self._cores)

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
        """Give an idle worker its share of the rows, for the given number of workers."""
        share = -(-self._waiting.rows // places)
        pieces = self._waiting.take(min(share, self._times.rows_at_once, self._most), _MAX_BYTES)
        if not pieces:
            return
        try:
            member.begin(pieces, self._program, alone=self._alone)
        except WorkerLostError:
            self._waiting.put_back(pieces)  # not caused by a row
            raise

    def _collect(self, member: Member, reply: Mapping[str, Any]) -> None:
        """Process a reply, and update the row times."""
        back, seconds = member.receive(reply, alone=self._alone)
        memory = any(error.kind is ErrorKind.MEMORY for error in member.results.grades.errors.values())
        self._times.learn(seconds)
        if len(seconds) and not member.stuck:
            self._times.size_next(time.monotonic() - member.since, member.request.count, self._most)
        self._settle(member)
        self._waiting.put_back(back)
        if memory:  # memory of the previous row may still be allocated and would count for the next one
            self._close_member(member)

    def _settle(self, member: Member) -> None:
        self._worked = time.monotonic()
        if member.settle(self._isolation):
            self._losses = self._from_outside = 0
        member.stuck = False

    def _watch(self, member: Member, now: float) -> None:
        """Check the progress of a worker."""
        if member.state in {"starting", "loading"} and now > member.until:
            raise WorkerLostError(TIMED_OUT)
        if member.state != "busy":
            return
        waited = member.move(now, alone=self._alone)
        if (
            member.cut_at is not None
            and now - member.cut_at > self._limits.hard_row_seconds + self._making_seconds(member)
        ):
            raise WorkerLostError(
                TIMED_OUT
            )  # its reported progress is not trusted: all other rows were taken from it
        if not member.stuck and waited > self._times.bypass_seconds:
            member.stuck = True
        if member.stuck or now - member.since > SHARED_SECONDS:
            self._waiting.put_back(member.cut(now))
        if self._holds_others(member, waited):
            self._waiting.put_back(member.flush_finished(self._isolation, noted=self._program.noted))

    def _holds_others(self, member: Member, waited: float) -> bool:
        """Whether finished rows wait for a row that hangs; if they must be graded again, only if it certainly hangs."""
        waits = member.stuck and not member.n_flushed and 0 < member.mark < member.request.count
        return waits and not self._alone and (not self._program.noted or waited > self._hang_seconds)

    def _making_seconds(self, member: Member) -> float:
        """Seconds a worker may take to prepare its module for a row; the worker's own report is not trusted."""
        if not self._alone:
            return 0.0
        return min(self._limits.hard_load_seconds, _MAKING_SECONDS + _MAKINGS * member.load_seconds)

    def _handle_death(self, member: Member, death: WorkerLostError) -> None:
        """Keep the finished rows of an ended worker, fail its current row, return the others."""
        state = member.state
        pages = member.page() if state == "busy" else None
        # The status is read only for those that ended by themselves: others take time to free their memory.
        status = member.running.close() if death.reason == ENDED else None
        self._close_member(member)
        if cause_of(death, status) == OUTSIDE:
            self._from_outside += 1
            self._blame.note_outside()
        else:
            self._losses += state != "idle"
        if pages is not None:
            back = self._left_of(member, pages, death, status)
            self._settle(member)
            self._waiting.put_back(back)
        elif state == "loading" and self._is_load_error(death, status):
            self._fail_waiting(load_verdict(death, status, self._limits.hard_load_seconds))
        if self._losses >= _MAX_LOSSES or self._from_outside >= MAX_KILLED:
            self._give_up(death)

    def _is_load_error(self, death: WorkerLostError, status: int | None) -> bool:
        """Whether an end during loading is evidence about the module: not if anything else may have ended the worker."""
        cause = cause_of(death, status)
        if cause == OUTSIDE or not ends_loading(death, status):
            return False
        before, self._crashed_loading = self._crashed_loading, True
        return before or not cause

    def _left_of(
        self, member: Member, pages: tuple[Any, Any], death: WorkerLostError, status: int | None
    ) -> list[BatchSlice]:
        """Handle the rows that an ended worker leaves unfinished."""
        cause = cause_of(death, status)
        before = member.lost_before(pages, cause) if cause else ""
        error = self._blame.error(death, status, cause, before)
        back = member.recover_rows(pages, error, self._times.rows_at_once)
        self._times.rows_at_once = max(1, min(self._times.rows_at_once, member.batch_rows))
        return back

    def _give_up(self, death: WorkerLostError) -> None:
        lost, self._losses, self._from_outside = self._losses + self._from_outside, 0, 0
        if self._isolation:
            reason = f"not attempted: {lost} consecutive worker crashes ({death.reason})"
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
        """End workers that were idle too long; those beyond the usual number sooner."""
        idle_for = now - self._worked
        if self.busy or idle_for <= min(_EXTRA_IDLE_SECONDS, self._idle_seconds):
            return
        idle = [member for member in self.members if member.state == "idle"]
        for member in idle[0 if idle_for > self._idle_seconds else self._workers :]:
            self._close_member(member)
