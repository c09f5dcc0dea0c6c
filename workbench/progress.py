"""How far a run is: a small value for callers, and a bar for people."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self

__all__ = ["Bar", "OnProgress", "Progress"]


@dataclass(frozen=True)
class Progress:
    """A moment of a run.

    Attributes:
        grader: Whose rows are being graded.
        done: Rows with a verdict, over all graders.
        failed: Rows among them without a score because of an error.
        total: Rows times graders.
        seconds: Since the run began.
    """

    grader: str
    done: int
    failed: int
    total: int
    seconds: float

    @property
    def rate(self) -> float:
        """Rows a second so far; 0 at the start."""
        return self.done / self.seconds if self.seconds > 0 else 0.0

    @property
    def seconds_left(self) -> float | None:
        """At this rate; None while nothing is known."""
        return (self.total - self.done) / self.rate if self.rate > 0 else None


OnProgress = Callable[[Progress], object]


class Bar:
    """A progress bar: text in a terminal, ipywidgets in a notebook, with rate, errors and time left.

    Appears only when a run lasts: a bar that flashes is noise.

    Args:
        total: Rows times graders.
    """

    APPEAR_SECONDS = 0.3

    def __init__(self, total: int) -> None:
        self._total, self._bar, self._start = total, None, time.monotonic()
        self._bar: Any

    def __enter__(self) -> Self:
        return self

    def __call__(self, progress: Progress) -> None:
        """Show a moment."""
        if self._bar is None:
            if progress.seconds < self.APPEAR_SECONDS and progress.done < self._total:
                return
            if progress.done >= self._total:
                return
            self._bar = _new_bar(self._total)
        self._bar.set_description(progress.grader, refresh=False)
        self._bar.set_postfix(errors=progress.failed, refresh=False)
        self._bar.update(progress.done - self._bar.n)

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.close()


def _new_bar(total: int) -> Any:
    from tqdm.auto import tqdm

    return tqdm(total=total, unit="rows", mininterval=0.1, file=sys.stderr, dynamic_ncols=True)
