"""Errors of a database, with a hint; a password is never in the message."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from workbench.core.display_text import one_line
from workbench.core.errors import StoreError

if TYPE_CHECKING:
    from workbench.store.address import Address

__all__ = ["LabelledSinceError", "StoreError", "translated"]


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
