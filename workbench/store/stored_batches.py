"""The batches of a store: which requests are in which batch of which server, until their replies are collected."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import sqlalchemy as sa

from workbench.core.errors import StoreError
from workbench.store.database import Database
from workbench.store.runs import Listing
from workbench.store.schema import batch_requests, batches, now, read, storable

SUBMITTING, OPEN = "submitting", "open"
_MAX_SUBMITTING = timedelta(minutes=15)
"""After this time a batch that has no name of its server yet is void: its process was stopped while it uploaded the file.
Workbench limit: longer than 200 MB take on a slow line."""
_CHUNK = 500


@dataclass(frozen=True)
class StoredBatch:
    """A batch.

    Attributes:
        number: Its number in the store.
        batch: Its name at the server; "" while it is submitted.
        model: The model that is called.
        status: "submitting", "open", or the server's status at its end, such as "completed".
        requests: Number of requests.
        collected: Number of replies that were stored.
        cost: US dollars of these, as far as known.
        at: When it was submitted, in UTC.
        address: The server's URL.
    """

    number: int
    batch: str
    model: str
    status: str
    requests: int
    collected: int
    cost: float
    at: datetime
    address: str


class StoredBatches:
    """The batches of a store."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def list(self, *, status: str | None = None) -> Listing[StoredBatch]:
        """Batches, the oldest first.

        Args:
            status: All with this status; all by default.
        """
        query = sa.select(batches).order_by(batches.c.id)
        if status is not None:
            query = query.where(batches.c.status == status)
        with self._database.reading() as connection:
            rows = connection.execute(query).all()
        return Listing(
            StoredBatch(
                row.id, row.batch, read(row.model), row.status, row.requests, row.collected, round(row.cost, 6),
                datetime.fromisoformat(row.at), read(row.address),
            )
            for row in rows
        )  # fmt: skip

    def pending(self) -> frozenset[str]:
        """Keys of all requests in a batch whose replies are not collected yet."""
        with self._database.reading() as connection:
            return frozenset(connection.execute(sa.select(batch_requests.c.key)).scalars())

    def start(self, address: str, model: str, keys: Sequence[str]) -> tuple[int, tuple[str, ...]]:
        """Reserve requests for a new batch, so that no other process submits them.

        Args:
            address: The server's URL.
            model: The model that is called.
            keys: Of the requests.

        Returns:
            The number of the batch, and the keys that are in no other one.
        """
        void = (datetime.now(UTC) - _MAX_SUBMITTING).isoformat(timespec="microseconds")
        with self._database.writing() as connection:
            abandoned = sa.select(batches.c.id).where(batches.c.status == SUBMITTING, batches.c.at < void)
            connection.execute(batch_requests.delete().where(batch_requests.c.batch.in_(abandoned)))
            taken: set[str] = set()
            for start in range(0, len(keys), _CHUNK):
                chunk = batch_requests.c.key.in_(keys[start : start + _CHUNK])
                taken.update(connection.execute(sa.select(batch_requests.c.key).where(chunk)).scalars())
            own = tuple(key for key in dict.fromkeys(keys) if key not in taken)
            values = {
                "batch": "", "address": storable(address), "model": storable(model), "status": SUBMITTING,
                "requests": len(own), "collected": 0, "cost": 0.0, "at": now(),
            }  # fmt: skip
            inserted = connection.execute(batches.insert().values(**values)).inserted_primary_key
            assert inserted is not None
            number = int(inserted[0])
            if own:
                connection.execute(batch_requests.insert(), [{"key": key, "batch": number} for key in own])
        return number, own

    def submitted(self, number: int, batch: str) -> None:
        """Record the name that a server gave to a batch."""
        self._update(number, batch=batch, status=OPEN)

    def abandon(self, number: int, status: str = "failed") -> None:
        """Free the requests of a batch that was not submitted, or ended without replies."""
        self.end(number, status, 0, 0.0)

    def end(self, number: int, status: str, collected: int, cost: float) -> None:
        """Free the requests of a batch whose replies are stored: those without one may be sent again.

        Args:
            number: Of the batch.
            status: The server's.
            collected: Number of stored replies.
            cost: US dollars of these.
        """
        with self._database.writing() as connection:
            connection.execute(batch_requests.delete().where(batch_requests.c.batch == number))
            connection.execute(
                batches.update()
                .where(batches.c.id == number)
                .values(status=status, collected=collected, cost=cost)
            )

    def requests_of(self, number: int) -> frozenset[str]:
        """Keys of the requests of a batch whose replies are not collected yet."""
        with self._database.reading() as connection:
            query = sa.select(batch_requests.c.key).where(batch_requests.c.batch == number)
            return frozenset(connection.execute(query).scalars())

    def _update(self, number: int, **values: object) -> None:
        with self._database.writing() as connection:
            if not connection.execute(
                batches.update().where(batches.c.id == number).values(**values)
            ).rowcount:
                raise StoreError("the store has no batch of this number", found=str(number))

    def __len__(self) -> int:
        with self._database.reading() as connection:
            return int(connection.execute(sa.select(sa.func.count()).select_from(batches)).scalar_one())

    def __repr__(self) -> str:
        return f"Batches in {self._database.address.shown}"
