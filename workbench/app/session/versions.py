"""Versions of each grader of a session: those that a user saved, and those of the last two runs.

An edit is compared with them, and undo restores them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from itertools import count
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.app.session.grader_text import text_of
from workbench.graders import Grader
from workbench.graders.combine import Entry
from workbench.report import Report


@dataclass(frozen=True)
class SavedVersion:
    """One version of a grader.

    Attributes:
        number: Counts from 1.
        grader: The grader.
        text: Its text; see `grader_text.text_of`.
        at: When it was saved, in UTC.
        report: A report that contains its grades under its name; None before it has run.
    """

    number: int
    grader: Grader
    text: str
    at: datetime
    report: Report | None = field(default=None, repr=False)


@dataclass
class SavedVersions:
    """The versions of each grader of a session, by the grader's name."""

    _by_name: dict[str, tuple[SavedVersion, ...]] = field(default_factory=dict)

    def note(self, name: str, grader: Grader, *, report: Report | None = None) -> SavedVersion:
        """Save a grader as a new version; if it equals the last one, only its report is updated.

        Args:
            name: The grader's name in the session.
            grader: The grader.
            report: A report that contains its grades.
        """
        last = self.last(name)
        if last is not None and last.grader == grader:
            version = replace(last, report=report or last.report)
            self._by_name[name] = (*self._by_name[name][:-1], version)
        else:
            number = 1 if last is None else last.number + 1
            version = SavedVersion(number, grader, text_of(grader).text, datetime.now(UTC), report)
            self._by_name[name] = (*self.of(name), version)
        return version

    def of(self, name: str) -> tuple[SavedVersion, ...]:
        """The versions of a grader, the oldest first."""
        return self._by_name.get(name, ())

    def last(self, name: str) -> SavedVersion | None:
        """The version that was saved last; None for none."""
        versions = self.of(name)
        return versions[-1] if versions else None


BEFORE = " (before)"
"""Appended to the name of a grader's previous definition, with a number if a grader has that name."""


@dataclass(frozen=True)
class _Run:
    """The last run of one definition."""

    entry: Entry
    report: Report


@dataclass
class GraderVersions:
    """The last run of each grader, and the last run under another definition.

    Attributes:
        why_not: Why a changed grader cannot be compared with itself; "" if it can, or none was changed.
    """

    why_not: str = ""
    _last: dict[str, _Run] = field(default_factory=dict)
    _other: dict[str, _Run] = field(default_factory=dict)

    def note(self, report: Report, entries: Mapping[str, Entry]) -> None:
        """Record a run.

        Args:
            report: Its report.
            entries: What ran, by name.
        """
        for name in set(entries) & set(report.graders):
            previous_run = self._last.get(name)
            if previous_run is not None and previous_run.entry != entries[name]:
                self._other[name] = previous_run
            self._last[name] = _Run(entries[name], report)

    def note_edit(self, name: str, entry: Entry, report: Report, before: tuple[Entry, Report] | None) -> None:
        """Record the scores of an edited grader, and those of the version that it is compared with.

        Args:
            name: The grader.
            entry: What ran.
            report: Its report.
            before: The last saved version as it ran, and its report; None if there is none before the edit.
        """
        self._last[name] = _Run(entry, report)
        if before is not None and before[0] != entry:
            self._other[name] = _Run(*before)
        else:
            self._other.pop(name, None)

    def added_to(self, report: Report) -> Report:
        """A report with the previous scores of changed graders, on the rows that all of these runs have.

        Args:
            report: The last run's.

        Returns:
            The same report if there is nothing to add.
        """
        runs = {name: self._other[name].report for name in report.graders if name in self._other}
        self.why_not = ""
        if not runs:
            return report
        rows, *run_rows = shared_rows([report, *runs.values()])
        if not len(rows):
            self.why_not = "The runs before the change share no row with this one."
            return report
        # The rows are the same by construction, so texts are not compared.
        old_names = _old_names(runs, taken=report.graders)
        old_grades = {
            old_name: run.grades[name].take(numbers)
            for old_name, (name, run), numbers in zip(old_names, runs.items(), run_rows, strict=True)
        }
        merged = restricted(report, rows)
        return replace(merged, grades={**merged.grades, **old_grades})


def current_name(old_name: str) -> str:
    """The grader that a name of `added_to` refers to."""
    return old_name.rpartition(BEFORE[:-1])[0]


def _old_names(names: Iterable[str], taken: Iterable[str]) -> list[str]:
    """Names for the previous versions of these graders that no grader has."""
    used = set(taken)  # two graders' old versions never get the same name: it begins with the grader's
    old_names = []
    for name in names:
        candidates = (f"{name}{BEFORE}" if n == 1 else f"{name}{BEFORE[:-1]} {n})" for n in count(1))
        old_names.append(next(candidate for candidate in candidates if candidate not in used))
    return old_names


def shared_rows(reports: list[Report]) -> list[NDArray[np.intp]]:
    """Row numbers of the shared samples in each report, in the first one's order."""
    numbers = [{str(name): row for row, name in enumerate(report.samples.ids)} for report in reports]
    shared = [name for name in numbers[0] if all(name in other_numbers for other_numbers in numbers[1:])]
    return [np.array([rows[name] for name in shared], dtype=np.intp) for rows in numbers]


def restricted(report: Report, rows: NDArray[np.intp]) -> Report:
    """A report over some of its rows, in this order; the same report if these are all rows in order."""
    if len(rows) == len(report) and bool((rows == np.arange(len(report))).all()):
        return report
    labels = report.labels
    samples: Any = report.samples
    return replace(
        report,
        samples=samples.take(rows),
        grades={name: grades.take(rows) for name, grades in report.grades.items()},
        labels=None if labels is None else [labels[row] for row in rows],  # type: ignore[misc]
        gate=None,
        notes=(),
    )
