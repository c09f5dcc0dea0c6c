"""Forks wait for transactions: SQLite keeps its locks in the memory of the process, which the child inherits unchanged.

A child forked during another thread's transaction would take the lock for one of its connections' locks, and would
always find the database locked.
"""

from __future__ import annotations

import contextlib
import os
import threading
from collections import Counter
from collections.abc import Iterator

__all__ = ["transaction"]

_PATIENCE = 5.0
"""Maximum seconds that a fork waits for transactions. Workbench limit: they take milliseconds unless another process locks."""


class _Gate:
    """Open transactions, by thread; closed while a thread forks."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._forking = 0
        self._inside: Counter[int] = Counter()

    @contextlib.contextmanager
    def transaction(self) -> Iterator[None]:
        me = threading.get_ident()
        with self._changed:
            # A thread that is in a transaction already continues, since the fork waits for it.
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
        # New objects: the threads inside, and the lock's owner, are the parent's.
        self._changed, self._forking, self._inside = threading.Condition(), 0, Counter()


_gate = _Gate()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_gate.before_fork,
        after_in_parent=_gate.after_in_parent,
        after_in_child=_gate.after_in_child,
    )


def transaction() -> contextlib.AbstractContextManager[None]:
    """A block during which no fork starts; a fork waits for a thread inside it."""
    return _gate.transaction()
