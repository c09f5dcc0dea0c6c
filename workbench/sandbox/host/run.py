"""Run of one grader over one packed dataset: sends ranges of rows to workers and replaces crashed workers.

Every worker owns a contiguous block of rows and takes ranges from its front. A worker that is done takes ranges from the
end of the longest remaining block. Each worker has two ranges in flight, one in each half of its page, so that it never
waits for the host.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.core.display_text import clean
from workbench.core.errors import IsolationError, SandboxError
from workbench.core.grade import ErrorKind, GradeError
from workbench.core.grades import Grades
from workbench.data.packed import BATCH_ROWS, Packed, Stream
from workbench.sandbox.child.protocol import CAPACITY, MAX_ROWS, NOT_SCORED, NOTED_ROWS
from workbench.sandbox.host.losses import OUTSIDE, Lost, RowBlame, cause_of, ends_loading, load_verdict
from workbench.sandbox.host.program import SHARED_SECONDS, Program, load_problem, weakest
from workbench.sandbox.host.results import Request, RowResults, WorkerSlot, current_row, page_of, read_done
from workbench.sandbox.host.worker import BUFFER_BYTES, TIMED_OUT, Worker, WorkerLostError, readable

_TARGET_SECONDS = 0.05
"""Target seconds of one command: long enough to hide the round trip, short enough for live progress."""
_SENT_BYTES = 1024 * 1024
"""Bytes of rows in one command: data that fits a processor's cache is decoded and graded in half the time of 8 MB."""
_DECODED_BYTES = 20_000_000
"""Lower bound on the bytes of rows that a worker decodes per second: a row's time starts with its decoding."""
_TICK_SECONDS = 0.05
_GRACE_SECONDS = 1.0
"""Grace period in seconds for running ranges when a run is stopped: on an idle machine they take a twentieth of it."""


@dataclass
class RunOutcome:
    """The result of a run.

    Attributes:
        grades: One per row; rows that were not reached have failed with kind *cancelled*, or *load*.
        stopped: Why the run ended early; "" if it did not.
        output: The start of what the grader printed.
        lost: Number of crashed workers.
        worker: One that can load the program again as in a fresh worker; None if none is requested, or none can.
    """

    grades: Grades
    stopped: str = ""
    output: str = ""
    lost: int = 0
    worker: Worker | None = None


class SandboxRun:
    """The state of one run; `go` executes it.

    Args:
        program: What to load.
        packed: The dataset.
        new_worker: Creates a ready worker. The argument is the bytes of rows that a command can send (0 if none are sent).
            Called again after a crash, or for a larger row.
        on_progress: Called with (rows done, rows failed, the grades so far), at most every 0.1 s and once at the end.
        cancel: Stops the run when set.
        discard: Takes a worker that is no longer needed; it may end it later.
        keeps_worker: Whether the outcome is to have a worker.
    """

    def __init__(
        self,
        program: Program,
        packed: Packed | Stream,
        *,
        new_worker: Callable[[int], Worker],
        on_progress: Callable[[int, int, Grades], None] | None = None,
        cancel: threading.Event | None = None,
        discard: Callable[[Worker], object] = Worker.close,
        keeps_worker: bool = False,
    ) -> None:
        self._program, self._limits = program, program.limits
        self._most = NOTED_ROWS if program.noted else MAX_ROWS
        self._encode = packed.encode if isinstance(packed, Stream) else None
        self._extras, self._keeps_worker = packed.extras, keeps_worker
        self._new_worker, self._on_progress = new_worker, on_progress
        self._cancel, self._discard = cancel or threading.Event(), discard
        self._results = RowResults(packed.rows, noted=program.noted)
        self._grades = self._results.grades
        self._outcome = RunOutcome(self._grades)
        self._slots: list[WorkerSlot] = []
        self._unsent = WorkerSlot(deque())
        self._lost, self._graded_at_loss = Lost(self._limits.lost_workers), 0
        self._blame, self._killed_at = RowBlame(self._limits.hard_row_seconds), set[int]()
        self._reported_at = 0.0
        self._load_problem: GradeError | None = None

    def go(self, shards: list[tuple[int, int]]) -> RunOutcome:
        """Grade every row and return the outcome. All workers are discarded when it returns."""
        self._slots = [WorkerSlot(deque([shard])) for shard in shards]
        if self._encode is not None and shards:
            for slot in self._slots:
                slot.buffer_bytes = BUFFER_BYTES
            if shards[-1][1] > BATCH_ROWS:
                # Many streamed rows are sent in order, to whichever worker is free: a file is read once, from its start.
                self._unsent = WorkerSlot(deque([(shards[0][0], shards[-1][1])]))
                for slot in self._slots:
                    slot.ranges.clear()
        try:
            while self._busy() and not self._outcome.stopped:
                self._step()
        finally:
            self._close()
        self._report_progress(force=True)
        self._finish()
        return self._outcome

    def _busy(self) -> bool:
        return bool(self._unsent.ranges) or any(slot.ranges or slot.requests for slot in self._slots)

    def _step(self) -> None:
        if self._cancel.is_set():
            self._outcome.stopped = "cancelled"
            return
        for slot in self._slots:
            self._guard(slot, self._start_worker)  # all of them before waiting for the first to load
        for slot in self._slots:
            self._guard(slot, self._feed)
        working = [slot for slot in self._slots if slot.requests and slot.worker]
        listening = [slot.worker for slot in working if slot.worker]
        ready = readable(listening, _TICK_SECONDS) if listening else []
        for slot in working:
            if slot.worker in ready:
                self._guard(slot, self._collect)
            else:
                self._guard(slot, self._watch)
        self._report_progress()

    def _guard(self, slot: WorkerSlot, action: Callable[[WorkerSlot], None]) -> None:
        try:
            action(slot)
        except WorkerLostError as death:
            self._handle_death(slot, death)
        except SandboxError as error:
            if isinstance(error, IsolationError) or not self._results.done:
                raise
            self._outcome.stopped = f"the sandbox failed: {error.what}"  # existing grades are returned

    def _feed(self, slot: WorkerSlot) -> None:
        """Send a worker ranges of rows until two are in flight."""
        while len(slot.requests) < 2 and not self._outcome.stopped:
            rows = slot.take(slot.batch_rows) or self._unsent.take(slot.batch_rows) or self._borrow(slot)
            if rows is None:
                return
            if slot.worker is None or not slot.loaded:
                # Returned before the start, which may fail and must not discard the rows.
                slot.ranges.appendleft(rows)
                self._start_worker(slot)
                self._await_loaded(slot)
                if self._cancel.is_set():
                    return
                continue
            if not self._request(slot, rows):
                return

    def _borrow(self, slot: WorkerSlot) -> tuple[int, int] | None:
        # A slot with requests in flight does not take more, and a small remainder is not worth a decode.
        if slot.requests:
            return None
        largest = max(self._slots, key=lambda other: other.left)
        return largest.give(slot.batch_rows) if largest.left > 2 * slot.batch_rows else None

    def _start_worker(self, slot: WorkerSlot) -> None:
        """Give a slot with rows a worker, if it has none, and send the program to it."""
        if slot.worker is not None or not (slot.ranges or self._unsent.ranges) or self._outcome.stopped:
            return
        slot.loaded = False
        worker = slot.worker = self._new_worker(slot.buffer_bytes)
        self._program.require(worker.level)
        self._grades.isolation = weakest(self._grades.isolation, worker.level)
        slot.load_seq = worker.send({**self._program.load_command("load"), "resident": self._keeps_worker})

    def _await_loaded(self, slot: WorkerSlot) -> None:
        assert slot.worker is not None
        reply = slot.worker.receive(slot.load_seq, self._limits.hard_load_seconds, unless=self._cancel.is_set)
        if reply is None:
            return  # cancelled: the next step sees it
        self._note_output(reply)
        self._refuse(load_problem(reply))
        slot.loaded, slot.is_contained = True, reply.get("self_contained") is True

    def _refuse(self, problem: GradeError | None) -> None:
        """Stop without a retry if the program does not load: it would not in another worker."""
        if problem is not None:
            self._load_problem, self._outcome.stopped = problem, "load"

    def _request(self, slot: WorkerSlot, rows: tuple[int, int]) -> bool:
        """Send a request for a range of rows; returns whether that was possible."""
        assert slot.worker is not None
        # The half that the preceding range does not write to.
        half = 1 - slot.requests[-1].half if slot.requests else 0
        sent = self._sent(slot, rows, half)
        if sent is None:
            return False
        (start, stop), command = sent
        # Written by the host before the command: a row that a dying worker never reached must not show an older
        # range's score.
        slot.worker.bits[half * CAPACITY :][: stop - start] = NOT_SCORED
        slot.worker.bits[_end_of(half)] = stop - start
        command |= {"op": "rows", "first": start, "count": stop - start, "half": half, "extras": self._extras}
        # An idle worker's time starts with the command, that of a second range with the reply to the first.
        if not slot.requests:
            slot.mark, slot.since, slot.cut_at = -1, time.monotonic(), None
        try:
            seq = slot.worker.send({**command, "seconds": self._limits.row_seconds})
        except WorkerLostError:
            slot.ranges.appendleft((start, stop))
            raise
        slot.requests.append(Request(start, stop - start, half, seq, stop - start, command.get("size", 0)))
        return True

    def _sent(
        self, slot: WorkerSlot, rows: tuple[int, int], half: int
    ) -> tuple[tuple[int, int], dict[str, Any]] | None:
        """The rows that a command requests, and their location as sent to the worker.

        As many of `rows` as fit the worker's buffer; the others are returned. None if a single row is larger than the
        buffer: once the worker is idle, another one with a larger buffer replaces it.
        """
        if self._encode is None:
            return rows, {}
        assert slot.worker is not None
        assert slot.worker.buffer is not None
        start, stop = rows
        data = self._encode(start, stop)
        while len(data) > slot.buffer_bytes and stop - start > 1:
            middle = (start + stop) // 2
            slot.ranges.appendleft((middle, stop))
            stop = middle
            slot.batch_rows = stop - start
            data = self._encode(start, stop)
        if len(data) <= slot.buffer_bytes:
            return (start, stop), {"at": slot.worker.buffer.write(half, data), "size": len(data)}
        slot.ranges.appendleft((start, stop))
        if not slot.requests:
            self._discard(slot.worker)
            slot.worker, slot.buffer_bytes = None, len(data)
        return None

    def _collect(self, slot: WorkerSlot) -> None:
        """Process every complete reply: a second one may already be buffered here, where `select` cannot see it."""
        while slot.requests and slot.worker:
            reply = slot.worker.poll(slot.requests[0].seq)
            if reply is None:
                self._watch(slot)
                return
            self._take(slot, slot.requests[0], reply)

    def _take(self, slot: WorkerSlot, request: Request, reply: Mapping[str, Any]) -> None:
        seconds = time.monotonic() - slot.since
        # More rows than now requested: it had reached the next rows when the following ones were removed.
        graded = min(read_done(reply, request.asked), request.count)
        if graded < request.count:
            # Its notes filled the reply: request the remaining rows again, in smaller ranges.
            slot.ranges.appendleft((request.first + graded, request.first + request.count))
            slot.batch_rows, request.count = graded, graded
        self._results.take(slot, request, reply, seconds)
        slot.requests.popleft()
        slot.mark, slot.since, slot.cut_at = -1, time.monotonic(), None
        per_row = seconds / request.count
        most = (
            min(self._most, max(1, _SENT_BYTES * request.count // request.size))
            if request.size
            else self._most
        )
        slot.batch_rows = int(min(most, 8 * slot.batch_rows, max(1, _TARGET_SECONDS / max(per_row, 1e-9))))
        self._note_output(reply)

    def _watch(self, slot: WorkerSlot) -> None:
        """Give a worker single rows if its rows take long together, and end it if one row exceeds its time."""
        request, now = slot.requests[0], time.monotonic()
        slot.mark = _finished(page_of(slot, request)[1])
        if slot.cut_at is None:
            if now - slot.since > SHARED_SECONDS + request.size / _DECODED_BYTES:
                slot.cut_at = now
                self._cut(slot, request)
        elif now - slot.cut_at > self._limits.hard_row_seconds:
            raise WorkerLostError(TIMED_OUT)

    def _cut(self, slot: WorkerSlot, request: Request) -> None:
        """Remove the rows after the current one from a worker; what it writes for them no longer counts."""
        assert slot.worker is not None
        slot.worker.bits[_end_of(request.half)] = slot.mark + 1
        # Read again: the worker may have progressed before it could see that number.
        slot.mark = _finished(page_of(slot, request)[1])
        count = min(slot.mark + 1, request.count)
        if count < request.count:
            slot.ranges.appendleft((request.first + count, request.first + request.count))
            slot.batch_rows, request.count = 1, count

    def _handle_death(self, slot: WorkerSlot, death: WorkerLostError) -> None:
        """Keep the finished rows of an ended worker, fail its current row, return the others."""
        requests, slot.requests = list(slot.requests), deque()
        # Copied before the worker is closed, which unmaps its page. Only the first range can have started.
        pages = [(request, *page_of(slot, request)) for request in requests[:1]] if slot.worker else []
        status = slot.worker.close() if slot.worker else None
        slot.worker = None
        has_graded = self._graded_rows() > self._graded_at_loss
        for request in reversed(requests[1:]):
            slot.ranges.appendleft((request.first, request.first + request.count))
        # A signal of the row itself is its crash: another attempt would cost another worker.
        cause = OUTSIDE if cause_of(death, status) == OUTSIDE else ""
        for request, scores, bits in pages:
            row = request.first + current_row(request, bits)
            error = self._blame.error(death, status, cause, OUTSIDE if row in self._killed_at else "")
            if error is None:
                self._killed_at.add(row)
            has_graded |= self._results.recover_rows(slot, request, (scores, bits), error)
        self._lost.add(slot, has_graded=has_graded, is_killed=bool(cause))
        self._outcome.lost, self._graded_at_loss = self._lost.total, self._graded_rows()
        if not slot.loaded and ends_loading(death, status):
            seconds = self._limits.hard_load_seconds
            self._refuse(load_verdict(death, status, seconds))
        if not self._outcome.stopped and self._busy():
            self._outcome.stopped = self._lost.enough(self._results.done, death.reason)

    def _graded_rows(self) -> int:
        """Number of graded rows, including those of running ranges: a busy host reads their replies later."""
        running = [slot for slot in self._slots if slot.worker and slot.requests]
        in_work = sum(_finished(page_of(slot, slot.requests[0])[1]) for slot in running)
        return self._results.done + in_work

    def _note_output(self, reply: Mapping[str, Any]) -> None:
        output = reply.get("output")
        if output and not self._outcome.output and isinstance(output, str):
            self._outcome.output = clean(output, 4000)

    def _report_progress(self, *, force: bool = False) -> None:
        now = time.monotonic()
        if self._on_progress and (force or now - self._reported_at >= 0.1):
            self._reported_at = now
            in_work = sum(max(slot.mark, 0) for slot in self._slots if slot.requests)
            self._on_progress(self._results.done + in_work, self._results.failed, self._grades)

    def _close(self) -> None:
        until = time.monotonic() + _GRACE_SECONDS
        for slot in self._slots:
            while self._program.noted and slot.requests and slot.worker and time.monotonic() < until:
                readable([slot.worker], _TICK_SECONDS)  # notes are sent only with the reply
                self._guard(slot, self._collect)
            if slot.worker:
                for request in slot.requests:
                    self._results.keep(request, page_of(slot, request))
                if self._is_reusable(slot):
                    self._outcome.worker = slot.worker
                else:
                    self._discard(slot.worker)

    def _is_reusable(self, slot: WorkerSlot) -> bool:
        """Whether a grader can have changed nothing in a worker but its module, which is loaded again."""
        return (
            self._keeps_worker
            and slot.is_contained
            and not (slot.requests or self._outcome.stopped or self._outcome.worker)
        )

    def _finish(self) -> None:
        if self._load_problem:
            self._grades.finish(ErrorKind.LOAD, self._load_problem.message)
        elif self._outcome.stopped == "cancelled":
            self._grades.finish()
        elif self._outcome.stopped:
            self._grades.ended = self._outcome.stopped
            self._grades.finish(ErrorKind.CANCELLED, f"not graded: {self._outcome.stopped}")
        # No row should be missing at this point; any that is counts as failed, so that no gap remains in the grades.
        self._grades.finish(ErrorKind.SANDBOX, "the row's worker ended without a result")


def _end_of(half: int) -> int:
    """Position in a worker's page of the row index at which the range in one half of it ends."""
    return CAPACITY * (half + 1) - 1


def _finished(bits: NDArray[np.uint64]) -> int:
    """Number of leading rows of a range with a score or a code, according to its worker."""
    unfinished = bits == NOT_SCORED
    return int(unfinished.argmax()) if unfinished.any() else len(bits)
