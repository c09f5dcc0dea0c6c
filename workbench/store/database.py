"""One database: connections, transactions that forks wait for, and the threads that asynchronous callers wait for."""

from __future__ import annotations

import asyncio
import contextlib
import copy
import os
import sqlite3
import threading
import time
import weakref
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any, Generic, TypeVar

import sqlalchemy as sa
from sqlalchemy.engine import Connection, Engine
from sqlalchemy.pool import QueuePool, StaticPool

from workbench.core.background import settle
from workbench.core.errors import StoreError
from workbench.store import schema
from workbench.store.address import Address, place_problem, translated

_PATIENCE = 5.0
"""Maximum seconds that a fork waits for transactions. Workbench limit: they take milliseconds unless another process locks."""


class _Gate:
    """Open transactions, by thread; closed while a thread forks."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._forking = 0
        self._inside: Counter[int] = Counter()

    @contextlib.contextmanager
    def transaction(self) -> Iterator[None]:
        me = threading.get_ident()
        with self._changed:
            # A thread that is in a transaction already continues, since the fork waits for it.
            self._changed.wait_for(lambda: not self._forking or me in self._inside)
            self._inside[me] += 1
        try:
            yield
        finally:
            with self._changed:
                self._inside[me] -= 1
                self._inside += Counter()  # without those at 0
                self._changed.notify_all()

    def before_fork(self) -> None:
        me = threading.get_ident()
        with self._changed:
            self._forking += 1
            self._changed.wait_for(lambda: self._inside.keys() <= {me}, _PATIENCE)

    def after_in_parent(self) -> None:
        with self._changed:
            self._forking -= 1
            self._changed.notify_all()

    def after_in_child(self) -> None:
        # New objects: the threads inside, and the lock's owner, are the parent's.
        self._changed, self._forking, self._inside = threading.Condition(), 0, Counter()


_gate = _Gate()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_gate.before_fork,
        after_in_parent=_gate.after_in_parent,
        after_in_child=_gate.after_in_child,
    )


def transaction() -> contextlib.AbstractContextManager[None]:
    """A block during which no fork starts; a fork waits for a thread inside it.

    SQLite keeps its locks in the memory of the process, which the child inherits unchanged. A child forked during another
    thread's transaction would take the lock for one of its connections' locks, and would always find the database locked.
    """
    return _gate.transaction()


_THREADS = 4
_WRITE = "workbench_write"
_File = tuple[int, int]
"""A file regardless of its name: its device and its number there."""
_PARENTS: list[Engine] = []
"""Engines inherited through a fork: their connections are the parent's, and must not even be closed here."""


class Database:
    """An open database with the workbench's tables, up to date.

    Reads and writes are short transactions. Callable from any thread; after a fork the child opens new connections.

    Args:
        address: Its address.
        timeout: Seconds to wait for another process's lock, or for a server to respond.

    Raises:
        StoreError: It cannot be opened, or its tables are newer than this release.
    """

    def __init__(self, address: Address, timeout: float) -> None:
        self.address = address
        self._timeout = timeout
        self._closed = False
        self._file: _File | None = None
        self._start()
        with contextlib.ExitStack() as undo:
            undo.callback(self.close)
            self._open()
            self._file = _file_at(self.address.path)
            undo.pop_all()

    def _start(self) -> None:
        self._pid = os.getpid()
        # One connection contains a database in memory, so one thread at a time may use it.
        self._turn: contextlib.AbstractContextManager[Any] = (
            threading.RLock() if self.address.memory else contextlib.nullcontext()
        )
        self._threads = ThreadPoolExecutor(_THREADS, thread_name_prefix="workbench-store")
        with translated(self.address, "the database cannot be opened"):
            self._engine = _engine(self.address, self._timeout)
        self._end = weakref.finalize(self, _dispose, self._engine, self._threads, self._pid)

    def _open(self) -> None:
        if self.address.path is not None and (problem := place_problem(self.address.path)) is not None:
            raise StoreError(problem[0], where=self.address.shown, hint=problem[1])
        with self._placed():
            with self.reading() as connection:
                version = schema.version_of(connection)
                # Before anything is changed: a newer release's store must stay unchanged.
                schema.refuse_newer(version)
                _check_encoding(connection)
            if self.address.is_sqlite:
                self._use_log()
            if version != schema.VERSION:
                with self.writing() as connection:
                    schema.prepare(connection)

    @contextlib.contextmanager
    def _placed(self) -> Iterator[None]:
        """Add the store's address to errors that lack it."""
        try:
            yield
        except StoreError as error:
            place = error.where or self.address.shown
            raise StoreError(
                error.what, where=place, found=error.found, expected=error.expected, hint=error.hint
            ) from None

    def _use_log(self) -> None:
        """Turn on the write-ahead log: readers and a writer do not wait for each other.

        The switch needs the file alone and does not wait for it, so it is tried again until the time is up.
        """
        end = time.monotonic() + self._timeout
        with translated(self.address, "the database cannot be opened"):
            while not self._switched(last=time.monotonic() > end):
                time.sleep(0.01)

    def _switched(self, *, last: bool) -> bool:
        with self.engine.connect() as connection:
            raw: Any = connection.connection.driver_connection
            try:
                # The mode stays with the file, so one that was switched before needs nothing.
                if raw.execute("PRAGMA journal_mode").fetchone()[0] == "delete":
                    raw.execute("PRAGMA journal_mode=WAL")
            except sqlite3.OperationalError as error:
                if last or error.sqlite_errorname != "SQLITE_BUSY":
                    raise
                return False
            return True

    @property
    def engine(self) -> Engine:
        """The engine of this process.

        Raises:
            StoreError: The store is closed, or it was in another process's memory.
        """
        if self._closed:
            raise StoreError("the store is closed", where=self.address.shown, hint="open it again")
        if self._pid != os.getpid():
            self._after_fork()
        if lost := self.lost:
            # SQLite would continue writing into a file that has no name any more.
            raise StoreError(
                f"the store's file {lost}: nothing more can be stored in it", where=self.address.shown,
                hint="put the file back, or open the store again; a Workbench does when its cell runs again",
            )  # fmt: skip
        return self._engine

    @property
    def lost(self) -> str:
        """What happened to the file that was opened, if it is no longer there; "" where it is."""
        if self._file is None or (current := _file_at(self.address.path)) == self._file:
            return ""
        return "is gone" if current is None else "was replaced by another one"

    def _after_fork(self) -> None:
        if self.address.memory:
            raise StoreError(
                "a store in memory stays in the process that opened it", where=self.address.shown,
                hint="use a file: open_store('workbench.db')",
            )  # fmt: skip
        _PARENTS.append(self._engine)
        self._end.detach()
        self._start()

    @contextlib.contextmanager
    def reading(self) -> Iterator[Connection]:
        """A connection for reads that belong together."""
        with translated(self.address, "the store cannot be read"):
            engine = self.engine  # first: a fork copies new locks
            with self._turn, transaction(), engine.connect() as connection:
                yield connection

    @contextlib.contextmanager
    def writing(self) -> Iterator[Connection]:
        """A transaction, committed at the end of the block; nothing of it remains when the block raises."""
        with translated(self.address, "the store cannot be written"):
            engine = self.engine.execution_options(**{_WRITE: True})
            with self._turn, transaction(), engine.begin() as connection:
                yield connection

    def submit(self, work: Callable[..., Any], *arguments: Any) -> Future[Any]:
        """Run `work` on one of the store's threads.

        Raises:
            StoreError: The store is closed.
        """
        _ = self.engine  # after a fork: with threads of this process
        try:
            return self._threads.submit(work, *arguments)
        except RuntimeError:
            raise StoreError("the store is closed", where=self.address.shown, hint="open it again") from None

    def close(self) -> None:
        """Wait for what is being written, and close the database. A second call does nothing."""
        if self._closed:
            return
        self._closed_threads()
        self._closed = True
        self._end()

    def _closed_threads(self) -> None:
        if self._pid == os.getpid():
            self._threads.shutdown(wait=True)


def _file_at(path: Path | None) -> _File | None:
    """Which file is at a path: another one there has another number."""
    try:
        status = None if path is None else path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return None
    return None if status is None else (status.st_dev, status.st_ino)


def _dispose(engine: Engine, threads: ThreadPoolExecutor, pid: int) -> None:
    # In a fork these are the parent's threads and connections.
    if pid == os.getpid():
        threads.shutdown(wait=False)
        engine.dispose()


def _engine(address: Address, timeout: float) -> Engine:
    if not address.is_sqlite:
        return _server_engine(address, timeout)
    # A database in memory exists in its one connection; another connection would open an empty one.
    pool = StaticPool if address.memory else QueuePool
    arguments = {"timeout": timeout, "check_same_thread": False}
    engine = sa.create_engine(address.url, hide_parameters=True, poolclass=pool, connect_args=arguments)
    sa.event.listen(engine, "connect", _set_up)
    sa.event.listen(engine, "begin", _begin)
    return engine


def _server_engine(address: Address, timeout: float) -> Engine:
    settings = _server_settings(address, timeout)
    # Pinged first: a server that was restarted leaves dead connections in the pool.
    engine = sa.create_engine(address.url, hide_parameters=True, pool_pre_ping=True, connect_args=settings)

    def limit_waiting(connection: Any, _: Any) -> None:
        with connection.cursor() as cursor:
            cursor.execute(f"SET lock_timeout = {max(1, round(timeout * 1000))}")
        # A rollback would undo the SET, and the pool rolls back every connection that is returned.
        connection.commit()

    if address.url.get_backend_name() == "postgresql":
        sa.event.listen(engine, "connect", limit_waiting)
    return engine


def _server_settings(address: Address, timeout: float) -> dict[str, Any]:
    """Settings of libpq that the address does not set; other drivers have different ones."""
    if address.url.get_driver_name() != "psycopg":
        return {}
    settings = {
        "connect_timeout": max(2, round(timeout)),
        # Otherwise a server that vanished silently would be waited for for hours.
        "tcp_user_timeout": max(2, round(timeout)) * 1000,
        "application_name": "grader-workbench",
    }
    return {name: value for name, value in settings.items() if name not in address.url.query}


def _set_up(connection: Any, _: Any) -> None:
    connection.isolation_level = None  # `_begin` issues BEGIN itself
    # NORMAL: with the write-ahead log a commit outlives a killed process, and does not wait for the disk.
    for pragma in ("synchronous=NORMAL", "foreign_keys=ON"):
        connection.execute(f"PRAGMA {pragma}")


def _begin(connection: Connection) -> None:
    # A write takes its lock at the start: one that reads first could find the database changed under it.
    write = connection.get_execution_options().get(_WRITE)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if write else "BEGIN")


def _check_encoding(connection: Connection) -> None:
    if connection.dialect.name != "postgresql":
        return
    encoding = connection.exec_driver_sql("SHOW server_encoding").scalar()
    if encoding != "UTF8":
        raise StoreError(
            "the database cannot store every text", found=f"encoding {encoding}", expected="encoding UTF8",
            hint="CREATE DATABASE ... ENCODING 'UTF8' TEMPLATE template0",
        )  # fmt: skip


Item = TypeVar("Item")
Result = TypeVar("Result")
Work = Callable[[Sequence[Item]], Sequence[Result | Exception]]


class Batches(Generic[Item, Result]):
    """Collects the items that coroutines submit, and processes them in batches.

    Items submitted within one turn of the event loop make one batch; items that arrive while a batch is in progress make
    the next, which does not wait for the loop. Each event loop has separate batches, dropped with it.

    Args:
        work: Makes a result of each item, in order; runs on another thread. An exception among the results is
            raised to the submitter of that item; one that it raises, to all of the batch.
        submit: Runs a function there.
        at_once: Do not wait for the end of the loop's turn, which may be long if many replies arrived together: process
            the available items as soon as a thread is free, in more and smaller batches.
    """

    def __init__(
        self, work: Work[Item, Result], submit: Callable[..., Future[Any]], *, at_once: bool = False
    ) -> None:
        self._work, self._submit, self._at_once = work, submit, at_once
        self._queues: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, _Queue[Item, Result]]
        self._queues = weakref.WeakKeyDictionary()

    async def add(self, item: Item) -> Result:
        """The result of an item. A caller that is cancelled does not stop the work."""
        loop = asyncio.get_running_loop()
        queue = self._queues.get(loop)
        if queue is None:
            queue = self._queues[loop] = _Queue(self._work, self._submit, at_once=self._at_once)
        return await queue.add(loop, item)


class _Queue(Generic[Item, Result]):
    """The batches of one event loop. It has no reference to the loop, which is its weak key."""

    def __init__(
        self, work: Work[Item, Result], submit: Callable[..., Future[Any]], *, at_once: bool
    ) -> None:
        self._work, self._submit, self._at_once = work, submit, at_once
        self._lock = threading.Lock()  # over the three below, which the loop and one thread share
        self._items: list[Item] = []
        self._waiting: list[asyncio.Future[Result]] = []
        self._busy = False

    def add(self, loop: asyncio.AbstractEventLoop, item: Item) -> asyncio.Future[Result]:
        future: asyncio.Future[Result] = loop.create_future()
        with self._lock:
            self._items.append(item)
            self._waiting.append(future)
            is_first, self._busy = not self._busy, True
        if is_first and self._at_once:
            self._start(loop)
        elif is_first:
            # Items that other coroutines submit during this turn of the loop join the batch.
            loop.call_soon(self._start, loop)
        return future

    def _start(self, loop: asyncio.AbstractEventLoop) -> None:
        try:
            self._submit(self._run, loop)
        except StoreError as error:  # passed to the waiting coroutines
            _, waiting = self._take()
            with self._lock:
                self._busy = False
            _deliver(waiting, error)

    def _take(self) -> tuple[list[Item], list[asyncio.Future[Result]]]:
        """The items submitted meanwhile; the queue is no longer busy if there are none."""
        with self._lock:
            items, waiting = self._items, self._waiting
            self._items, self._waiting, self._busy = [], [], bool(items)
        return items, waiting

    def _run(self, loop: asyncio.AbstractEventLoop) -> None:
        """Process batch after batch until there is none left."""
        while True:
            items, waiting = self._take()
            if not items:
                return
            done: Future[Sequence[Result | Exception]] = Future()
            settle(done, partial(self._work, items))
            outcome = done.exception() or done.result()
            with contextlib.suppress(RuntimeError):  # the loop was closed meanwhile, so nothing waits
                loop.call_soon_threadsafe(_deliver, waiting, outcome)


def _deliver(
    waiting: Sequence[asyncio.Future[Result]], outcome: Sequence[Result | Exception] | BaseException
) -> None:
    results = [outcome] * len(waiting) if isinstance(outcome, BaseException) else outcome
    for future, result in zip(waiting, results, strict=True):
        if future.done():
            continue  # its caller was cancelled
        if isinstance(result, BaseException):
            future.set_exception(copy.copy(result))  # one traceback each
        else:
            future.set_result(result)
