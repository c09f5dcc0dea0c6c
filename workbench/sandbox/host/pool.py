"""Pool of warm workers, with the four operations that the package needs from the sandbox.

`check` runs the five checks, `run` grades a dataset, `fingerprint` describes a module's names,
`warm` prepares workers for a dataset before they are needed. One zygote serves the whole process.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import threading
import weakref
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
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
from workbench.sandbox.host.validation import Validation
from workbench.sandbox.host.worker import BUFFER_BYTES, Blob, Layout, Worker, WorkerLostError
from workbench.sandbox.host.zygote import CleanupThread, StartError, Zygote

Wire = Sequence[Any]
LAYERS = ("landlock", "rlimits", "seccomp", "audit")
RESIDENT_ROWS = 160_000
"""Maximum rows decoded in warm workers: 1.6 kB each, so 256 MB in total. Larger sets are decoded when needed."""
WARM_ROWS = 500
"""Minimum rows for warm workers: fewer decode instantly, and must not replace a large dataset's workers."""
_MIN_ROWS_A_WORKER = 64
_SLOW_SECONDS = 2.0
"""If the checks took longer, the determinism check is skipped: it would double a noticeable wait."""
_DECODED = 8
"""Memory of a decoded batch per encoded byte: the allowance, beyond its grader's limit, of a worker that decodes during
the run. Rows of a few hundred bytes take four."""


class Prepared:
    """One worker, once it has started; a caller that cannot wait for it starts its own.

    Args:
        start: Starts it.
        discard: Takes it if it is not used.
    """

    def __init__(self, start: Callable[[], Worker], discard: Callable[[Worker], object]) -> None:
        self._start, self._discard = start, discard
        self._lock = threading.Lock()
        self._worker: Worker | None = None
        self._is_wanted = True

    def begin(self) -> None:
        """Start it, unless it was discarded. To be called on another thread than `take`."""
        with self._lock:
            if self._is_wanted:
                self._worker = self._start()

    def take(self) -> Worker | None:
        """Take over the worker; None if it was not started yet. Waits for a running start."""
        with self._lock:
            self._is_wanted = False
            worker, self._worker = self._worker, None
            return worker

    def close(self) -> None:
        """Discard it if it was not taken."""
        if (worker := self.take()) is not None:
            self._discard(worker)


@dataclass
class _Spares:
    """Workers that wait with decoded rows, for one dataset and one layout of shards."""

    key: tuple[Any, ...]
    workers: list[Worker] = field(default_factory=list)


class Pool:
    """The sandbox of this process. Nothing starts before the first use.

    Args:
        layers: Isolation layers of the workers. Fewer than all is for tests of the weaker levels.
    """

    def __init__(self, layers: Sequence[str] = LAYERS) -> None:
        self._layers = tuple(layers)
        self._zygote: Zygote | None = None
        self._closed = False
        # Re-entrant: `_warm` drops the spares while it has the lock, and dropping takes the lock as well.
        self._lock = threading.RLock()
        self._blobs: weakref.WeakKeyDictionary[Packed, Blob] = weakref.WeakKeyDictionary()
        self._spares: _Spares | None = None
        self._janitor = CleanupThread()
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
                checked.warnings += check_source(fresh, program, rows, checked.scores)
            return checked.validation(program, sha256)
        finally:
            worker.close()

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
    ) -> RunOutcome:
        """Grade every row of a dataset.

        Args:
            program: The grader.
            packed: The dataset; a `Stream` is encoded while it is sent.
            workers: Processes; by default all cores except one.
            on_progress: Called with (rows done, rows failed, the grades so far), at most ten times per second.
            cancel: Stops the run when set; existing grades are returned.
            prepared: A worker for the first rows of a `Stream`.

        Raises:
            SandboxError: The sandbox cannot start on this machine.
        """
        shards = _shards(packed.rows, workers or default_workers())
        spares = self._take_spares(packed, shards, program.limits)
        fresh = dict(shards)
        start = partial(self._worker, program.limits, packed, library=program.needs_full_stdlib)

        def new_worker(first: int, buffer_bytes: int) -> Worker:
            last = fresh.pop(first, None)
            if prepared is not None and buffer_bytes == BUFFER_BYTES and (worker := prepared.take()):
                with contextlib.suppress(
                    StartError
                ):  # it may have been killed while it waited: then start another one
                    return self._ready(worker)
            if last is None:
                # It replaces a crashed worker, so it decodes only the rows that it is sent: otherwise each crash
                # would take as long as decoding all waiting rows.
                return start(buffer_bytes=buffer_bytes)
            return spares.pop(first, None) or start((first, last), buffer_bytes=buffer_bytes)

        run = SandboxRun(
            program, packed.rows, new_worker=new_worker, on_progress=on_progress, cancel=cancel,
            discard=lambda worker: self._janitor.later(worker.close),
            encode=packed.encode if isinstance(packed, Stream) else None,
        )  # fmt: skip
        try:
            return run.go(shards)
        finally:
            # Workers of shards that were not used because the run ended before.
            for worker in spares.values():
                self._janitor.later(worker.close)
            if isinstance(packed, Packed) and packed.rows >= WARM_ROWS:
                # New workers decode the rows again while the user reads the result.
                self.warm(packed, workers=workers, limits=program.limits, wait=False)

    def warm(
        self, packed: Packed, *, workers: int | None = None, limits: Limits | None = None, wait: bool = True
    ) -> None:
        """Start workers that decode this dataset and wait for a grader.

        Only the most recent dataset has warm workers, and only up to `RESIDENT_ROWS` rows.
        """
        future = self._janitor.later(self._warm, packed, workers or default_workers(), limits or Limits())
        if wait:
            future.result()

    def _warm(self, packed: Packed, workers: int, limits: Limits) -> None:
        """Runs only on the janitor's thread, so that two calls of `warm` never change the same workers concurrently."""
        shards = _shards(packed.rows, workers)
        key = _key(packed, shards, limits)
        with self._lock:
            if self._spares is not None and self._spares.key == key:
                return
            self._drop_spares()
            # A closing pool still finishes its queued jobs: none of them may start workers again.
            if self._closed or packed.rows > RESIDENT_ROWS or not packed.rows:
                return
            blob = self._blob(packed)
            layouts = [self._layout(limits, shard, packed) for shard in shards]
            # All are started before waiting for the first, so that they decode in parallel.
            spares = [Worker.start(self._alive(), layout, blob) for layout in layouts]
        # Outside the lock: decoding is slow, and a run may need a worker in the meantime.
        try:
            for worker in spares:
                worker.await_ready()
        except WorkerLostError:
            for worker in spares:
                worker.close()
            return
        with self._lock:
            self._spares = _Spares(key, spares)

    def _take_spares(
        self, packed: Packed | Stream, shards: list[tuple[int, int]], limits: Limits
    ) -> dict[int, Worker]:
        with self._lock:
            if self._spares is None or self._spares.key != _key(packed, shards, limits):
                return {}
            workers, self._spares = self._spares.workers, None
        return {worker.layout.shard[0]: worker for worker in workers}

    def _forget(self, blob: Blob, dataset: int) -> None:
        """Release the bytes of a deleted dataset, and end the workers that have decoded its rows."""
        with self._lock:
            if self._spares is not None and self._spares.key[0] == dataset:
                self._drop_spares()
        blob.close()

    def _drop_spares(self) -> None:
        with self._lock:
            spares, self._spares = self._spares, None
        for worker in spares.workers if spares else ():
            worker.close()

    def _worker(
        self,
        limits: Limits,
        packed: Packed | Stream | None = None,
        shard: tuple[int, int] = (0, 0),
        buffer_bytes: int = 0,
        *,
        library: bool = True,
    ) -> Worker:
        with self._lock:
            blob = self._blob(packed) if isinstance(packed, Packed) and packed.rows else None
            resident = shard if isinstance(packed, Packed) and packed.rows <= RESIDENT_ROWS else (0, 0)
            layout = self._layout(limits, resident, packed, buffer_bytes)
            worker = Worker.start(self._alive(), replace(layout, library=library), blob)
        return self._ready(worker)

    @staticmethod
    def _ready(worker: Worker) -> Worker:
        with undo_on_error(worker.close):  # after an interrupt too: no other code knows this worker
            try:
                worker.await_ready()
            except WorkerLostError as death:
                raise StartError("a sandbox worker did not start", found=death.reason) from death
        return worker

    def start(self, program: Program, *, buffer_bytes: int = 0, extras: bool = False) -> Worker:
        """Start a worker without rows for a program without waiting: its first frame reports that it is ready.

        Args:
            program: What it will load.
            buffer_bytes: As in `Layout`.
            extras: As in `Layout`.

        Raises:
            SandboxError: The sandbox cannot start on this machine.
        """
        layout = self._layout(program.limits, (0, 0), None, buffer_bytes)
        layout = replace(layout, extras=extras, library=program.needs_full_stdlib)
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

    def prepare(self, program: Program, *, extras: bool) -> Prepared:
        """Start a worker on another thread, for a `Stream` of few rows that `run` will grade.

        Args:
            program: What it will load.
            extras: As in `Stream`.
        """
        start = partial(self.start, program, buffer_bytes=BUFFER_BYTES, extras=extras)
        prepared = Prepared(start, lambda worker: self._janitor.later(worker.close))
        self._janitor.later(prepared.begin)
        return prepared

    def _layout(
        self, limits: Limits, shard: tuple[int, int], packed: Packed | Stream | None, buffer_bytes: int = 0
    ) -> Layout:
        # Without a shard the worker decodes inside its confinement, where that would use the grader's memory.
        memory = limits.memory_mb * 1024 * 1024 + _DECODED * buffer_bytes
        if isinstance(packed, Packed) and shard == (0, 0):
            memory += _DECODED * max(map(len, packed.batches), default=0)
        return Layout(self._layers, memory, shard, packed is not None and packed.extras, buffer_bytes)

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
        self._lock = threading.RLock()  # another thread of the parent may have had the lock
        self._janitor = CleanupThread()
        for worker in self._spares.workers if self._spares else ():
            worker.forget()
        if self._zygote is not None:
            atexit.unregister(self._zygote.close_at_exit)
            self._zygote.forget()
        self._zygote = self._spares = None
        self._blobs = weakref.WeakKeyDictionary()

    def close(self) -> None:
        """End every process of this pool. The next use restarts it."""
        self._closed = True
        # First: a running job may be about to create new spares.
        self._janitor.close()
        self._drop_spares()
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


def _key(packed: Packed | Stream, shards: list[tuple[int, int]], limits: Limits) -> tuple[Any, ...]:
    # Only the memory limit: a worker fixes it when it confines itself; times are sent with each command.
    return (packed.serial, tuple(shards), limits.memory_mb)


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
