"""What graders are not given: columns that a trainer does not pass, and what cannot be sent to a worker; each said once."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence

from workbench.capturing.columns_read import ColumnsRead, columns_read
from workbench.display_text import visible
from workbench.graders import FunctionGrader
from workbench.graders.combine import Entry
from workbench.rewards.grading import Graded
from workbench.rewards.rows import REFERENCE_NAMES, Row
from workbench.rewards.stats import GraderStats, RewardStats

__all__ = ["FIRST_ROWS", "RowWarnings", "warn_of_label_alone"]

FIRST_ROWS = 32
"""Rows without any score of a grader after which that is said: a few honest failures are not many in a row."""


def warn_of_label_alone(entries: Iterable[Entry], trainer: str, reference: str) -> None:
    """Warn of graders that read columns, where a trainer's rows bring their label alone."""
    for entry in entries:
        for column in sorted(_read_by(entry).both - {*REFERENCE_NAMES, reference}):
            warnings.warn(
                f"grader {entry.name!r} reads the column {column!r}, and {trainer} passes a row's label alone: "
                f"wb.reward(..., reference={column!r}) if that is what the label holds",
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
    """Warns once of each column that is left out, and of each grader that has given no score to any of its first rows.

    Args:
        entries: The graders.
    """

    def __init__(self, entries: Sequence[Entry]) -> None:
        self._waiting = {entry.name: entry for entry in entries}
        self._left_out: set[str] = set()

    def look(self, graded: Graded, stats: RewardStats) -> None:
        """Warn of what these rows left out, and of graders that have had enough rows by now, and none with a score."""
        for sentence in sorted({one for row in graded.rows for one in row.left_out} - self._left_out):
            self._left_out.add(sentence)
            warnings.warn(
                f"{sentence}: it is left out of what graders are given", RuntimeWarning, stacklevel=4
            )
        names = graded.parts.keys() & self._waiting.keys()
        graders = stats.graders if names else {}
        for name in names:
            counts = graders[name]
            if not counts.scored and counts.rows < FIRST_ROWS:
                continue
            entry = self._waiting.pop(name, None)
            if entry is not None and not counts.scored:
                warnings.warn(_sentence(entry, graded, counts), RuntimeWarning, stacklevel=4)


def _sentence(entry: Entry, graded: Graded, counts: GraderStats) -> str:
    said = [
        f"{count:,} {what}"
        for count, what in ((counts.skipped, "skipped"), (counts.failed.total(), "failed"))
        if count
    ]
    head = f"grader {entry.name!r} has given no score to any of its first {counts.rows:,} rows ({', '.join(said)})"
    parts = [
        head,
        _why(entry, graded),
        _lacking(entry, graded.rows),
        "a mean goes on without a grader that skips",
    ]
    return "; ".join(filter(None, parts))


def _why(entry: Entry, graded: Graded) -> str:
    grade = graded.parts[entry.name][0]
    why = str(grade.error) if grade.error else grade.reasoning or ""
    return f"the last: {visible(why[:200])}" if why else ""


def _lacking(entry: Entry, rows: Sequence[Row]) -> str:
    """The columns that it reads and a row has not."""
    thread = rows[0].thread
    there = list(thread.metadata or {}) if thread is not None else []
    lacking = sorted(_read_by(entry).both - set(there))
    if not lacking:
        return ""
    passed = ", ".join(map(visible, there)) or "none"
    # Where the label stands under every usual name, the trainer passed it without its column's name.
    is_labelled = set(REFERENCE_NAMES) <= set(there)
    hint = (
        f"reference={lacking[0]!r} if the trainer's label is what it holds"
        if is_labelled
        else "name the column so in the data, or read one that is there"
    )
    return f"it reads the column {lacking[0]!r}, and the trainer passes {passed}: {hint}"
