"""The progress of a run: a value for callers, and a progress bar for users."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self

from workbench.core.display_text import one_line


@dataclass(frozen=True)
class Progress:
    """The state of a run at one moment.

    Attributes:
        grader: The current grader.
        done: Rows with a verdict, over all graders.
        failed: Rows among them without a score because of an error.
        total: Rows times graders, over all repeats.
        seconds: Since the run started.
        money: US dollars spent by judges so far, as far as known.
        reserved: US dollars reserved for requests in flight.
        tokens: Tokens used by judges so far.
        kept: Cache hits: replies read from a store.
        waiting: Requests that wait because a judge's server is overloaded, or restarts.
        rate_limited: Requests that wait because of a client's requests or tokens per minute.
        rows: Rows with a verdict of the current grader.
        since: Seconds since it started.
    """

    grader: str
    done: int
    failed: int
    total: int
    seconds: float
    money: float = 0.0
    tokens: int = 0
    kept: int = 0
    waiting: int = 0
    rows: int = 0
    since: float = 0.0
    reserved: float = 0.0
    rate_limited: int = 0

    @property
    def rate(self) -> float:
        """Rows per second of the current grader; of the run before it has any, and 0 at the start."""
        if self.rows and self.since > 0:
            return self.rows / self.since
        return self.done / self.seconds if self.seconds > 0 else 0.0

    @property
    def seconds_left(self) -> float | None:
        """Remaining seconds at this rate, including the remaining graders; None while unknown."""
        return (self.total - self.done) / self.rate if self.rate > 0 else None


OnProgress = Callable[[Progress], object]


class Bar:
    """A progress bar: text in a terminal, ipywidgets in a notebook, with rate, errors and time left.

    Nothing is drawn without a notebook or a terminal.

    Args:
        total: Rows times graders.
        show: False for no bar at all.
    """

    def __init__(self, total: int, *, show: bool = True) -> None:
        self._total, self._show = total, show
        self._bar: Any = None

    def __enter__(self) -> Self:
        if self._show and self._total:
            self._bar = _new_bar(self._total)
        return self

    def __call__(self, progress: Progress) -> None:
        """Show the current state."""
        if self._bar is not None:
            self._bar.set_description(one_line(progress.grader, 40), refresh=False)
            self._bar.set_postfix(_counts(progress), refresh=False)
            self._bar.update(progress.done - self._bar.n)

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.close()


def _counts(progress: Progress) -> dict[str, Any]:
    """The counts shown after the bar: errors always, money if any was spent."""
    spent = {"cost": f"${progress.money:.4f}"} if progress.money else {}
    from_store = {"kept": progress.kept} if progress.kept else {}
    waiting = {"waiting for the server": progress.waiting} if progress.waiting else {}
    paced = {"waiting for the rate limit": progress.rate_limited} if progress.rate_limited else {}
    return {"errors": progress.failed, **spent, **from_store, **waiting, **paced}


def _new_bar(total: int) -> Any:
    from tqdm.auto import tqdm

    # Rows arrive in batches, so only the rate over the whole run is meaningful.
    # None: tqdm checks whether the stream is a terminal; a kernel's stream is not, and has a better bar.
    hidden = False if _in_kernel() else None
    return tqdm(total=total, unit=" rows", smoothing=0, mininterval=0.1, disable=hidden, dynamic_ncols=True)


def _in_kernel() -> bool:
    """Whether this is a notebook kernel."""
    if "ipykernel" not in sys.modules:
        return False
    from IPython import get_ipython

    return hasattr(get_ipython(), "kernel")
