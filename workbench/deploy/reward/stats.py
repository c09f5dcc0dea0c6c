"""Counts of a reward: scored, skipped and failed rows of each grader, and the slowest of them."""

from __future__ import annotations

import os
import threading
import weakref
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from workbench.core.display import DisplayBlock, Displayed, Items, Only, Paragraph, TableBlock
from workbench.core.display_text import visible
from workbench.core.grades import Grades

if TYPE_CHECKING:
    import pandas as pd


_ALL: weakref.WeakSet[RewardStats] = weakref.WeakSet()


@dataclass(frozen=True)
class Slowest:
    """The row that took longest.

    Attributes:
        seconds: How long.
        call: Index of the call, from 1.
        row: Index of the row in the call, from 0.
    """

    seconds: float
    call: int
    row: int

    def __str__(self) -> str:
        return f"{self.seconds:.3g} s (call {self.call}, row {self.row})"


@dataclass(frozen=True)
class Failure:
    """A row that failed.

    Attributes:
        call: Index of the call, from 1.
        row: Index of the row in the call, from 0.
        message: The grade's message.
    """

    call: int
    row: int
    message: str

    def __str__(self) -> str:
        return f"call {self.call}, row {self.row}: {self.message}"


@dataclass
class GraderStats:
    """Counts of one grader.

    Attributes:
        scored: Rows with a score.
        skipped: Rows that it skipped.
        failed: Rows that failed, by kind of failure.
        seconds: Total time of its rows.
        slowest: The row that took longest; None before the first.
        latest: Kind of failure to the latest row that failed so.
    """

    scored: int = 0
    skipped: int = 0
    failed: Counter[str] = field(default_factory=Counter)
    seconds: float = 0.0
    slowest: Slowest | None = None
    latest: dict[str, Failure] = field(default_factory=dict)

    def add(self, grades: Grades, call: int) -> None:
        """Count the grades of one call."""
        self.scored += grades.n_scored
        self.skipped += grades.n_skipped
        self.failed.update(str(error.kind) for error in grades.errors.values())
        self.latest |= {
            str(error.kind): Failure(call, row, error.message) for row, error in grades.errors.items()
        }
        seconds = grades.seconds
        known = ~np.isnan(seconds)
        if known.any():
            self.seconds += float(seconds[known].sum())
            row = int(np.nanargmax(seconds))
            if self.slowest is None or seconds[row] > self.slowest.seconds:
                self.slowest = Slowest(float(seconds[row]), call, row)

    @property
    def rows(self) -> int:
        """Total number of rows."""
        return self.scored + self.skipped + self.failed.total()

    def copy(self) -> GraderStats:
        """A copy that is not updated."""
        return replace(self, failed=Counter(self.failed), latest=dict(self.latest))


class RewardStats(Displayed):
    """Counts of a reward since it was made, or since `reset`. May be read from any thread while others grade.

    Attributes:
        calls: Calls that have ended.
        seconds: Time from their start to their end, added up; calls that overlap count each.
    """

    _label = "Grading so far"
    _kind = ""

    def __init__(self, names: Sequence[str]) -> None:
        self._names = tuple(names)
        self._lock = threading.Lock()
        self.reset()
        _ALL.add(self)

    def reset(self) -> None:
        """Start at zero."""
        with self._lock:
            self.calls, self.seconds = 0, 0.0
            self._graders = {name: GraderStats() for name in self._names}

    def add(self, grades: Mapping[str, Grades], seconds: float) -> None:
        """Count one call."""
        with self._lock:
            self.calls += 1
            self.seconds += seconds
            for name, column in grades.items():
                self._graders[name].add(column, self.calls)

    @property
    def graders(self) -> dict[str, GraderStats]:
        """Current counts by grader."""
        with self._lock:
            return {name: stats.copy() for name, stats in self._graders.items()}

    @property
    def frame(self) -> pd.DataFrame:
        """One row per grader: scored, skipped, failed, a column per kind of failure, seconds, slowest."""
        from workbench.core.safe_frame import SafeFrame

        kinds = sorted({kind for stats in self.graders.values() for kind in stats.failed})
        lines = [
            {
                "grader": name, "scored": stats.scored, "skipped": stats.skipped, "failed": stats.failed.total(),
                **{f"failed: {kind}": stats.failed[kind] for kind in kinds}, "seconds": stats.seconds,
                "slowest": float("nan") if stats.slowest is None else stats.slowest.seconds,
            }
            for name, stats in self.graders.items()
        ]  # fmt: skip
        return SafeFrame(lines).set_index("grader")

    def _lines(self) -> list[tuple[str, ...]]:
        return [
            (
                visible(name), f"{stats.scored:,}", f"{stats.skipped:,}", _failures(stats.failed),
                f"{stats.seconds:.3g} s", "" if stats.slowest is None else str(stats.slowest),
            )
            for name, stats in self.graders.items()
        ]  # fmt: skip

    __repr__ = Displayed.__str__

    def _latest(self) -> list[str]:
        """The latest failure of each grader and kind, one per line."""
        return [
            f"{visible(name)}: {kind}, {visible(_short(str(failure)))}"
            for name, stats in self.graders.items()
            for kind, failure in stats.latest.items()
        ]

    def _blocks(self) -> Iterator[DisplayBlock]:
        yield Paragraph(f"{self.calls:,} calls, {self.seconds:.3g} s", "lead")
        failures = self._latest()
        table = TableBlock(_HEAD, self._lines(), numbers=_NUMBERS, indent=0)
        yield Only("html", [Paragraph(line, "failed") for line in failures])
        yield Only("markdown", [Items(failures, 400)])
        yield table
        yield Only("text", map(Paragraph, failures))


_MAX_CHARACTERS = 300
"""Maximum characters of a failure in the output."""
_HEAD = ("grader", "scored", "skipped", "failed", "time", "slowest row")
_NUMBERS = {1, 2, 4}


def _short(text: str) -> str:
    return text if len(text) <= _MAX_CHARACTERS else f"{text[:_MAX_CHARACTERS]}…"


def _failures(failed: Counter[str]) -> str:
    kinds = ", ".join(f"{count:,} {kind}" for kind, count in failed.most_common())
    return f"{failed.total():,} ({kinds})" if failed else "0"


def _after_fork() -> None:
    """Another thread of the parent may have held a lock."""
    for stats in list(_ALL):
        stats._lock = threading.Lock()  # noqa: SLF001 (of this module)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
