"""A run in the background, during which a notebook can execute other cells."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Generator
from typing import Any, Generic, TypeVar

from workbench.core.background import HEARTBEAT_SECONDS
from workbench.core.progress import OnProgress, Progress

R = TypeVar("R")


class Job(Generic[R]):
    """A run in a separate thread. `Suite.start` creates it for a report, `Suite.start_overview` for an overview.

    `await job` in a cell waits without blocking the kernel, and an interrupt of that cell stops the run. The job
    continues if it is not awaited.

    Args:
        work: The run. It is called with a listener for progress, which returns False once the run must stop.
        listen: Called with each `Progress`, at most ten times per second, on the job's thread.
        ended: Called with the job when it is over, on the job's thread.

    Attributes:
        progress: The latest progress; None before the first.
        cancelled: Whether a stop was requested.
    """

    progress: Progress | None
    cancelled: bool

    def __init__(
        self,
        work: Callable[[OnProgress], R],
        *,
        listen: OnProgress | None = None,
        ended: Callable[[Job[R]], object] | None = None,
    ) -> None:
        self.progress, self.cancelled = None, False
        self._work, self._listen, self._ended = work, listen, ended
        self._report: R | None = None
        self._error: BaseException | None = None
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._go, name="workbench-run", daemon=True)
        self._thread.start()

    def _go(self) -> None:
        try:
            self._report = self._work(self._note)
        except BaseException as error:  # noqa: BLE001 (raised again for the waiting caller)
            self._error = error
        try:
            if self._ended is not None:
                self._ended(self)
        finally:
            self._over.set()  # last: a caller that waits for the report can rely on `ended` having returned

    def _note(self, moment: Progress) -> bool:
        self.progress = moment
        if self._listen is not None and self._listen(moment) is False:
            self.cancelled = True
        return not self.cancelled

    @property
    def done(self) -> bool:
        """Whether it is over, by itself or by `cancel`."""
        return self._report is not None or self._error is not None

    @property
    def error(self) -> BaseException | None:
        """The error that ended it; None while it runs, and if there is a report."""
        return self._error

    def cancel(self) -> None:
        """Request a stop. Rows in progress have two seconds; the report contains what was graded."""
        self.cancelled = True

    def report(self, timeout: float | None = None) -> R:
        """Wait for the report, or the overview.

        Args:
            timeout: Maximum seconds to wait; unlimited by default.

        Raises:
            TimeoutError: The run still continues.
            Exception: The error of the run.
        """
        is_own_thread = threading.current_thread() is self._thread  # `ended` runs there and may call this
        if not is_own_thread and not self._over.wait(timeout):
            raise TimeoutError(f"the run still continues after {timeout} s")
        return self._result()

    def _result(self) -> R:
        if self._error is not None:
            raise self._error
        assert self._report is not None
        return self._report

    def __await__(self) -> Generator[Any, None, R]:
        """Wait in short steps, so that an interrupt is processed; it cancels the run."""
        return self._wait().__await__()

    async def _wait(self) -> R:
        try:
            while not self._over.is_set():  # noqa: ASYNC110 (an Interrupt is seen only when the loop wakes)
                await asyncio.sleep(HEARTBEAT_SECONDS)
        except BaseException:
            self.cancel()
            raise
        return self._result()

    def __repr__(self) -> str:
        if self.done:
            return "Job(failed)" if self._error is not None else "Job(done)"
        at = self.progress
        return "Job(starting)" if at is None else f"Job({at.done:,} of {at.total:,})"
