"""A worker that is started while rows are graded elsewhere, for the few that are graded behind them."""

from __future__ import annotations

import threading
from collections.abc import Callable

from workbench.sandbox.host.worker import Worker

__all__ = ["Prepared"]


class Prepared:
    """One worker, once it has been started; whoever cannot wait for it starts one of his own.

    Args:
        start: Starts it.
        discard: Takes it where nobody does.
    """

    def __init__(self, start: Callable[[], Worker], discard: Callable[[Worker], object]) -> None:
        self._start, self._discard = start, discard
        self._lock = threading.Lock()
        self._worker: Worker | None = None
        self._is_wanted = True

    def begin(self) -> None:
        """Start it, unless nobody wants it any more. For another thread than the one that takes it."""
        with self._lock:
            if self._is_wanted:
                self._worker = self._start()

    def take(self) -> Worker | None:
        """The worker, which is the caller's from now on; None where its start was not begun yet. Waits for a start under way."""
        with self._lock:
            self._is_wanted = False
            worker, self._worker = self._worker, None
            return worker

    def close(self) -> None:
        """Give it up, if nobody took it."""
        if (worker := self.take()) is not None:
            self._discard(worker)
