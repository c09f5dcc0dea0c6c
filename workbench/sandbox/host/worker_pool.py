"""Persistent workers of this process, driven by one thread that starts with the first call.

A call submits rows and waits for a future, from any thread or event loop; no lock is taken while rows are graded. Rows
that arrive while all workers are busy are merged into their next command. A forked or spawned process starts its own
thread and workers.
"""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import itertools
import json
import marshal
import os
import select
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from workbench.core.errors import SandboxError
from workbench.core.grade import Grade
from workbench.core.system_limits import limited
from workbench.sandbox.host.batches import Batch
from workbench.sandbox.host.member import Member
from workbench.sandbox.host.pool import pool
from workbench.sandbox.host.program import Program, default_workers
from workbench.sandbox.host.worker import Worker
from workbench.sandbox.host.worker_group import NotSelfContainedError, WorkerGroup
from workbench.sandbox.host.zygote import CleanupThread, StartError, no_interrupts

_IDLE_SECONDS = {True: 60.0, False: 1800.0}
"""Seconds without a call after which workers end: those of single calls, and those with an owner, such as a
training run, whose steps may be half an hour apart."""
_MAX_ISOLATED_PROGRAMS = 8
"""Maximum number of programs whose single calls have warm workers: each edit of a grader creates a new program."""
_MAX_CACHED = 100
_BUSY_TICK, _IDLE_TICK = 0.01, 1.0

Key = tuple[object, ...]


@dataclass(frozen=True)
class _GradeOrder:
    """Rows for a group."""

    key: Key
    program: Program
    workers: int
    batch: Batch


class WorkerPool:
    """The persistent workers of this process.

    Attributes:
        started: Workers started so far: far more than there are cores if rows hang, crash or run out of memory.
    """

    def __init__(self) -> None:
        self.started = 0
        self._groups: dict[Key, WorkerGroup] = {}
        self._inbox: deque[_GradeOrder | Callable[[], object]] = deque()
        self._janitor = CleanupThread()
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._awake = False
        self._wake_fds = (-1, -1)
        self._closing = False
        self._not_contained: set[Key] = set()

    def grade_isolated(self, program: Program, rows: Sequence[bytes]) -> Batch | None:
        """Grade rows, each as the first of a fresh worker; None if this program needs an actually fresh one.

        Args:
            program: The grader.
            rows: One `marshal` text per row.
        """
        key = _key(program, None)
        if key in self._not_contained:
            return None
        batch = Batch(rows)
        self._put(_GradeOrder(key, program, default_workers(), batch))
        return batch

    def grade_batch(
        self, program: Program, rows: Sequence[bytes], *, owner: int, workers: int | None = None
    ) -> Batch:
        """Grade rows in workers of an owner: for one long run, in which the module persists from row to row.

        Args:
            program: The grader.
            rows: One `marshal` text per row.
            owner: Owner of the workers; see `new_owner` and `release`.
            workers: Maximum number; by default all cores except one.
        """
        batch = Batch(rows)
        self._put(_GradeOrder(_key(program, owner), program, workers or default_workers(), batch))
        return batch

    def release(self, owner: int) -> None:
        """End the workers of an owner, asynchronously. Safe in a finalizer, which may run at any point."""
        self._inbox.append(lambda: self._close_groups(owner))
        self._wake()

    def not_contained(self, program: Program) -> None:
        """Record that the single calls of a program need fresh workers."""
        if len(self._not_contained) > _MAX_CACHED:
            self._not_contained.clear()  # texts take memory, and finding this out again takes 0.01 s
        self._not_contained.add(_key(program, None))

    def _put(self, order: _GradeOrder) -> None:
        self._inbox.append(order)
        if self._thread is None or not self._thread.is_alive():
            self._begin()
        self._wake()

    def _begin(self) -> None:
        with self._lock:
            if self._thread is not None and self._thread.is_alive():
                return
            self._closing = False
            with limited(StartError, "the sandbox cannot start"):
                self._wake_fds = os.pipe()
            for fd in self._wake_fds:
                os.set_blocking(fd, False)
            self._thread = threading.Thread(target=self._serve, name="workbench-residents", daemon=True)
            self._thread.start()
            atexit.register(self._close_at_exit)

    def _wake(self) -> None:
        if not self._awake and self._wake_fds[1] >= 0:
            self._awake = True
            with contextlib.suppress(OSError):  # full, or just closed
                os.write(self._wake_fds[1], b"x")

    def _serve(self) -> None:
        try:
            while not self._closing:
                self._take_orders()
                for key, group in list(self._groups.items()):
                    with self._failing(key):
                        group.step()
                self._listen()
        finally:
            self._end()

    def _take_orders(self) -> None:
        while self._inbox:
            order = self._inbox.popleft()
            if isinstance(order, _GradeOrder):
                self._group(order).add(order.batch)
            else:
                order()

    def _group(self, order: _GradeOrder) -> WorkerGroup:
        # Reinserted at the end on each call: so the first ones are the least recently called.
        if order.key in self._groups:
            self._groups[order.key] = self._groups.pop(order.key)
        else:
            self._make_room()
            program, alone = order.program, order.key[0] is None

            def start() -> Worker:
                worker = pool().start(program)
                self.started += 1
                worker.widen()
                # Exit handlers run in reverse order: the workers end before the process that they were forked from.
                atexit.unregister(self._close_at_exit)
                atexit.register(self._close_at_exit)
                return worker

            self._groups[order.key] = WorkerGroup(
                program, workers=order.workers, alone=alone, idle_seconds=_IDLE_SECONDS[alone], start=start,
                discard=lambda worker: self._janitor.later(worker.close),
            )  # fmt: skip
        return self._groups[order.key]

    def _make_room(self) -> None:
        """End the workers of programs that were called alone and are no longer called."""
        idle = [key for key, group in self._groups.items() if key[0] is None and not group.busy]
        for key in idle[: max(0, len(idle) - _MAX_ISOLATED_PROGRAMS + 1)]:
            self._groups.pop(key).close()

    def _listen(self) -> None:
        """Wait for replies and for new rows, and process the replies."""
        listening: dict[int, tuple[Key, WorkerGroup, Member]] = {
            member.running.fileno(): (key, group, member)
            for key, group in self._groups.items()
            for member in group.members
        }
        waiting = any(group.busy for group in self._groups.values())
        tick = _BUSY_TICK if waiting else _IDLE_TICK if listening else None
        for fd in _readable([*listening, self._wake_fds[0]], tick):
            if fd in listening:
                key, group, member = listening[fd]
                with self._failing(key):
                    group.read(member)
        with contextlib.suppress(BlockingIOError):
            os.read(self._wake_fds[0], 4096)
        # In this order: otherwise the byte of a concurrent call would be read, and the next call would write none.
        self._awake = False
        for key in [key for key, group in self._groups.items() if not group.members and not group.busy]:
            del self._groups[key]

    @contextlib.contextmanager
    def _failing(self, key: Key) -> Iterator[None]:
        """Raise an internal error in the waiting callers: it must not end the thread or block a caller forever."""
        try:
            yield
        except Exception as error:  # noqa: BLE001 (see above)
            if key in self._groups:
                self._groups.pop(key).close(error)

    def _close_groups(self, owner: int) -> None:
        for key in [key for key in self._groups if key[0] == owner]:
            self._groups.pop(key).close()

    def _end(self) -> None:
        """Runs when the thread ends: fail the waiting calls, so that no caller waits forever."""
        for group in self._groups.values():
            group.close()
        self._groups.clear()
        while self._inbox:
            order = self._inbox.popleft()
            if isinstance(order, _GradeOrder):
                order.batch.end(SandboxError("the sandbox was closed", hint="call again"))
        fds, self._wake_fds = self._wake_fds, (-1, -1)
        for fd in fds:
            os.close(fd)

    def close(self) -> None:
        """End every worker and the thread; a waiting call raises `SandboxError`, and the next call restarts them."""
        atexit.unregister(self._close_at_exit)
        # The lock is released only after the thread has ended: a concurrent call must not start another thread while
        # this one still reads its stop request.
        with self._lock:
            thread, self._thread = self._thread, None
            self._closing = True
            self._awake = False
            self._wake()
            if thread is not None and thread is not threading.current_thread():
                thread.join()
        self._janitor.close()

    def _close_at_exit(self) -> None:
        with no_interrupts():
            self.close()

    def forget(self) -> None:
        """In a forked process: close the parent's descriptors, and leave its workers running."""
        for group in list(self._groups.values()):
            for member in list(group.members):
                if member.worker is not None:
                    member.worker.forget()
        for fd in self._wake_fds:
            if fd >= 0:
                os.close(fd)
        atexit.unregister(self._close_at_exit)


def _readable(fds: list[int], seconds: float | None) -> list[int]:
    """The readable descriptors; waits for the first until the timeout, without a limit if that is None."""
    if not hasattr(select, "poll"):
        return list(select.select(fds, [], [], seconds)[0])
    poll = select.poll()
    for fd in fds:
        poll.register(fd, select.POLLIN)
    return [fd for fd, _ in poll.poll(None if seconds is None else 1000 * seconds)]


def _key(program: Program, owner: int | None) -> Key:
    """Identity of a group: everything that a worker is loaded with, and its owner."""
    options = json.dumps(program.options, sort_keys=True, default=repr)
    called = (program.language, program.signature, options, program.kernel_only)
    return (owner, program.text, *called, program.limits)


_RESIDENTS = WorkerPool()
_OWNERS = itertools.count(1)


def worker_pool() -> WorkerPool:
    """The persistent workers of this process."""
    return _RESIDENTS


async def grade_alone(program: Program, wire: Any) -> Grade | None:
    """Grade one row in a warm worker, with the score of a fresh one; None if the program needs a fresh worker for that.

    The worker persists, and reruns the module's body before every row, so that no call can see the state of an earlier one.
    A text that could change state outside its module is not graded like this.

    Args:
        program: The grader.
        wire: The row as a wire tuple.

    Raises:
        SandboxError: The sandbox does not start, or this machine cannot confine the program.
    """
    batch = worker_pool().grade_isolated(program, [marshal.dumps(wire)])
    if batch is None:
        return None
    try:
        grades = await asyncio.wrap_future(batch.future)
    except NotSelfContainedError:
        worker_pool().not_contained(program)
        return None
    except asyncio.CancelledError:
        batch.stopped = True
        raise
    return replace(grades[0], printed=batch.printed.get(0))


def new_owner() -> int:
    """A number that is unique in this process."""
    return next(_OWNERS)


def release(owner: int) -> None:
    """End the workers of an owner in whichever process this runs; for finalizers."""
    _RESIDENTS.release(owner)


def _after_fork() -> None:
    global _RESIDENTS  # noqa: PLW0603 (each process has its own)
    _RESIDENTS.forget()
    _RESIDENTS = WorkerPool()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
