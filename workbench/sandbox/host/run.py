"""One grader over one packed dataset: ranges of rows to workers, scores back, the dead replaced.

Every worker owns a stretch of rows it decoded beforehand and takes ranges from its front; one that is
done takes from the back of the longest stretch left. Two ranges are in flight a worker, one in each half
of its page, so that it never waits for the host.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from workbench.errors import IsolationError, SandboxError
from workbench.grade import ErrorKind, Grade, GradeError
from workbench.grades import Grades
from workbench.sandbox.child.protocol import CAPACITY, FAILED, NOT_SCORED, NOTED_ROWS, SKIPPED
from workbench.sandbox.host.answers import ends_loading, read_checks, read_done, unscored, verdict
from workbench.sandbox.host.limits import CHECKS, Program, weakest
from workbench.sandbox.host.lost import Lost
from workbench.sandbox.host.notes import Room
from workbench.sandbox.host.slots import Lane, Order
from workbench.sandbox.host.text import clean
from workbench.sandbox.host.worker import TIMED_OUT, Death, Worker, readable

__all__ = ["Outcome", "Run"]

_TARGET_SECONDS = 0.05
"""Work in one command: long enough to hide the round trip, short enough for a live bar."""
_TICK_SECONDS = 0.05
_GRACE_SECONDS = 0.3  # for ranges in work when a run is stopped


@dataclass
class Outcome:
    """What a run left.

    Attributes:
        grades: One a row; rows never reached are failed with kind *cancelled*, or *load*.
        stopped: Why the run ended early; "" when it did not.
        output: The first of what the grader printed.
        lost: Workers lost.
    """

    grades: Grades
    stopped: str = ""
    output: str = ""
    lost: int = 0


class Run:
    """The state of one run; `go` does it.

    Args:
        program: What to load.
        rows: Rows in the dataset.
        new_worker: Makes a ready worker for the rows from one on; called again when one is lost.
        on_progress: Called with (rows done, rows failed), at most every 0.1 s and once at the end.
        cancel: Stops the run when set.
        discard: Takes a worker that is done with; it may end it later.
    """

    def __init__(
        self,
        program: Program,
        rows: int,
        *,
        new_worker: Callable[[int], Worker],
        on_progress: Callable[[int, int], None] | None = None,
        cancel: threading.Event | None = None,
        discard: Callable[[Worker], object] = Worker.close,
    ) -> None:
        self._program, self._limits = program, program.limits
        self._most = NOTED_ROWS if program.noted else CAPACITY
        self._new_worker, self._on_progress = new_worker, on_progress
        self._cancel, self._discard = cancel or threading.Event(), discard
        self._outcome = Outcome(Grades.empty(rows))
        self._grades = self._outcome.grades
        self._lanes: list[Lane] = []
        self._room = Room()
        self._done = self._failed = 0
        self._lost = Lost(self._limits.lost_workers)
        self._told = 0.0
        self._load_problem: GradeError | None = None

    def go(self, shards: list[tuple[int, int]]) -> Outcome:
        """Grade every row and return what came of it. Workers are gone when it returns."""
        self._lanes = [Lane(deque([shard])) for shard in shards]
        try:
            while self._busy() and not self._outcome.stopped:
                self._step()
        finally:
            self._close()
        self._tell(force=True)
        self._finish()
        return self._outcome

    def _busy(self) -> bool:
        return any(lane.ranges or lane.orders for lane in self._lanes)

    def _step(self) -> None:
        if self._cancel.is_set():
            self._outcome.stopped = "cancelled"
            return
        for lane in self._lanes:
            self._guard(lane, self._feed)
        working = [lane for lane in self._lanes if lane.orders and lane.worker]
        listening = [lane.worker for lane in working if lane.worker]
        ready = readable(listening, _TICK_SECONDS) if listening else []
        for lane in working:
            if lane.worker in ready:
                self._guard(lane, self._collect)
            else:
                self._guard(lane, self._watch)
        self._tell()

    def _guard(self, lane: Lane, action: Callable[[Lane], None]) -> None:
        try:
            action(lane)
        except Death as death:
            self._bury(lane, death)
        except SandboxError as error:
            if isinstance(error, IsolationError) or not self._done:
                raise
            self._outcome.stopped = f"the sandbox failed: {error.what}"  # what was graded is kept

    def _feed(self, lane: Lane) -> None:
        """Keep two ranges in flight."""
        while len(lane.orders) < 2 and not self._outcome.stopped:
            rows = lane.take(lane.want) or self._borrow(lane)
            if rows is None:
                return
            if lane.worker is None:
                lane.ranges.appendleft(rows)
                self._hire(lane)
                if self._cancel.is_set():
                    return
                continue
            self._order(lane, rows)

    def _borrow(self, lane: Lane) -> tuple[int, int] | None:
        # A lane with work in flight does not reach for more, and small leftovers are not worth a decode.
        if lane.orders:
            return None
        rich = max(self._lanes, key=lambda other: other.left)
        return rich.give(lane.want) if rich.left > 2 * lane.want else None

    def _hire(self, lane: Lane) -> None:
        worker = lane.worker = self._new_worker(lane.ranges[0][0])
        lane.loaded = False
        self._program.require(worker.level)
        self._grades.isolation = weakest(self._grades.isolation, worker.level)
        seq = worker.send(self._program.load_command("load"))
        reply = worker.receive(seq, self._limits.hard_load_seconds, unless=self._cancel.is_set)
        if reply is None:
            return  # cancelled: the next step sees it
        self._note_output(reply)
        crosses = [check for check in read_checks(reply, CHECKS[:4]) if not check[1]]
        if crosses:
            self._refuse(f"{crosses[0][0]}: {crosses[0][2]}")
        lane.loaded = True

    def _refuse(self, message: str) -> None:
        """The program does not load here, and will not in another worker: nothing is tried again."""
        self._load_problem = GradeError(ErrorKind.LOAD, message)
        self._outcome.stopped = "load"

    def _order(self, lane: Lane, rows: tuple[int, int]) -> None:
        assert lane.worker is not None
        start, stop = rows
        half = 1 - lane.orders[-1].half if lane.orders else 0
        lane.worker.bits[half * CAPACITY :][: stop - start] = NOT_SCORED
        command = {"op": "rows", "first": start, "count": stop - start, "half": half}
        if not lane.orders:
            lane.mark, lane.since = -1, time.monotonic()
        try:
            seq = lane.worker.send({**command, "seconds": self._limits.row_seconds})
        except Death:
            lane.ranges.appendleft(rows)
            raise
        lane.orders.append(Order(start, stop - start, half, seq))

    def _collect(self, lane: Lane) -> None:
        """Take every answer that has come whole: a second one may wait where `select` cannot see it."""
        while lane.orders and lane.worker:
            reply = lane.worker.poll(lane.orders[0].seq)
            if reply is None:
                self._watch(lane)
                return
            self._take(lane, lane.orders[0], reply)

    def _take(self, lane: Lane, order: Order, reply: Mapping[str, Any]) -> None:
        seconds = time.monotonic() - lane.since
        done = read_done(reply, order.count) if self._program.noted else order.count
        if done < order.count:
            # Its notes filled the answer: the rest is asked again, and less at a time.
            lane.ranges.appendleft((order.first + done, order.first + order.count))
            lane.want, order.count = done, done
        self._store(lane, order, self._room.errors(reply), seconds)
        if self._program.noted:
            self._put_notes(order, self._room.notes(reply, order.count))
        lane.orders.popleft()
        lane.mark, lane.since = -1, time.monotonic()
        per_row = seconds / order.count
        lane.want = int(min(self._most, 8 * lane.want, max(1, _TARGET_SECONDS / max(per_row, 1e-9))))
        self._note_output(reply)

    def _put_notes(self, order: Order, notes: Mapping[int, Mapping[str, Any]]) -> None:
        for offset, note in notes.items():
            if "reasoning" in note:
                self._grades.reasoning[order.first + offset] = note["reasoning"]
            if "metadata" in note:
                self._grades.metadata[order.first + offset] = note["metadata"]

    def _store(self, lane: Lane, order: Order, errors: Mapping[int, GradeError], seconds: float) -> None:
        scores, bits = self._page(lane, order)
        finite = np.isfinite(scores)
        self._grades.put_scores(order.first, np.where(finite, scores, np.nan), seconds=seconds / order.count)
        failed = np.flatnonzero(~finite)
        if self._program.noted:
            failed = self._skip(order, failed, bits)
        for offset in failed.tolist():
            self._grades.fail(
                order.first + offset, errors.get(offset) or unscored(scores[offset], bits[offset])
            )
        self._count(order.count, len(failed))

    def _skip(
        self, order: Order, rows: np.ndarray[Any, Any], bits: np.ndarray[Any, Any]
    ) -> np.ndarray[Any, Any]:
        """Skip the rows that the grader does not apply to, and return the others."""
        skipped = bits[rows] == SKIPPED
        for offset in rows[skipped].tolist():
            self._grades.put(order.first + offset, Grade.skipped())
        return np.asarray(rows[~skipped])

    def _page(self, lane: Lane, order: Order) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
        """A copy: the worker could still write while we look."""
        assert lane.worker is not None
        rows = slice(order.half * CAPACITY, order.half * CAPACITY + order.count)
        bits = lane.worker.bits[rows].copy()
        return bits.view(np.float64), bits

    def _count(self, done: int, failed: int) -> None:
        self._done += done
        self._failed += failed
        self._lost.in_row = 0

    def _watch(self, lane: Lane) -> None:
        """End a worker whose current row has not moved for too long."""
        assert lane.worker is not None
        order, now = lane.orders[0], time.monotonic()
        if now - lane.since > order.count * self._limits.hard_row_seconds + 1:
            raise Death(TIMED_OUT)  # it moves, or pretends to, but not at the speed it was given
        _, bits = self._page(lane, order)
        mark = int((bits != NOT_SCORED).sum())
        if mark != lane.mark:
            lane.mark, lane.since_mark = mark, now
        elif now - lane.since_mark > self._limits.hard_row_seconds:
            raise Death(TIMED_OUT)

    def _bury(self, lane: Lane, death: Death) -> None:
        """A worker is gone: keep its finished rows, blame the row it was at, put the rest back."""
        orders, lane.orders = list(lane.orders), deque()
        pages = [(order, *self._page(lane, order)) for order in orders[:1]] if lane.worker else []
        status = lane.worker.close() if lane.worker else None
        lane.worker = None
        self._lost.add()
        self._outcome.lost = self._lost.total
        for order in reversed(orders[1:]):
            lane.ranges.appendleft((order.first, order.first + order.count))
        for order, scores, bits in pages:
            self._salvage(lane, order, (scores, bits), verdict(death, status, self._limits.hard_row_seconds))
        if not lane.loaded and ends_loading(death, status):
            seconds = self._limits.hard_load_seconds
            self._refuse(verdict(death, status, seconds, what="the module did not load").message)
        if not self._outcome.stopped and self._busy():
            self._outcome.stopped = self._lost.enough(self._done, death.reason)

    def _salvage(
        self,
        lane: Lane,
        order: Order,
        page: tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]],
        verdict: GradeError,
    ) -> None:
        scores, bits = page
        open_rows = np.flatnonzero(bits == NOT_SCORED)
        blamed = int(open_rows[0]) if len(open_rows) else order.count
        if self._program.noted and blamed == order.count:
            # All were done, so the answer itself was what broke: one row at a time finds whose part it was.
            lane.want, blamed = 1, 0 if order.count == 1 else blamed
        if self._program.noted:
            again = [(0, blamed)] if blamed else []  # their notes are lost with the worker
        else:
            again = [(int(offset), int(offset) + 1) for offset in np.flatnonzero(bits[:blamed] == FAILED)]
            if self._keep(order, (scores[:blamed], bits[:blamed])):
                self._lost.in_row = 1
        if blamed < order.count:
            self._grades.fail(order.first + blamed, verdict)
            self._done, self._failed = self._done + 1, self._failed + 1
            if blamed + 1 < order.count:
                lane.ranges.appendleft((order.first + blamed + 1, order.first + order.count))
        # Failed rows before it lost their messages with the worker: they are asked again.
        for start, stop in reversed(again):
            lane.ranges.appendleft((order.first + start, order.first + stop))

    def _keep(self, order: Order, page: tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]) -> bool:
        """Take the finished rows of a range that was not finished; whether there were any."""
        scores, bits = page
        finished = np.flatnonzero((bits != NOT_SCORED) & (bits != FAILED))
        for offset in finished.tolist():
            if self._program.noted and bits[offset] == SKIPPED:
                self._grades.put(order.first + offset, Grade.skipped())
            elif np.isfinite(scores[offset]):
                self._grades.put_scores(order.first + offset, scores[offset : offset + 1], seconds=np.nan)
            else:
                self._grades.fail(order.first + offset, unscored(scores[offset], bits[offset]))
                self._failed += 1
        self._done += len(finished)
        return len(finished) > 0

    def _note_output(self, reply: Mapping[str, Any]) -> None:
        if not self._outcome.output and isinstance(reply.get("output"), str):
            self._outcome.output = clean(reply["output"], 4000)

    def _tell(self, *, force: bool = False) -> None:
        now = time.monotonic()
        if self._on_progress and (force or now - self._told >= 0.1):
            self._told = now
            in_work = sum(max(lane.mark, 0) for lane in self._lanes if lane.orders)
            self._on_progress(self._done + in_work, self._failed)

    def _close(self) -> None:
        until = time.monotonic() + _GRACE_SECONDS
        for lane in self._lanes:
            while self._program.noted and lane.orders and lane.worker and time.monotonic() < until:
                readable([lane.worker], _TICK_SECONDS)  # notes come with the answer only
                self._guard(lane, self._collect)
            if lane.worker:
                for order in lane.orders:
                    self._keep(order, self._page(lane, order))
                self._discard(lane.worker)

    def _finish(self) -> None:
        if self._load_problem:
            self._grades.finish(ErrorKind.LOAD, self._load_problem.message)
        elif self._outcome.stopped == "cancelled":
            self._grades.finish()
        elif self._outcome.stopped:
            self._grades.ended = self._outcome.stopped
            self._grades.finish(ErrorKind.CANCELLED, f"not graded: {self._outcome.stopped}")
        # Nothing should be left; if anything is, it is a failure and not a gap.
        self._grades.finish(ErrorKind.SANDBOX, "the row was lost with its worker")
