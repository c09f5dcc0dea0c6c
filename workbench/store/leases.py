"""Leases on requests, so that two processes on one store do not pay for the same reply.

A lease is a row with the key of the request, its owner, and the time at which it expires by the database's own clock. The
owner renews its leases while it waits for replies. A lease that has expired, or that expires later than a new one would
(the clock was set back), is void: the next claim takes it over.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import os
import uuid
import weakref
from collections.abc import Sequence
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from workbench.core.errors import StoreError
from workbench.store.database import Batches, Database
from workbench.store.schema import leases, replies

LEASE_SECONDS = 20.0
"""Seconds until a lease expires that is not renewed. Workbench limit: longer than a busy event loop is blocked; a process
that was killed delays others by this time."""
RENEW_SECONDS = 4.0
"""Seconds between two renewals of a process that waits for replies."""
_CHUNK = 500
_CLOCKS: dict[str, sa.ColumnElement[float]] = {
    "sqlite": sa.literal_column("((julianday('now') - 2440587.5) * 86400.0)", sa.Double),
    "postgresql": sa.cast(sa.extract("epoch", sa.func.clock_timestamp()), sa.Double),
}
"""Seconds since 1970 by the clock of each database that has leases; on others each process sends its own request."""


class Leases:
    """The leases of one open store.

    Args:
        database: The database.
    """

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
    # Imported only if needed: PostgreSQL's dialect alone takes a tenth of a second.
    insert: Any
    if connection.dialect.name == "sqlite":
        from sqlalchemy.dialects.sqlite import insert
    else:
        from sqlalchemy.dialects.postgresql import insert
    statement = insert(leases).values(expires=clock + LEASE_SECONDS)
    taken = {name: statement.excluded[name] for name in ("owner", "number", "expires")}
    is_void = ~leases.c.expires.between(clock, clock + LEASE_SECONDS)
    return statement.on_conflict_do_update(index_elements=["key"], set_=taken, where=is_void)


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
