"""A lock, and a place where errors of callbacks are seen. No widget here."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from traitlets import Any as AnyTrait
from traitlets import HasTraits

from workbench.session.problem import Problem

__all__ = ["Guarded"]


class Guarded(HasTraits):
    """Something that several threads change, each with the lock held.

    Traits:
        problem: The last error of a callback.

    Attributes:
        lock: Held by whatever changes it.
    """

    problem = AnyTrait(None, allow_none=True)

    def __init__(self) -> None:
        super().__init__()
        self.lock = threading.RLock()
        self._depth = 0

    @contextmanager
    def guard(self, where: str = "", *, act: bool = False) -> Iterator[None]:
        """Hold the lock; what goes wrong inside becomes the `problem` and goes no further.

        Args:
            where: Said of the problem.
            act: A person does something, so what went wrong before was read. News of a run leave it there.
        """
        with self.lock:
            self._depth += 1
            try:
                if act and self._depth == 1:
                    self.problem = None
                yield
            except (Exception, KeyboardInterrupt) as error:  # noqa: BLE001 (it is shown, not swallowed)
                self.problem = Problem.of(error, where)
            finally:
                self._depth -= 1

    @contextmanager
    def watched(self, where: str = "") -> Iterator[None]:
        """As `guard` for something a person does that takes its time: the lock is not held."""
        with self.lock:
            self.problem = None
        try:
            yield
        except (Exception, KeyboardInterrupt) as error:  # noqa: BLE001 (it is shown, not swallowed)
            with self.lock:
                self.problem = Problem.of(error, where)
