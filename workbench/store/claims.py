"""Claims on requests, so that two processes on one store do not pay for the same reply.

A claim is void when its claimant is no longer listed among the claimants. A claimant increments a beat while it has claims.
A waiting process removes a claimant whose process has ended, or whose beat did not change for `LEASE_SECONDS` of the waiting
process's own monotonic clock. No time is ever compared with another machine's, or with a clock that can be set.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import os
import time
import uuid
import weakref
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from workbench.core.errors import StoreError
from workbench.store.database import Batches, Database
from workbench.store.schema import claimants, claims, replies

LEASE_SECONDS = 30.0
"""Seconds after which a claim without a beat expires. Workbench limit: longer than a busy event loop is blocked."""
BEAT_SECONDS = 5.0
"""Seconds between two beats of a claimant while it has claims."""
_CHUNK = 500
_DATABASES = frozenset({"sqlite", "postgresql"})
"""Databases whose INSERT can take over a void claim; on others each process sends its own request."""


class Claims:
    """The claims of one open store.

    Args:
        database: The database.
        clock: Seconds since an arbitrary moment, of this process.
    """

    def __init__(self, database: Database, clock: Callable[[], float] = time.monotonic) -> None:
        self._database, self._clock = database, clock
        self._numbers = itertools.count()
        self._held: dict[str, int] = {}
        self._left: dict[str, int] = {}
        self._releasing: set[asyncio.Future[None]] = set()
        self._beating: weakref.WeakSet[asyncio.AbstractEventLoop] = weakref.WeakSet()
        self._seen: dict[str, tuple[int, float]] = {}
        self._name, self._process, self._entered = "", 0, False
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
        if granted and loop not in self._beating:
            self._beating.add(loop)
            loop.call_later(BEAT_SECONDS, self._beat_on, loop)
        return granted

    def _give_back(self, claiming: asyncio.Task[bool], key: str) -> None:
        if not claiming.cancelled() and claiming.exception() is None and claiming.result():
            self.release(key)

    def release(self, key: str) -> None:
        """Release a claim whose request got no reply. Does not wait; a store that fails is tried again."""
        number = self._held.pop(key, None)
        if number is not None:
            self._left[key] = number
            releasing = asyncio.ensure_future(self._releases.add(key))
            self._releasing.add(releasing)  # asyncio itself has no strong reference to a task
            releasing.add_done_callback(self._released)

    def _released(self, done: asyncio.Future[None]) -> None:
        self._releasing.discard(done)
        if not done.cancelled():
            done.exception()  # a store that failed: `put` reports it

    def close(self) -> None:
        """Leave the list of claimants, so that no process waits for remaining claims."""
        retire(self._name)
        if not self._entered or self._process != os.getpid():
            return
        with contextlib.suppress(StoreError), self._database.writing() as connection:
            connection.execute(claimants.delete().where(claimants.c.name == self._name))
        self._entered = False

    def settle(self, connection: Connection, keys: Sequence[str]) -> None:
        """Delete the claims of replies, in the transaction that writes these."""
        _delete(connection, self._held.keys() & set(keys))

    def settled(self, keys: Sequence[str]) -> None:
        """Forget these: the transaction of `settle` is committed."""
        for key in keys:
            self._held.pop(key, None)

    def _own_name(self) -> str:
        if self._process != os.getpid():
            # In a fork the claims are the parent's.
            self._name, self._process, self._entered = new_claimant(), os.getpid(), False
            self._held, self._left, self._beating = {}, {}, weakref.WeakSet()
        return self._name

    def _beat_on(self, loop: asyncio.AbstractEventLoop) -> None:
        try:
            if self._held or self._left:
                self._database.submit(self._beat)
                loop.call_later(BEAT_SECONDS, self._beat_on, loop)
                return
        except StoreError:
            pass  # closed or lost: `put` reports it
        self._beating.discard(loop)

    def _beat(self) -> None:
        # Errors are ignored: the next beat tries again, and others send their own requests if the store stays unavailable.
        name = self._own_name()
        with self._database.writing() as connection:
            _enter(connection, name)  # again: a process that saw no beat may have removed it
            raised = claimants.update().where(claimants.c.name == name).values(beat=claimants.c.beat + 1)
            connection.execute(raised)
        self._delete_left()

    def _claim(self, keys: Sequence[str]) -> Sequence[bool]:
        if self._database.engine.dialect.name not in _DATABASES:
            return [True] * len(keys)
        self._delete_left()
        # In one order everywhere, or two processes could wait for each other.
        unique = sorted(set(keys))
        own, number = self._own_name(), next(self._numbers)
        with self._database.writing() as connection:
            if not self._entered:
                _enter(connection, own)
            _insert_claims(connection, [{"key": key, "claimant": own, "number": number} for key in unique])
            rows = _claims_of(connection, unique)
            mine = {row.key for row in rows if (row.claimant, row.number) == (own, number)}
            answered = {row.key for row in rows if row.answer is not None}
            _delete(connection, mine & answered)
            self._strike_off(connection, {row.claimant for row in rows} - {own})
        self._entered = True
        self._held.update(dict.fromkeys(mine - answered, number))
        # Of equal keys in one batch the first gets it.
        granted = {key: place for place, key in reversed(list(enumerate(keys))) if key in mine - answered}
        return [granted.get(key) == place for place, key in enumerate(keys)]

    def _strike_off(self, connection: Connection, names: set[str]) -> None:
        """Remove claimants whose process has ended, or whose lease is over."""
        if not names:
            return
        query = sa.select(claimants.c.name, claimants.c.beat).where(claimants.c.name.in_(sorted(names)))
        for name, beat in connection.execute(query.order_by(claimants.c.name)).all():
            if is_gone(name) or self._is_over(name, beat):
                same = (claimants.c.name == name, claimants.c.beat == beat)
                connection.execute(claimants.delete().where(*same))
                self._seen.pop(name, None)

    def _is_over(self, name: str, beat: int) -> bool:
        now = self._clock()
        last_beat, since = self._seen.get(name, (None, now))
        if (
            last_beat != beat or now < since
        ):  # without the second, a clock that was set back would extend the wait
            self._seen[name] = (beat, now)
            return False
        return now - since > LEASE_SECONDS

    def _release(self, keys: Sequence[str]) -> Sequence[None]:
        self._delete_left()
        return [None] * len(keys)

    def _delete_left(self) -> None:
        """Delete released claims, also after an earlier failure of the store."""
        if not self._left:
            return
        # In a separate transaction: one that also inserts could wait for a process that waits for it.
        left = dict(self._left)
        rows = [{"done": key, "count": number} for key, number in sorted(left.items())]
        own = (claims.c.claimant == self._own_name(), claims.c.number == sa.bindparam("count"))
        with self._database.writing() as connection:
            connection.execute(claims.delete().where(claims.c.key == sa.bindparam("done"), *own), rows)
        for key, number in left.items():
            if self._left.get(key) == number:
                del self._left[key]


def _enter(connection: Connection, name: str) -> None:
    insert = _insert_of(connection)
    statement = insert(claimants).values(name=name, beat=0)
    connection.execute(statement.on_conflict_do_nothing(index_elements=["name"]))


def _insert_claims(connection: Connection, rows: list[dict[str, Any]]) -> None:
    """Claim each key that is free, or whose claimant was removed."""
    statement = _insert_of(connection)(claims)
    taken = {name: statement.excluded[name] for name in ("claimant", "number")}
    void = claims.c.claimant.not_in(sa.select(claimants.c.name))
    connection.execute(statement.on_conflict_do_update(index_elements=["key"], set_=taken, where=void), rows)


def _insert_of(connection: Connection) -> Any:
    # Imported only if needed: PostgreSQL's dialect alone takes a tenth of a second.
    if connection.dialect.name == "sqlite":
        from sqlalchemy.dialects.sqlite import insert as sqlite_insert

        return sqlite_insert
    from sqlalchemy.dialects.postgresql import insert as postgres_insert

    return postgres_insert


def _claims_of(connection: Connection, keys: Sequence[str]) -> list[Any]:
    """The claims of these keys, each with `answer`: its key if a reply is stored, else None."""
    columns = (claims.c.key, claims.c.claimant, claims.c.number, replies.c.key.label("answer"))
    query = sa.select(*columns).select_from(claims.outerjoin(replies, replies.c.key == claims.c.key))
    chunks = (keys[start : start + _CHUNK] for start in range(0, len(keys), _CHUNK))
    return [row for chunk in chunks for row in connection.execute(query.where(claims.c.key.in_(chunk)))]


def _delete(connection: Connection, keys: set[str]) -> None:
    if keys:
        rows = [{"done": key} for key in sorted(keys)]
        connection.execute(claims.delete().where(claims.c.key == sa.bindparam("done")), rows)


_OPEN: set[str] = set()
"""Names of this process that are in use."""


def new_claimant() -> str:
    """A new name of this process: its machine, its number there, its start time, and 12 random digits."""
    name = f"{_machine()}:{os.getpid()}:{_started(os.getpid())}:{uuid.uuid4().hex[:12]}"
    _OPEN.add(name)
    return name


def retire(claimant: str) -> None:
    """Release a name: its store is closed."""
    _OPEN.discard(claimant)


def is_gone(claimant: str) -> bool:
    """Whether its process is known to have ended; False also if that cannot be checked, as for another machine's."""
    machine, number, started, _ = (*claimant.split(":"), "", "", "", "")[:4]
    if not machine or machine != _machine() or not number.isdecimal():
        return False
    if int(number) == os.getpid() and started == _started(os.getpid()):
        return claimant not in _OPEN
    # Process numbers are reused, so the start time has to agree, too.
    return _started(int(number)) != started


@cache
def _machine() -> str:
    """The boot of this machine, and the container of the process numbers; "" if the system does not provide them."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text("ascii").strip()
        return f"{boot}-{Path('/proc/self/ns/pid').stat().st_ino}"
    except (OSError, ValueError):
        return ""


def _started(number: int) -> str:
    """When a process started, in the machine's ticks; "" if it ended, or if the system does not provide it."""
    try:
        status = Path(f"/proc/{number}/stat").read_text("utf-8", "replace")
    except OSError:
        return ""
    # The name in parentheses may contain anything. After it: the state, and as the 20th field the start.
    fields = status.rpartition(")")[2].split()
    return "" if fields[0] in {"Z", "X"} else fields[19]
