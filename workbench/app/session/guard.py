"""A lock shared by all parts of one session, which also records the errors of callbacks."""

from __future__ import annotations

import threading
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import TracebackType
from typing import Self

from traitlets import Any as AnyTrait
from traitlets import HasTraits

from workbench.core.errors import WorkbenchError


@dataclass(frozen=True)
class Problem:
    """An error, for display.

    Attributes:
        what: What happened.
        trace: The traceback; "" for an interrupt.
        where: The panel it happened in.
    """

    what: str
    trace: str = ""
    where: str = ""

    @classmethod
    def of(cls, error: BaseException, where: str = "") -> Problem:
        """The problem for an exception."""
        if isinstance(error, KeyboardInterrupt):
            return cls("Interrupted.", "", where)
        trace = "".join(traceback.format_exception(error))
        is_own_error = isinstance(error, WorkbenchError)
        return cls(str(error) if is_own_error else f"{type(error).__name__}: {error}", trace, where)


class ActionLock:
    """A re-entrant lock with callbacks before a thread's outermost release.

    Attributes:
        on_release: Called with the lock held, when one thread's change is complete.
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
    """Guards state that several threads change: a user's clicks, cells that run, and background runs.

    Traits:
        problem: The last error of a callback; None for none.

    Attributes:
        lock: Every thread that changes the session holds the lock.
    """

    problem = AnyTrait(None, allow_none=True)

    def __init__(self) -> None:
        super().__init__()
        self.lock = ActionLock()
        self._depth = 0

    @contextmanager
    def locked(self, where: str = "", *, by_person: bool = False) -> Iterator[None]:
        """Acquire the lock; an exception inside becomes the `problem` and is not propagated.

        Args:
            where: Where it happened, as shown with the problem.
            by_person: Whether a user acts, which dismisses the previous problem. The progress of a run does not
                dismiss it.
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
        """As `locked`, for a user's action that takes long, without holding the lock."""
        with self.lock:
            self.problem = None
        try:
            yield
        except (Exception, KeyboardInterrupt) as error:  # noqa: BLE001 (it is shown, not swallowed)
            with self.lock:
                self.problem = Problem.of(error, where)
