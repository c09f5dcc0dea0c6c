"""One database: connections, transactions, and the threads that asynchronous callers wait for."""

from __future__ import annotations

import contextlib
import os
import sqlite3
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection, Engine
from sqlalchemy.pool import QueuePool, StaticPool

from workbench.store import schema
from workbench.store.address import Address
from workbench.store.errors import StoreError, place_problem, translated
from workbench.store.forking import transaction

__all__ = ["Database"]

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
        try:
            self._open()
            self._file = _file_at(self.address.path)
        except BaseException:
            self.close()
            raise

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
