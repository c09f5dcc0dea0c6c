"""A store's address (a file, or the URL of a database server, shown without its password), and its errors in plain words."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote, quote_plus

from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, NoSuchModuleError

from workbench.core.display_text import one_line
from workbench.core.errors import StoreError

_FILES = (".db", ".sqlite", ".sqlite3")
_EXPECTED = '"workbench.db", "sqlite:///workbench.db" or "postgresql://user@host/database"'
_POSTGRES = frozenset({"postgresql", "postgres"})
_SECRET = re.compile(r"pass|secret|token|key", re.IGNORECASE)
"""Parameters of a URL whose values are secret."""
_NO_PORT = re.compile(r":(?!\d+(?:/|\Z)).*", re.DOTALL)


@dataclass(frozen=True)
class Address:
    """A database's address.

    Attributes:
        url: As SQLAlchemy takes it.
        path: The file, for a database in one.
        memory: Whether it is in this process's memory.
    """

    url: URL = field(repr=False)
    path: Path | None = None
    memory: bool = False

    @property
    def shown(self) -> str:
        """The address without secrets."""
        query = {name: "***" if _SECRET.search(name) else value for name, value in self.url.query.items()}
        masked_url = self.url.set(query=query, username="***" if self._odd_user else self.url.username)
        # Rendering quotes the stars, too.
        text = masked_url.render_as_string(hide_password=True).replace("%2A%2A%2A", "***")
        for spelling in {self._odd_database, quote(self._odd_database, safe=" +/")} - {""}:
            text = text.replace(spelling, "***")
        return text

    @property
    def _odd_user(self) -> str:
        """The user name if it contains an @: half of it may be a password. "" elsewhere."""
        user = self.url.username or ""
        return user if "@" in user else ""

    @property
    def _odd_database(self) -> str:
        """A server's database up to the last @ in it, which may contain a misplaced login; "" elsewhere."""
        return "" if self.is_sqlite else (self.url.database or "").rpartition("@")[0]

    @property
    def is_sqlite(self) -> bool:
        """Whether it is SQLite's."""
        return self.url.get_backend_name() == "sqlite"

    def masked(self, text: str) -> str:
        """A text without this address's secrets."""
        values = [
            secret
            for name, value in self.url.query.items()
            if _SECRET.search(name)
            for secret in _each(value)
        ]
        values += [self.url.password or "", self._odd_user, self._odd_database]
        secrets = list(filter(None, values))
        # A driver's message has a secret as typed, or as in the URL.
        for spelling in {encode(secret) for secret in secrets for encode in (str, quote, quote_plus)}:
            text = text.replace(spelling, "***")
        return text


def _each(value: str | tuple[str, ...]) -> tuple[str, ...]:
    """The values of a parameter; one given twice is a tuple. `URL.normalized_query` fails in SQLAlchemy 2.0.0."""
    return (value,) if isinstance(value, str) else value


def parse(where: str | os.PathLike[str]) -> Address:
    """The address for a user's input.

    Args:
        where: An SQLAlchemy URL; a path, or text that ends like a database file. A relative path is resolved once
            against the current working directory.

    Raises:
        StoreError: Neither, or a driver that is not installed or asynchronous, or a NUL character, which is invalid in
            paths.
    """
    _refuse_nul(where)
    if isinstance(where, os.PathLike) or (
        isinstance(where, str) and "://" not in where and where.lower().endswith(_FILES)
    ):
        return _file(URL.create("sqlite", database=os.fspath(where)), os.fspath(where))
    url = _url(where)
    if url.drivername in _POSTGRES:
        # SQLAlchemy maps "postgresql" alone to psycopg2, and rejects "postgres", the form that providers use.
        url = url.set(drivername="postgresql+psycopg")
    _check_driver(url)
    return _sqlite(url) if url.get_backend_name() == "sqlite" else Address(url)


def _refuse_nul(where: object) -> None:
    typed = os.fspath(where) if isinstance(where, os.PathLike) else where
    if isinstance(typed, str) and ("\0" in typed or "%00" in typed):
        shown = _without_password(typed).replace("\0", "\\0")
        raise StoreError(
            "the address of a database contains a NUL character", found=shown[:200], expected=_EXPECTED
        )


def _url(where: Any) -> URL:
    try:
        if isinstance(where, str | URL):
            return make_url(where)
    except (ArgumentError, ValueError):
        pass  # their messages may contain the password
    typed = where if isinstance(where, str) else type(where).__name__
    raise StoreError(
        "this is not a database address", found=_without_password(typed)[:200], expected=_EXPECTED
    ) from None


def _without_password(typed: str) -> str:
    """An invalid address without what may be a password: all before the last @, and a port that is not a number."""
    scheme, _, rest = typed.partition(":")
    if "@" in scheme:
        return f"***@{scheme.rpartition('@')[2]}"
    if not rest.startswith("//"):
        return f"{scheme}:***" if rest else typed
    _, at, place = rest[2:].rpartition("@")
    host, question, _ = place.partition("?")
    host = _NO_PORT.sub(":***", host)
    return f"{scheme}://{'***@' if at else ''}{host}{'?***' if question else ''}"


def _check_driver(url: URL) -> None:
    extra = "postgres" if url.get_backend_name() == "postgresql" else ""
    hint = f"pip install 'grader-workbench[{extra}]'" if extra else "install its driver"
    try:
        url.get_dialect().import_dbapi()
        asynchronous = url.get_dialect().is_async
    except (NoSuchModuleError, ImportError) as error:
        raise StoreError(
            "the driver for this database is not installed", where=Address(url).shown, found=str(error)[:200], hint=hint
        ) from None  # fmt: skip
    if asynchronous:
        raise StoreError(
            "the driver in the address is an asynchronous one", where=Address(url).shown, found=url.drivername,
            hint=f"omit it: {url.get_backend_name()}://...",
        )  # fmt: skip


def _sqlite(url: URL) -> Address:
    name = url.database or ""
    if name in ("", ":memory:") or url.query.get("mode") == "memory":
        return Address(url, memory=True)
    # A URI in SQLite's format, which need not name a file.
    return Address(url) if name.startswith("file:") else _file(url, name)


def _file(url: URL, name: str) -> Address:
    path = Path(name).expanduser().absolute()
    return Address(url.set(database=str(path)), path=path)


class LabelledSinceError(StoreError):
    """A label cannot be undone: another was stored after it. Nothing was changed."""


_SQLITE = (
    (
        "SQLITE_NOTADB",
        "the file is not an SQLite database",
        "name another file; the store creates a missing one",
    ),
    (
        "SQLITE_CORRUPT",
        "the database file is damaged",
        "make a copy of it, then try `sqlite3 FILE .recover`; or move it away and start a new store",
    ),
    ("SQLITE_BUSY", "the database is locked by another process", "wait for it to end, or raise timeout="),
    ("SQLITE_LOCKED", "the database is locked", "wait for the other work on it to end, or raise timeout="),
    (
        "SQLITE_FULL",
        "the disk is full, or the database has reached its size limit",
        "free space; everything confirmed before is stored",
    ),
    (
        "SQLITE_READONLY",
        "the database is read-only",
        "give yourself the right to write the file and its folder, or open a copy",
    ),
    (
        "SQLITE_CANTOPEN",
        "the database file cannot be opened",
        "choose a file in a folder you may read and write",
    ),
    (
        "SQLITE_PERM",
        "the database file may not be opened",
        "choose a file in a folder you may read and write",
    ),
    ("SQLITE_IOERR", "the disk failed while the database was read or written", "check the disk and its room"),
    ("SQLITE_TOOBIG", "a text is too large for the database", "store it elsewhere"),
)
"""SQLite's result codes (their common prefix), what they mean here, and the next step."""

_SERVER = (
    ("password authentication failed", "the database server rejected the password", "correct the password"),
    ("no password supplied", "the database server requires a password", "put it into the address, or into PGPASSWORD"),
    ("does not exist", "the database server has no such database, user or table", "create it, or correct the address"),
    ("Connection refused", "no database server listens there", "start it, or correct host and port"),
    ("could not translate host name", "there is no such host", "correct the host in the address"),
    ("Name or service not known", "there is no such host", "correct the host in the address"),
    ("failed to resolve host", "there is no such host", "correct the host in the address"),
    ("timeout expired", "the database server did not respond in time", "check host and port, or raise timeout="),
    ("lock timeout", "locked by another process", "wait for it to end, or raise timeout="),
    ("No space left", "the server's disk is full", "free space there; everything confirmed before is stored"),
    ("permission denied", "the database user lacks a right", "grant it: the store creates and writes its own tables"),
)  # fmt: skip
"""Fragments of a server's message, what they mean here, and the next step."""

_GONE = (
    "the connection to the database server was lost",
    "check that it runs, then repeat the call: the store reconnects",
)


@contextlib.contextmanager
def translated(address: Address, doing: str = "") -> Iterator[None]:
    """Raise what a database or its driver raises as a `StoreError`.

    Args:
        address: The address to name, and whose secrets are removed from the driver's message.
        doing: The failed operation, for unknown faults.
    """
    import sqlite3

    from sqlalchemy.exc import DBAPIError, SQLAlchemyError

    try:
        yield
    except (SQLAlchemyError, sqlite3.Error, OSError) as error:
        cause = getattr(error, "orig", None) or error
        disconnected = isinstance(error, DBAPIError) and error.connection_invalidated
        # None: the driver's own error contains the address, and SQLAlchemy's the values.
        raise _explained(cause, address, doing, disconnected=disconnected) from None


def _explained(cause: BaseException, address: Address, doing: str, *, disconnected: bool) -> StoreError:
    problem, hint = _meaning(cause, address, disconnected=disconnected)
    found = address.masked(one_line(str(cause).strip() or type(cause).__name__, 300))
    return StoreError(problem or doing or "the database failed", where=address.shown, found=found, hint=hint)


def _meaning(cause: BaseException, address: Address, *, disconnected: bool) -> tuple[str, str]:
    code = getattr(cause, "sqlite_errorname", None) or ""
    path = address.path if code.startswith(("SQLITE_CANTOPEN", "SQLITE_IOERR")) else None
    if path is not None and (problem := place_problem(path)) is not None:
        return problem
    for start, what, hint in _SQLITE:
        if code.startswith(start):
            return what, hint
    text = str(cause)
    for words, what, hint in _SERVER:
        if words in text:
            return what, hint
    return _GONE if disconnected else ("", "")


def place_problem(path: Path) -> tuple[str, str] | None:
    """Why a path cannot be a database file, and the next step; None if it can."""
    if path.exists() and not path.is_file() and not path.is_dir():
        return "this is a pipe, a socket or a device, not a database file", "name a regular file"
    if path.is_dir():
        return "this is a folder, not a database file", f"name a file in it, such as {path / 'workbench.db'}"
    if not path.parent.is_dir():
        return f"there is no folder {path.parent}", "make the folder, or choose an existing one"
    return None
