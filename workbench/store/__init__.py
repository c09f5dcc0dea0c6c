"""The store: graders with versions, judges' replies, labels, run summaries, saved views and certifications in SQLite or PostgreSQL."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from types import TracebackType
from typing import Any, Self

import sqlalchemy as sa

from workbench.core.errors import StoreError
from workbench.store.address import parse
from workbench.store.database import Database
from workbench.store.effective_labels import Label
from workbench.store.graders import GraderEntry, GraderEvent, StoredGraders, check_name
from workbench.store.label_table import Labels
from workbench.store.looks import Looks
from workbench.store.replies import Replies
from workbench.store.runs import Listing, Runs, StoredRun
from workbench.store.schema import from_json, now, read, storable, to_json, views
from workbench.store.stored_batches import StoredBatches

__all__ = [
    "GraderEntry",
    "GraderEvent",
    "Label",
    "Listing",
    "Store",
    "StoreError",
    "StoredRun",
    "open_store",
]


@dataclass(frozen=True)
class SavedView:
    """A view under its name.

    Attributes:
        name: Its name, given by the user.
        dataset: The dataset whose rows it shows.
        at: When it was saved, in UTC.
        state: What is open in it, as `Workbench.view_state` returns it and `Workbench.open_view` accepts it.
    """

    name: str
    dataset: str
    at: datetime
    state: Mapping[str, Any] = field(repr=False)


class Views:
    """The saved views of a store, by dataset and name."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def save(self, name: str, state: Mapping[str, Any], *, dataset: str = "") -> None:
        """Save a view; one of the same name is replaced.

        Args:
            name: Its name, at most 200 characters.
            state: What is open in it; plain values that JSON supports.
            dataset: The dataset whose rows it shows.

        Raises:
            StoreError: An invalid name, or a state that JSON does not support.
        """
        check_name("a view's name", name)
        check_name("a dataset's name", dataset, empty=True)
        values = {
            "dataset": storable(dataset), "name": storable(name), "state": to_json(dict(state)), "at": now(),
        }  # fmt: skip
        with self._database.writing() as connection:
            connection.execute(views.delete().where(*_same(name, dataset)))
            connection.execute(views.insert().values(**values))

    def get(self, name: str, *, dataset: str = "") -> SavedView:
        """A view by its name.

        Raises:
            StoreError: There is none.
        """
        with self._database.reading() as connection:
            row = connection.execute(sa.select(views).where(*_same(name, dataset))).first()
        if row is None:
            raise StoreError(
                f"there is no saved view {name!r}"[:300], hint="views.list(dataset=...) shows them"
            )
        return _saved_view(row)

    def list(self, *, dataset: str | None = None) -> Listing[SavedView]:
        """Views by name; of all datasets by default."""
        query = sa.select(views).order_by(views.c.dataset, views.c.name)
        if dataset is not None:
            query = query.where(views.c.dataset == storable(dataset))
        with self._database.reading() as connection:
            rows = connection.execute(query).all()
        return Listing(map(_saved_view, rows))

    def delete(self, name: str, *, dataset: str = "") -> None:
        """Remove a view.

        Raises:
            StoreError: There is none.
        """
        with self._database.writing() as connection:
            if not connection.execute(views.delete().where(*_same(name, dataset))).rowcount:
                raise StoreError(f"there is no saved view {name!r} to delete"[:300])

    def __repr__(self) -> str:
        return f"Views in {self._database.address.shown}"


def _same(name: str, dataset: str) -> tuple[sa.ColumnElement[bool], ...]:
    return views.c.dataset == storable(dataset), views.c.name == storable(name)


def _saved_view(row: Any) -> SavedView:
    return SavedView(read(row.name), read(row.dataset), datetime.fromisoformat(row.at), from_json(row.state))


def open_store(url: str | os.PathLike[str] = "sqlite:///workbench.db", *, timeout: float = 10.0) -> Store:
    """Open a store; a missing one is created.

    Args:
        url: A file ("workbench.db", a `Path`), or any SQLAlchemy URL: "sqlite:///workbench.db",
            "postgresql://user@host/database" (needs `pip install 'grader-workbench[postgres]'`), "sqlite://"
            for one in memory. A relative file is resolved once against the working directory.
        timeout: Seconds to wait for another process's lock, or for a server to respond.

    Raises:
        StoreError: It cannot be opened; the message has the reason and a hint, never a password.
        ValueError: A timeout that is not a positive number.

    Example:
        >>> import workbench as wb
        >>> with open_store("sqlite://") as store:
        ...     entry = store.graders.create("exact", wb.ExactMatch())
        ...     store.graders.get("exact") == wb.ExactMatch(), entry.version
        (True, 1)
    """
    return Store(url, timeout=timeout)


class Store:
    """Graders, judges' replies, labels, run summaries and saved views in one database. See `open_store`.

    Several notebooks may use one store concurrently. Its methods are synchronous and may be called from any thread;
    only `replies.get` and `replies.put` are coroutines. When a method has returned, its change is committed: it survives
    the process being killed. (SQLite's copy on disk may lag at a power cut; it is then some seconds old, and
    consistent.)

    Attributes:
        graders: Graders by key, with versions and locks.
        replies: Judges' replies by request.
        labels: Labels of samples.
        runs: Summaries of runs.
        views: Views of the app that were saved under a name.
        looks: Certifications, with the test rows that each used.
    """

    graders: StoredGraders
    replies: Replies
    labels: Labels
    runs: Runs
    views: Views
    looks: Looks

    def __init__(
        self, url: str | os.PathLike[str] = "sqlite:///workbench.db", *, timeout: float = 10.0
    ) -> None:
        if isinstance(timeout, bool) or not isinstance(timeout, int | float) or not 0 < timeout < 86_400:
            raise ValueError(f"timeout must be a number of seconds above 0, at most a day, not {timeout!r}")
        self._database = Database(parse(url), timeout)
        self.graders = StoredGraders(self._database)
        self.replies = Replies(self._database)
        self.labels = Labels(self._database)
        self.runs = Runs(self._database)
        self.views = Views(self._database)
        self.looks = Looks(self._database)
        self.batches = StoredBatches(self._database)

    @property
    def url(self) -> str:
        """Its address, without password."""
        return self._database.address.shown

    @property
    def lost(self) -> str:
        """What happened to its file, such as "is gone", if it is missing or replaced; "" otherwise."""
        return self._database.lost

    def close(self) -> None:
        """Finish what is being written, and close. A second call does nothing."""
        self.replies.leave()
        self._database.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Store({self.url!r})"

    def __reduce__(self) -> tuple[object, ...]:
        raise StoreError("a store cannot be pickled", hint="open it where it is needed: open_store(url)")
