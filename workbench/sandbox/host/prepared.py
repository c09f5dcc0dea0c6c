"""A worker that starts while rows are graded elsewhere, for the few rows that follow."""

from __future__ import annotations

import threading
from collections.abc import Callable

from workbench.sandbox.host.worker import Worker


class Prepared:
    """One worker, once it has started; a caller that cannot wait for it starts its own.

    Args:
        start: Starts it.
        discard: Takes it if it is not used.
    """

    def __init__(self, start: Callable[[], Worker], discard: Callable[[Worker], object]) -> None:
        self._start, self._discard = start, discard
        self._lock = threading.Lock()
        self._worker: Worker | None = None
        self._is_wanted = True

    def begin(self) -> None:
        """Start it, unless it was discarded. To be called on another thread than `take`."""
        with self._lock:
            if self._is_wanted:
                self._worker = self._start()

    def take(self) -> Worker | None:
        """Take over the worker; None if it was not started yet. Waits for a running start."""
        with self._lock:
            self._is_wanted = False
            worker, self._worker = self._worker, None
            return worker

    def close(self) -> None:
        """Discard it if it was not taken."""
        if (worker := self.take()) is not None:
            self._discard(worker)
