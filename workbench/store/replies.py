"""Judges' replies by the key of their request, so that none is paid for twice, also by two processes on one store.

While a process waits for a reply it has a lease on the request: a row with the key, its owner, and the time at which it
expires by the database's own clock. The owner renews its leases while it waits. A lease that has expired, or that expires
later than a new one would (the clock was set back), is void: the next claim takes it over.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
import math
import os
import uuid
import weakref
from collections.abc import Sequence
from typing import Any, NamedTuple

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from workbench.core.errors import StoreError
from workbench.core.python_text import cached_property
from workbench.judges.protocol import Reply, Usage
from workbench.store.database import Batches, Database
from workbench.store.schema import count_or_none, from_json, leases, now, read, replies, storable, to_json

LEASE_SECONDS = 20.0
"""Seconds until a lease expires that is not renewed. Workbench limit: longer than a busy event loop is blocked; a process
that was killed delays others by this time."""
RENEW_SECONDS = 4.0
"""Seconds between two renewals of a process that waits for replies."""
_CHUNK = 500
"""Maximum keys of one SELECT; SQLite before 3.32 takes 999 values, Oracle 1,000."""
_CLOCKS: dict[str, sa.ColumnElement[float]] = {
    "sqlite": sa.literal_column("((julianday('now') - 2440587.5) * 86400.0)", sa.Double),
    "postgresql": sa.cast(sa.extract("epoch", sa.func.clock_timestamp()), sa.Double),
}
"""Seconds since 1970 by the clock of each database that has leases; on others each process sends its own request."""


class Leases:
    """The leases of one open store."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._clock = _CLOCKS.get(database.engine.dialect.name)
        self._numbers = itertools.count()
        self._own: dict[str, int] = {}
        self._released: dict[str, int] = {}
        self._releasing: set[asyncio.Future[None]] = set()
        self._renewing: weakref.WeakSet[asyncio.AbstractEventLoop] = weakref.WeakSet()
        self._name, self._process = "", 0
        self._claims: Batches[str, bool] = Batches(self._claim, database.submit)
        self._releases: Batches[str, None] = Batches(self._release, database.submit)

    async def claim(self, key: str) -> bool:
        """Whether the caller is to send the request: no reply is stored under the key, and no other process sends it.

        Raises:
            StoreError: The database failed.
        """
        loop = asyncio.get_running_loop()
        claiming = loop.create_task(self._claims.add(key))
        try:
            # Shielded: a cancelled caller's claim is made nevertheless, and has to be released.
            granted = await asyncio.shield(claiming)
        except asyncio.CancelledError:
            claiming.add_done_callback(lambda done: self._give_back(done, key))
            raise
        if granted and loop not in self._renewing:
            self._renewing.add(loop)
            loop.call_later(RENEW_SECONDS, self._renew_on, loop)
        return granted

    def _give_back(self, claiming: asyncio.Task[bool], key: str) -> None:
        if not claiming.cancelled() and claiming.exception() is None and claiming.result():
            self.release(key)

    def release(self, key: str) -> None:
        """Release the lease of a request that got no reply. Does not wait; a store that fails is tried again."""
        number = self._own.pop(key, None)
        if number is not None:
            self._released[key] = number
            releasing = asyncio.ensure_future(self._releases.add(key))
            self._releasing.add(releasing)  # asyncio itself has no strong reference to a task
            releasing.add_done_callback(self._after_release)

    def _after_release(self, done: asyncio.Future[None]) -> None:
        self._releasing.discard(done)
        if not done.cancelled():
            done.exception()  # a store that failed: `put` reports it

    def close(self) -> None:
        """Delete all leases of this store, so that no process waits for them."""
        if self._process == os.getpid():
            with contextlib.suppress(StoreError), self._database.writing() as connection:
                connection.execute(leases.delete().where(leases.c.owner == self._name))

    def settle(self, connection: Connection, keys: Sequence[str]) -> None:
        """Delete the leases of replies, in the transaction that writes these."""
        _delete(connection, self._own.keys() & set(keys))

    def settled(self, keys: Sequence[str]) -> None:
        """Forget these: the transaction of `settle` is committed."""
        for key in keys:
            self._own.pop(key, None)

    def _owner(self) -> str:
        if self._process != os.getpid():
            # In a fork the leases are the parent's.
            self._name, self._process = uuid.uuid4().hex, os.getpid()
            self._own, self._released, self._renewing = {}, {}, weakref.WeakSet()
        return self._name

    def _renew_on(self, loop: asyncio.AbstractEventLoop) -> None:
        try:
            if self._own or self._released:
                self._database.submit(self._renew)
                loop.call_later(RENEW_SECONDS, self._renew_on, loop)
                return
        except StoreError:
            pass  # closed or lost: `put` reports it
        self._renewing.discard(loop)

    def _renew(self) -> None:
        # Errors are ignored: the next renewal tries again, and others send the requests if the store stays unavailable.
        assert self._clock is not None
        with self._database.writing() as connection:
            renewed = leases.update().values(expires=self._clock + LEASE_SECONDS)
            connection.execute(renewed.where(leases.c.owner == self._owner()))
        self._delete_released()

    def _claim(self, keys: Sequence[str]) -> Sequence[bool]:
        if self._clock is None:
            return [True] * len(keys)
        self._delete_released()
        # In one order everywhere, or two processes could wait for each other.
        unique = sorted(set(keys))
        own, number = self._owner(), next(self._numbers)
        with self._database.writing() as connection:
            rows = [{"key": key, "owner": own, "number": number} for key in unique]
            connection.execute(_takes_void(connection, self._clock), rows)
            found = _leases_of(connection, unique)
            mine = {row.key for row in found if (row.owner, row.number) == (own, number)}
            stored = {row.key for row in found if row.stored is not None}
            _delete(connection, mine & stored)
        self._own.update(dict.fromkeys(mine - stored, number))
        # Of equal keys in one batch the first gets it.
        granted = {key: place for place, key in reversed(list(enumerate(keys))) if key in mine - stored}
        return [granted.get(key) == place for place, key in enumerate(keys)]

    def _release(self, keys: Sequence[str]) -> Sequence[None]:
        self._delete_released()
        return [None] * len(keys)

    def _delete_released(self) -> None:
        """Delete released leases, also after an earlier failure of the store."""
        if not self._released:
            return
        # In a separate transaction: one that also inserts could wait for a process that waits for it.
        released = dict(self._released)
        rows = [{"done": key, "count": number} for key, number in sorted(released.items())]
        own = (leases.c.owner == self._owner(), leases.c.number == sa.bindparam("count"))
        with self._database.writing() as connection:
            connection.execute(leases.delete().where(leases.c.key == sa.bindparam("done"), *own), rows)
        for key, number in released.items():
            if self._released.get(key) == number:
                del self._released[key]


def _takes_void(connection: Connection, clock: sa.ColumnElement[float]) -> Any:
    """The statement that takes a lease on each key that has none, or a void one."""
    insert = _insert_of(connection)
    assert insert is not None  # only databases with a clock in `_CLOCKS` have leases
    statement = insert(leases).values(expires=clock + LEASE_SECONDS)
    taken = {name: statement.excluded[name] for name in ("owner", "number", "expires")}
    is_void = ~leases.c.expires.between(clock, clock + LEASE_SECONDS)
    return statement.on_conflict_do_update(index_elements=["key"], set_=taken, where=is_void)


def _insert_of(connection: Connection) -> Any:
    """The insert statement of a database that has upserts; None for others."""
    # Imported only if needed: PostgreSQL's dialect alone takes a tenth of a second.
    if connection.dialect.name == "sqlite":
        from sqlalchemy.dialects.sqlite import insert
    elif connection.dialect.name == "postgresql":
        from sqlalchemy.dialects.postgresql import insert  # type: ignore[assignment]
    else:
        return None
    return insert


def _leases_of(connection: Connection, keys: Sequence[str]) -> list[Any]:
    """The leases on these keys, each with `stored`: its key if a reply is stored, else None."""
    columns = (leases.c.key, leases.c.owner, leases.c.number, replies.c.key.label("stored"))
    query = sa.select(*columns).select_from(leases.outerjoin(replies, replies.c.key == leases.c.key))
    chunks = (keys[start : start + _CHUNK] for start in range(0, len(keys), _CHUNK))
    return [row for chunk in chunks for row in connection.execute(query.where(leases.c.key.in_(chunk)))]


def _delete(connection: Connection, keys: set[str]) -> None:
    if keys:
        rows = [{"done": key} for key in sorted(keys)]
        connection.execute(leases.delete().where(leases.c.key == sa.bindparam("done")), rows)


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

    def forget(self, key: str) -> None:
        """Delete a reply, without waiting: no judge could parse it, so that its request is sent again."""
        with contextlib.suppress(StoreError):
            self._database.submit(self._delete, key)

    def _delete(self, key: str) -> None:
        with self._database.writing() as connection:
            connection.execute(replies.delete().where(replies.c.key == key))

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
    insert = _insert_of(connection)
    if insert is None:  # SQL has no upsert that all databases support: delete and insert
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
