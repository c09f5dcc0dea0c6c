"""`open_store` and what it opens."""

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
    """Open a store, made when it is not there.

    Args:
        url: A file ("workbench.db", a `Path`), or any SQLAlchemy URL: "sqlite:///workbench.db",
            "postgresql://user@host/database" (needs `pip install 'grader-workbench[postgres]'`), "sqlite://"
            for one in memory. A relative file stays where it is when the working directory changes.
        timeout: Seconds to wait for another process's lock, or for a server to answer.

    Raises:
        StoreError: It cannot be opened; the message says why and what to do, never a password.
        ValueError: A timeout that is no positive number.

    Example:
        >>> import workbench as wb
        >>> with open_store("sqlite://") as store:
        ...     entry = store.graders.create("exact", wb.ExactMatch())
        ...     store.graders.get("exact") == wb.ExactMatch(), entry.version
        (True, 1)
    """
    return Store(url, timeout=timeout)


class Store:
    """Graders, judges' answers, labels, run summaries and saved views in one database. See `open_store`.

    Several notebooks may use one store at once. Its methods are synchronous and may be called from any thread;
    only `replies.get` and `replies.put` are coroutines. What a method has returned for is committed: it survives
    the process being killed. (SQLite's own copy on disk may lag at a power cut; it is then some seconds old, and
    whole.)

    Attributes:
        graders: Graders by key, with versions and locks.
        replies: Judges' answers by what was asked.
        labels: People's labels.
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
        """Where it is, without password."""
        return self._database.address.shown

    @property
    def lost(self) -> str:
        """What became of its file, such as "is gone", where that cannot be found any more; "" where it is in its place."""
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
