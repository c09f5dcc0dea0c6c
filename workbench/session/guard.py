"""A lock that what belongs to one session shares, and the place where errors of callbacks are seen."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Self

from traitlets import Any as AnyTrait
from traitlets import HasTraits

from workbench.session.problem import Problem

__all__ = ["ActionGuard", "ActionLock"]


class ActionLock:
    """A re-entrant lock, with callbacks before the last of one thread's holds ends.

    Attributes:
        on_release: Each is called with the lock held, when what one thread changed is complete.
    """

    def __init__(self) -> None:
        # Re-entrant: changing a trait calls its observers, which may act on the session in the same thread.
        self._lock = threading.RLock()
        self._depth = 0
        self.on_release: list[Callable[[], object]] = []

    def __enter__(self) -> Self:
        self._lock.acquire()
        self._depth += 1
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            for callback in tuple(self.on_release) if self._depth == 1 else ():
                callback()
        finally:
            self._depth -= 1
            self._lock.release()


class ActionGuard(HasTraits):
    """Guards what several threads change: a person's clicks, cells that run, and runs in the background.

    Traits:
        problem: The last error of a callback; None for none.

    Attributes:
        lock: Held by whoever changes the session.
    """

    problem = AnyTrait(None, allow_none=True)

    def __init__(self) -> None:
        super().__init__()
        self.lock = ActionLock()
        self._depth = 0

    @contextmanager
    def locked(self, where: str = "", *, by_person: bool = False) -> Iterator[None]:
        """Hold the lock; an error inside becomes the `problem` and goes no further.

        Args:
            where: Where it happened, as the problem names it.
            by_person: A person does something, so the problem before it was read and goes away. The progress of a run
                leaves it there.
        """
        with self.lock:
            self._depth += 1
            try:
                if by_person and self._depth == 1:
                    self.problem = None
                yield
            except (Exception, KeyboardInterrupt) as error:  # noqa: BLE001 (it is shown, not swallowed)
                self.problem = Problem.of(error, where)
            finally:
                self._depth -= 1

    @contextmanager
    def unlocked(self, where: str = "") -> Iterator[None]:
        """As `locked` for something a person does that takes its time: the lock is not held meanwhile."""
        with self.lock:
            self.problem = None
        try:
            yield
        except (Exception, KeyboardInterrupt) as error:  # noqa: BLE001 (it is shown, not swallowed)
            with self.lock:
                self.problem = Problem.of(error, where)
