"""Pool of workers, with the four operations that the package needs from the sandbox.

`check` runs the five checks, `run` grades a dataset, `fingerprint` describes a module's names,
`warm` starts workers for a dataset before they are needed. One zygote serves the whole process.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import threading
import weakref
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from itertools import pairwise
from typing import Any

from workbench.core.errors import SandboxError
from workbench.core.grades import Grades
from workbench.core.system_limits import limited, undo_on_error
from workbench.core.thread import StringThread
from workbench.data.packed import Packed, Stream
from workbench.sandbox.host import validation
from workbench.sandbox.host.determinism import check_source
from workbench.sandbox.host.program import Limits, Program, default_workers
from workbench.sandbox.host.run import RunOutcome, SandboxRun
from workbench.sandbox.host.spare_workers import (
    MAX_SPARE_WORKERS,
    Prepared,
    SpareKind,
    SpareWorkers,
    is_ready,
)
from workbench.sandbox.host.validation import Validation
from workbench.sandbox.host.worker import BUFFER_BYTES, Blob, Layout, Worker, WorkerLostError
from workbench.sandbox.host.zygote import CleanupThread, StartError, Zygote

Wire = Sequence[Any]
LAYERS = ("landlock", "rlimits", "seccomp", "audit")
WARM_ROWS = 500
"""Minimum rows of a dataset for its spare workers: fewer are sent with the commands, and must not replace a large
dataset's workers."""
_MIN_ROWS_A_WORKER = 64
_SLOW_SECONDS = 2.0
"""If the checks took longer, the determinism check is skipped: it would double a noticeable wait."""
_DECODED = 8
"""Memory of a decoded batch per encoded byte: the allowance, beyond its grader's limit, of a worker that decodes during
the run. Rows of a few hundred bytes take four."""


class Pool:
    """The sandbox of this process. Nothing starts before the first use.

    Args:
        layers: Isolation layers of the workers. Fewer than all is for tests of the weaker levels.
    """

    def __init__(self, layers: Sequence[str] = LAYERS) -> None:
        self._layers = tuple(layers)
        self._zygote: Zygote | None = None
        self._closed = False
        self._lock = threading.Lock()
        self._blobs: weakref.WeakKeyDictionary[Packed, Blob] = weakref.WeakKeyDictionary()
        self._janitor = CleanupThread()
        self._spares = SpareWorkers()
        _POOLS.add(self)

    @property
    def level(self) -> str:
        """The isolation level of this machine: "kernel", "partial" or "process". Starts a worker to find out."""
        return str(self.probe()["level"])

    def probe(self) -> dict[str, Any]:
        """Start a worker and return the result of its self-test: level, layers, leaks."""
        worker = self._worker(Limits())
        info = dict(worker.info)
        worker.close()
        return info

    def check(
        self, program: Program, threads: Sequence[tuple[str, StringThread | Wire]] = (), *, sha256: str = ""
    ) -> Validation:
        """Run the five checks on a source, with a test run on each labelled thread, stopping at the first failure.

        If all pass, the threads are graded again in another order; a score that changes gives a warning.

        Args:
            program: What to validate, in any language and with any signature.
            threads: Labels and threads; rows of `row_columns.row_wire` for graders that are given more than a thread.
            sha256: Hash of the text, for the result.

        Raises:
            SandboxError: The sandbox cannot start on this machine.
        """
        fresh = partial(self._worker, program.limits, library=program.needs_full_stdlib)
        worker = fresh()
        try:
            program.require(worker.level)
            rows = [
                (label, row.to_wire() if isinstance(row, StringThread) else row) for label, row in threads
            ]
            checked = validation.check(worker, program, rows)
            if rows and not checked.has_failed and checked.seconds < _SLOW_SECONDS:
                checked.warnings += check_source(
                    fresh, program, rows, checked.scores, discard=self._close_later
                )
            return checked.validation(program, sha256)
        finally:
            self._close_later(worker)
            # For the next check and its calls again. Now, not before: the zygote serves one request at a time.
            self._janitor.later(self._fill_unbound, 2, program.limits, program.needs_full_stdlib)

    def _close_later(self, worker: Worker) -> None:
        """End a worker on another thread: the zygote replies only when the process has ended, which takes milliseconds."""
        self._janitor.later(worker.close)

    def fingerprint(self, text: str, names: Sequence[str]) -> dict[str, Any]:
        """Load a module in a worker and describe some of its names as plain data.

        Raises:
            SandboxError: The module does not load, or the worker crashed.
        """
        worker = self._worker(Limits())
        try:
            return validation.fingerprint(worker, text, names)
        finally:
            worker.close()

    def run(
        self,
        program: Program,
        packed: Packed | Stream,
        *,
        workers: int | None = None,
        on_progress: Callable[[int, int, Grades], None] | None = None,
        cancel: threading.Event | None = None,
        prepared: Prepared | None = None,
        keeps_worker: bool = False,
    ) -> RunOutcome:
        """Grade every row of a dataset.

        Args:
            program: The grader.
            packed: The dataset; a `Stream` is encoded while it is sent.
            workers: Processes; by default all cores except one.
            on_progress: Called with (rows done, rows failed, the grades so far), at most ten times per second.
            cancel: Stops the run when set; existing grades are returned.
            prepared: A worker for the first rows of a `Stream`.
            keeps_worker: Whether the outcome is to have a worker that can grade rows of a `Stream` again; see `reuse`.

        Raises:
            SandboxError: The sandbox cannot start on this machine.
        """
        shards = _shards(packed.rows, workers or default_workers())
        library = program.needs_full_stdlib
        kind = SpareKind(program.limits.memory_mb, packed.serial if isinstance(packed, Packed) else None)
        spares = [worker for _ in shards if (worker := self._spares.take(kind, library=library))]
        # The next run's start while this one grades, so that it waits for none of them.
        self._janitor.later(self._fill, packed, len(shards), program.limits, library)

        def new_worker(buffer_bytes: int) -> Worker:
            if buffer_bytes in (0, BUFFER_BYTES):
                if prepared is not None and (worker := prepared.take()) and is_ready(worker):
                    return worker
                while spares:
                    if is_ready(worker := spares.pop()):
                        return worker
            return self._ready(self._start(program.limits, packed, buffer_bytes, library=library))

        run = SandboxRun(
            program, packed, new_worker=new_worker, on_progress=on_progress, cancel=cancel,
            discard=lambda worker: self._janitor.later(worker.close), keeps_worker=keeps_worker,
        )  # fmt: skip
        try:
            return run.go(shards)
        finally:
            # Workers of shards that were not used because the run ended before.
            for worker in spares:
                self._janitor.later(worker.close)

    def warm(
        self, packed: Packed, *, workers: int | None = None, limits: Limits | None = None, wait: bool = True
    ) -> None:
        """Start workers that map this dataset and wait for a grader.

        Only the most recent dataset has spare workers.
        """
        limits, count = limits or Limits(), len(_shards(packed.rows, workers or default_workers()))
        future = self._janitor.later(self._fill, packed, count, limits, True)
        if wait:
            future.result()
            for worker in self._spares.workers:
                with contextlib.suppress(WorkerLostError):  # noticed by the run that takes it
                    worker.await_ready()

    def _fill(self, packed: Packed | Stream, count: int, limits: Limits, library: bool) -> None:
        """Start the spare workers of another run like this. Runs only on the janitor's thread, so never concurrently.

        Args:
            packed: The rows.
            count: Number of workers.
            limits: Of the program.
            library: As in `Layout`.
        """
        if self._closed or not packed.rows:
            return
        if isinstance(packed, Packed) and packed.rows >= WARM_ROWS:
            kind = SpareKind(limits.memory_mb, packed.serial)
            self._spares.fill(kind, count, partial(self._start, limits, packed, library=library))
            count = 0
        # One more, for the rows that are graded again.
        self._fill_unbound(count + 1, limits, library)

    def _fill_unbound(self, count: int, limits: Limits, library: bool) -> None:
        """Start spare workers that map no dataset. Runs only on the janitor's thread."""
        # A closing pool still finishes its queued jobs: none of them may start workers again.
        if not self._closed:
            start = partial(self._start, limits, None, BUFFER_BYTES, library=library)
            self._spares.fill(SpareKind(limits.memory_mb), min(count, MAX_SPARE_WORKERS), start)

    def _forget(self, blob: Blob, dataset: int) -> None:
        """Release the bytes of a deleted dataset, and end the workers that map them."""
        self._spares.drop_dataset(dataset)
        blob.close()

    def _worker(self, limits: Limits, *, library: bool = True) -> Worker:
        """A fresh worker without rows, ready."""
        while worker := self._spares.take(SpareKind(limits.memory_mb), library=library):
            if is_ready(worker):
                return worker
        return self._ready(self._start(limits, library=library))

    def _start(
        self, limits: Limits, packed: Packed | Stream | None = None, buffer_bytes: int = 0, *,
        library: bool = True,
    ) -> Worker:  # fmt: skip
        """Start a worker without waiting until it is ready; it maps a dataset, or has a buffer for rows."""
        with self._lock:
            blob = self._blob(packed) if isinstance(packed, Packed) and packed.rows else None
            layout = replace(self._layout(limits, packed, buffer_bytes), library=library)
            return Worker.start(self._alive(), layout, blob)

    @staticmethod
    def _ready(worker: Worker) -> Worker:
        with undo_on_error(worker.close):  # after an interrupt too: no other code knows this worker
            try:
                worker.await_ready()
            except WorkerLostError as death:
                raise StartError("a sandbox worker did not start", found=death.reason) from death
        return worker

    def start(self, program: Program, *, buffer_bytes: int = 0) -> Worker:
        """Start a worker without rows for a program without waiting: its first frame reports that it is ready.

        Args:
            program: What it will load.
            buffer_bytes: As in `Layout`.

        Raises:
            SandboxError: The sandbox cannot start on this machine.
        """
        layout = replace(
            self._layout(program.limits, buffer_bytes=buffer_bytes), library=program.needs_full_stdlib
        )
        with self._lock:
            zygote = self._alive()
            try:
                return Worker.start(zygote, layout)
            except SandboxError:
                if zygote.alive:
                    raise
            return Worker.start(
                self._alive(), layout
            )  # the zygote was killed or stopped from outside: use a new one

    def prepare(self, program: Program) -> Prepared:
        """Start a worker on another thread, for a `Stream` of few rows that `run` will grade.

        Args:
            program: What it will load.
        """
        kind, library = SpareKind(program.limits.memory_mb), program.needs_full_stdlib

        def start() -> Worker:
            return self._spares.take(kind, library=library) or self.start(program, buffer_bytes=BUFFER_BYTES)

        prepared = Prepared(start, lambda worker: self._janitor.later(worker.close))
        self._janitor.later(prepared.begin)
        return prepared

    def reuse(self, worker: Worker | None) -> Prepared:
        """The worker of a run's outcome, for another run of the same program; it is ended if that does not use it."""
        prepared = Prepared(lambda: worker, lambda unused: self._janitor.later(unused.close))
        prepared.begin()
        return prepared

    def _layout(self, limits: Limits, packed: Packed | Stream | None = None, buffer_bytes: int = 0) -> Layout:
        # Rows are decoded inside the confinement, where that would use the grader's memory.
        memory = limits.memory_mb * 1024 * 1024 + _DECODED * buffer_bytes
        if isinstance(packed, Packed):
            memory += _DECODED * max(map(len, packed.batches), default=0)
        return Layout(self._layers, memory, buffer_bytes)

    def _blob(self, packed: Packed) -> Blob:
        blob = self._blobs.get(packed)
        if blob is None:
            with limited(SandboxError, "the rows cannot be passed to the sandbox"):
                blob = self._blobs[packed] = Blob(packed.batches, packed.counts)
            # The finalizer only puts into a queue: it may run at any point.
            weakref.finalize(packed, self._janitor.post, self._forget, blob, packed.serial).atexit = False
        return blob

    def _alive(self) -> Zygote:
        """The running zygote; starts one if there is none."""
        if self._zygote is not None and not self._zygote.alive:
            self._zygote.close()  # the process has ended; its descriptors in this process are still open
            self._zygote = None
        if self._zygote is None:
            self._zygote, self._closed = Zygote(), False
            atexit.register(self._zygote.close_at_exit)
        return self._zygote

    def after_fork(self) -> None:
        """In a forked process: drop the parent's workers and zygote without ending them."""
        self._lock = threading.Lock()  # another thread of the parent may have had the lock
        self._janitor = CleanupThread()
        self._spares.forget()
        if self._zygote is not None:
            atexit.unregister(self._zygote.close_at_exit)
            self._zygote.forget()
        self._zygote = None
        self._blobs = weakref.WeakKeyDictionary()

    def close(self) -> None:
        """End every process of this pool. The next use restarts it."""
        self._closed = True
        # First: a running job may be about to create new spares.
        self._janitor.close()
        self._spares.drop()
        with self._lock:
            if self._zygote is not None:
                atexit.unregister(self._zygote.close_at_exit)
                self._zygote.close()
            self._zygote = None


def _shards(rows: int, workers: int) -> list[tuple[int, int]]:
    """Equal ranges of rows, one per worker; fewer workers if there are few rows."""
    count = max(1, min(workers, rows // _MIN_ROWS_A_WORKER))
    edges = [rows * i // count for i in range(count + 1)]
    return list(pairwise(edges)) if rows else []


_POOL: Pool | None = None
_POOL_LOCK = threading.Lock()
_POOLS: weakref.WeakSet[Pool] = weakref.WeakSet()


def _after_fork() -> None:
    global _POOL_LOCK  # noqa: PLW0603 (another thread of the parent may have had the lock)
    _POOL_LOCK = threading.Lock()
    for instance in list(_POOLS):
        instance.after_fork()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


def pool() -> Pool:
    """The single pool of this process."""
    global _POOL  # noqa: PLW0603 (one zygote per process is the purpose)
    with _POOL_LOCK:
        if _POOL is None:
            _POOL = Pool()
        return _POOL


def fingerprint(text: str, names: Sequence[str]) -> dict[str, Any]:
    """Load a module in a worker and describe some of its names as plain data."""
    return pool().fingerprint(text, names)
