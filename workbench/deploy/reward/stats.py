"""Counts of a reward: scored, skipped and failed rows of each grader, and the slowest of them; warnings about its columns."""

from __future__ import annotations

import os
import threading
import warnings
import weakref
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from workbench.core.display import DisplayBlock, Displayed, Items, Only, Paragraph, TableBlock
from workbench.core.display_text import counted, visible
from workbench.core.grades import Grades
from workbench.data.samples.column_names import LABEL_NAMES
from workbench.deploy.reward.grading import RewardGrades
from workbench.graders import FunctionGrader
from workbench.graders.capture.analysis import ColumnsRead, columns_read
from workbench.graders.combine import Entry

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
        yield Paragraph(f"{counted(self.calls, 'call')}, {self.seconds:.3g} s", "lead")
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


FIRST_ROWS = 32
"""Rows of a grader after which missing columns are reported: fewer may fail or differ by chance."""


def columns_beside_label(entries: Iterable[Entry], reference: str) -> list[tuple[str, str]]:
    """Graders with each column that they read and that the label does not replace: pairs of names.

    Args:
        entries: The graders.
        reference: The column under which the label is passed, in addition to the usual names.
    """
    usual = {*LABEL_NAMES, reference}
    return [(entry.name, column) for entry in entries for column in sorted(_read_by(entry).both - usual)]


def warn_of_label_alone(entries: Iterable[Entry], trainer: str, reference: str) -> None:
    """Warn of graders that read columns, if a trainer's rows have only a label."""
    for name, column in columns_beside_label(entries, reference):
        warnings.warn(
            f"grader {name!r} reads the column {column!r}, and {trainer} passes only a row's label: "
            f"use wb.reward(..., reference={column!r}) if the label contains that column",
            RuntimeWarning, stacklevel=3,
        )  # fmt: skip


def _read_by(entry: Entry) -> ColumnsRead:
    grader = entry.grader
    return (
        columns_read(grader.source.text, grader.signature)
        if isinstance(grader, FunctionGrader)
        else ColumnsRead()
    )


class RowWarnings:
    """Warns once of each column that is left out, and of graders whose first rows lack a column or have no score.

    Args:
        entries: The graders.
    """

    def __init__(self, entries: Sequence[Entry]) -> None:
        self._waiting = {entry.name: entry for entry in entries}
        self._columns: dict[str, None] = {}  # those of the first rows, in their order
        self._left_out: set[str] = set()

    def look(self, graded: RewardGrades, stats: RewardStats) -> None:
        """Warn about these rows, and about the graders that have seen enough of them."""
        for sentence in sorted({one for row in graded.rows for one in row.left_out} - self._left_out):
            self._left_out.add(sentence)
            warnings.warn(f"{sentence}: graders do not get it", RuntimeWarning, stacklevel=4)
        names = graded.parts.keys() & self._waiting.keys()
        if not names or not graded.rows:
            return
        first = [row.thread for row in graded.rows[:FIRST_ROWS] if row.thread is not None]
        # A new dict each time: other threads may be reading this one.
        self._columns = {**self._columns, **{key: None for thread in first for key in thread.metadata or ()}}
        graders = stats.graders
        for name in sorted(names):
            if graders[name].rows >= FIRST_ROWS and (entry := self._waiting.pop(name, None)) is not None:
                self._tell(entry, graded, graders[name])

    def _tell(self, entry: Entry, graded: RewardGrades, counts: GraderStats) -> None:
        lacking = self._lacking(entry) if self._columns or not counts.failed else ""
        if counts.scored and not lacking:
            return
        parts = [f"grader {entry.name!r} has had {counts.rows:,} rows"]
        if not counts.scored:
            kinds = ((counts.skipped, "skipped"), (counts.failed.total(), "failed"))
            said = ", ".join(f"{count:,} {what}" for count, what in kinds if count)
            parts = [f"grader {entry.name!r} has given no score to any of its first {counts.rows:,} rows ({said})",
                     _why(entry, graded)]  # fmt: skip
        parts += [lacking, "a mean continues without a grader that skips" if counts.skipped else ""]
        warnings.warn("; ".join(filter(None, parts)), RuntimeWarning, stacklevel=5)

    def _lacking(self, entry: Entry) -> str:
        """The columns that it reads and none of the first rows had."""
        columns = self._columns
        lacking = sorted(_read_by(entry).both - columns.keys())
        if not lacking:
            return ""
        passed = ", ".join(map(visible, columns)) or "none"
        # If the label is under every usual name, the trainer passed it without its column's name.
        hint = (
            f"reference={lacking[0]!r} if the trainer's label contains it"
            if set(LABEL_NAMES) <= columns.keys()
            else "name the column so in the data, or read an existing one"
        )
        return f"it reads the column {lacking[0]!r}, and the trainer passes {passed}: {hint}"


def _why(entry: Entry, graded: RewardGrades) -> str:
    grade = graded.parts[entry.name][0]
    why = str(grade.error) if grade.error else grade.reasoning or ""
    return f"the last: {visible(why[:200])}" if why else ""
