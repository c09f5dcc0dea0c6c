"""Forks wait for transactions: SQLite keeps its locks in the memory of the process, which the child gets as it is.

A child that is made in the midst of another thread's transaction would take the lock for held by a connection of its own,
and would be told for ever that the database is locked.
"""

from __future__ import annotations

import contextlib
import os
import threading
from collections import Counter
from collections.abc import Iterator

__all__ = ["transaction"]

_PATIENCE = 5.0
"""Seconds that a fork waits for transactions. Ours: they take milliseconds, unless another process holds the database."""


class _Gate:
    """Transactions under way, by thread; closed while a thread forks."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._forking = 0
        self._inside: Counter[int] = Counter()

    @contextlib.contextmanager
    def transaction(self) -> Iterator[None]:
        me = threading.get_ident()
        with self._changed:
            # A thread that is in a transaction already goes on, since the fork waits for it.
            self._changed.wait_for(lambda: not self._forking or me in self._inside)
            self._inside[me] += 1
        try:
            yield
        finally:
            with self._changed:
                self._inside[me] -= 1
                self._inside += Counter()  # without those at 0
                self._changed.notify_all()

    def before_fork(self) -> None:
        me = threading.get_ident()
        with self._changed:
            self._forking += 1
            self._changed.wait_for(lambda: self._inside.keys() <= {me}, _PATIENCE)

    def after_in_parent(self) -> None:
        with self._changed:
            self._forking -= 1
            self._changed.notify_all()

    def after_in_child(self) -> None:
        # Anew: the threads inside, and whoever held the lock, are the parent's.
        self._changed, self._forking, self._inside = threading.Condition(), 0, Counter()


_gate = _Gate()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_gate.before_fork,
        after_in_parent=_gate.after_in_parent,
        after_in_child=_gate.after_in_child,
    )


def transaction() -> contextlib.AbstractContextManager[None]:
    """A block that no fork falls into; one that another thread is at is waited for."""
    return _gate.transaction()
