"""Judges' replies by the key of their request, so that none is paid for twice."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from workbench.core.cached import cached_property
from workbench.core.errors import StoreError
from workbench.judges.protocol import Reply, Usage
from workbench.store.database import Batches, Database
from workbench.store.leases import Leases
from workbench.store.schema import count_or_none, from_json, now, read, replies, storable, to_json

_CHUNK = 500
"""Maximum keys of one SELECT; SQLite before 3.32 takes 999 values, Oracle 1,000."""
_SIZES = (1, 4, 16, 64, 128, 256, _CHUNK)
"""Lengths of the lists in statements: a shorter list is filled up, so that few statements serve all."""


class _Row(NamedTuple):
    key: str
    values: dict[str, Any]


class Replies:
    """Replies stored in a database: `get`, `put`, `claim` and `release` for judges, the rest for users.

    Those four must be called on an event loop, any one; calls made together become one statement or one transaction
    on one of the store's threads.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._leases = Leases(database)
        self._gets: Batches[str, Reply | None] = Batches(self._read, database.submit)
        self._puts: Batches[_Row, None] = Batches(self._write, database.submit, at_once=True)

    async def get(self, key: str) -> Reply | None:
        """The reply under a key, None if there is none.

        Raises:
            StoreError: The database failed, or the key is invalid.
        """
        _check_key(key)
        return await self._gets.add(key)

    async def put(self, key: str, reply: Reply, *, model: str) -> None:
        """Store a reply, replacing an earlier one; returns when it is committed.

        If the caller is cancelled meanwhile, the reply is stored nevertheless: it was paid for.

        Raises:
            StoreError: The database failed, or `raw` contains a value that JSON does not support.
        """
        _check_key(key)
        await self._puts.add(_Row(key, _values(key, reply, model)))

    async def claim(self, key: str) -> bool:
        """Whether the caller is to request this reply: it is not stored, and no process on this store is requesting it.

        False: get it, and if it is still missing, claim it again a little later. A claim ends with `put`, with
        `release`, or when it was not renewed for 20 seconds.

        Raises:
            StoreError: The database failed, or the key is invalid.
        """
        _check_key(key)
        return await self._leases.claim(key)

    def release(self, key: str) -> None:
        """Release a claim whose request got no reply, if there is one. Must be called on the event loop."""
        self._leases.release(key)

    def leave(self) -> None:
        """Release all claims, as the store is being closed."""
        self._leases.close()

    def count(self, model: str | None = None) -> int:
        """The number of stored replies, of one model or of all."""
        with self._database.reading() as connection:
            return int(
                connection.execute(
                    sa.select(sa.func.count()).select_from(replies).where(*_of(model))
                ).scalar_one()
            )

    def clear(self, model: str | None = None) -> int:
        """Delete the replies of one model, or all; returns how many there were."""
        with self._database.writing() as connection:
            return connection.execute(replies.delete().where(*_of(model))).rowcount

    def __len__(self) -> int:
        return self.count()

    def __repr__(self) -> str:
        return f"Replies in {self._database.address.shown}"

    def _read(self, keys: Sequence[str]) -> Sequence[Reply | Exception | None]:
        replies_by_key: dict[str, Reply | Exception] = {}
        unique = list(dict.fromkeys(keys))
        with self._database.reading() as connection:
            for start in range(0, len(unique), _CHUNK):
                chunk = unique[start : start + _CHUNK]
                statement, names = self._selects[next(size for size in _SIZES if size >= len(chunk))]
                # The last key again and again: that changes nothing in a list of keys.
                filled = chunk + chunk[-1:] * (len(names) - len(chunk))
                parameters = tuple(filled) if self._positional else dict(zip(names, filled, strict=True))
                for key, text, rest in connection.exec_driver_sql(statement, parameters).all():
                    replies_by_key[key] = _reply(text, rest)
        return [replies_by_key.get(key) for key in keys]

    @cached_property
    def _positional(self) -> bool:
        return bool(self._database.engine.dialect.positional)

    @cached_property
    def _selects(self) -> dict[int, tuple[str, list[str]]]:
        """The statement for each size and its parameters' names, compiled once."""
        return {size: self._select(size) for size in _SIZES}

    def _select(self, size: int) -> tuple[str, list[str]]:
        names = [f"k{number}" for number in range(size)]
        keys = sa.or_(replies.c.key.in_([sa.bindparam(name, type_=sa.String) for name in names]))
        query = sa.select(replies.c.key, replies.c.text, replies.c.rest).where(keys)
        return str(query.compile(dialect=self._database.engine.dialect)), names

    def _write(self, rows: Sequence[_Row]) -> Sequence[None]:
        # One row per key, the last; in one order everywhere, or two processes could wait for each other.
        last = {row.key: row.values for row in rows}
        values = [last[key] for key in sorted(last)]
        with self._database.writing() as connection:
            _upsert(connection, values)
            self._leases.settle(connection, sorted(last))
        self._leases.settled(sorted(last))
        return [None] * len(rows)


def _upsert(connection: Connection, values: list[dict[str, Any]]) -> None:
    insert: Any
    # Imported only if needed: PostgreSQL's dialect alone takes a tenth of a second.
    if connection.dialect.name == "sqlite":
        from sqlalchemy.dialects.sqlite import insert
    elif connection.dialect.name == "postgresql":
        from sqlalchemy.dialects.postgresql import insert
    else:  # SQL has no upsert that all databases support: delete and insert
        keys = [row["key"] for row in values]
        connection.execute(replies.delete().where(replies.c.key.in_(keys)))
        connection.execute(replies.insert(), values)
        return
    statement: Any = insert(replies)
    changed = {name: statement.excluded[name] for name in replies.c.keys() if name != "key"}  # noqa: SIM118 (columns, no dict)
    connection.execute(statement.on_conflict_do_update(index_elements=["key"], set_=changed), values)


def _of(model: str | None) -> list[sa.ColumnElement[bool]]:
    return [] if model is None else [replies.c.model == storable(model)]


def _check_key(key: str) -> None:
    if not (isinstance(key, str) and 0 < len(key) <= 255 and key.isascii() and key.isprintable()):
        raise StoreError(
            "a reply's key must be 1 to 255 printable ASCII characters", found=repr(key)[:80],
            hint="workbench.judges.cache.content_key creates one",
        )  # fmt: skip


def _values(key: str, reply: Reply, model: str) -> dict[str, Any]:
    usage = reply.usage
    usage_fields = None if usage is None else vars(usage)
    return {
        "key": key,
        "model": storable(model),
        "text": storable(reply.text),
        "rest": to_json([dict(reply.raw), usage_fields]),
        "tokens": None if usage is None else count_or_none(usage.tokens),
        "cost": None if usage is None or usage.cost is None or not math.isfinite(usage.cost) else usage.cost,
        "at": now(),
    }


def _reply(text: str, rest: str) -> Reply | StoreError:
    """The reply of a row; one that cannot be read is an error for its own key only."""
    try:
        # Most rows contain no escaped text, and can do without `read`.
        raw, usage = json.loads(rest) if rest[0] == "[" else from_json(rest)
        return Reply(read(text), None if usage is None else Usage(**usage), raw)
    except (ValueError, TypeError, LookupError) as error:
        return StoreError(
            "a stored reply cannot be read", found=f"{type(error).__name__}: {error}"[:200],
            hint="the database was modified outside the workbench, or is damaged; replies.clear() deletes the replies",
        )  # fmt: skip
