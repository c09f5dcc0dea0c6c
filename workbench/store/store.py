"""`open_store` and the class it returns."""

from __future__ import annotations

import os
from types import TracebackType
from typing import Self

from workbench.store.address import parse
from workbench.store.database import Database
from workbench.store.errors import StoreError
from workbench.store.graders import StoredGraders
from workbench.store.labels import Labels
from workbench.store.replies import Replies
from workbench.store.runs import Runs
from workbench.store.views import Views

__all__ = ["Store", "open_store"]


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
    """

    graders: StoredGraders
    replies: Replies
    labels: Labels
    runs: Runs
    views: Views

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
