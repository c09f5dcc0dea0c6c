"""A store's address: a file, or the URL of a database server, shown without its password."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote, quote_plus

from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, NoSuchModuleError

from workbench.core.errors import StoreError

__all__ = ["Address", "parse"]

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
