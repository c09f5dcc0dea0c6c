"""Warnings about data that graders do not get: columns that a trainer does not pass, and values that no worker can receive."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence

from workbench.core.display_text import visible
from workbench.data.samples.columns import LABEL_NAMES
from workbench.deploy.reward.grading import RewardGrades
from workbench.deploy.reward.stats import GraderStats, RewardStats
from workbench.graders import FunctionGrader
from workbench.graders.capture.analysis import ColumnsRead, columns_read
from workbench.graders.combine import Entry

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
