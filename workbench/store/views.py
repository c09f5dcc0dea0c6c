"""Views of the app that were saved under a name: what is open in it, not the rows themselves."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import sqlalchemy as sa

from workbench.store.database import Database
from workbench.store.errors import StoreError
from workbench.store.graders import check_name
from workbench.store.listing import Listing
from workbench.store.schema import now, views
from workbench.store.texts import from_json, read, storable, to_json

__all__ = ["SavedView", "Views"]


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
