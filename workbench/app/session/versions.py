"""Versions of the graders of a session: saved in it, of its last two runs, and in the store by name.

An edit is compared with them, and undo restores them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from itertools import count
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from traitlets import Any as AnyTrait
from traitlets import HasTraits

from workbench.app.session.action import LastCode, keep_code, stored_version_code
from workbench.app.session.grader_text import text_of, with_client_of
from workbench.core.errors import WorkbenchError
from workbench.graders import Grader
from workbench.graders.combine import Entry
from workbench.graders.serialization import spec_of
from workbench.report import Report

if TYPE_CHECKING:
    from workbench.app.session.action import ActionGuard
    from workbench.app.session.graders import GraderList
    from workbench.app.session.storage import Storage
    from workbench.graders import Grader
    from workbench.store import Store
    from workbench.store.graders import GraderEntry


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


class StoredText(NamedTuple):
    """The newest version of a grader in a store, when it was saved (UTC), and its text for the editor."""

    version: int
    saved: datetime
    text: str


class GraderStorage(HasTraits):
    """The graders of a store, and which of a session's graders were saved there.

    Traits (observe them; set them through the methods):
        versions: Name to the grader that was saved here under that name, and its version in the store.

    Args:
        graders: The session's graders.
        storage: The store.
        guard: Its lock is held during changes.
        code: Gets the lines that repeat an action.
    """

    versions: Any = AnyTrait()

    def __init__(self, graders: GraderList, storage: Storage, *, guard: ActionGuard, code: LastCode) -> None:
        super().__init__()
        self._graders, self._storage = graders, storage
        self._guard, self._code = guard, code
        self.versions = {}
        self._newest: dict[str, StoredText | None] = {}

    def keep(self, name: str) -> None:
        """Save a grader of the session under its name. Called without the lock: it is validated first.

        Raises:
            WorkbenchError: It is not valid, has no form that can be saved, or is locked in the store.
        """
        grader = self._graders.by_name[name]
        try:
            entry, change = _keep(self._storage.store, name, grader)
        finally:
            # Also if nothing was saved: validation has run, and its result is shown.
            self._graders.note_validation(name, grader)
        with self._guard.lock:
            self._newest.pop(name, None)
            self.versions = {**self.versions, name: (grader, entry.version)}
            if change:
                self._code.text = keep_code(self._storage, name, change)

    def version_of(self, name: str) -> int:
        """The version under which exactly this grader was saved here; 0 if it was not."""
        grader, version = self.versions.get(name, (None, 0))
        return version if grader == self._graders.by_name.get(name) else 0

    def newest(self, name: str) -> StoredText | None:
        """The store's entry for a grader's name; None if it has none that can be read. Read again after `reload`."""
        if self._storage.in_memory:
            return None
        if name not in self._newest:
            self._newest[name] = self._read_newest(name)
        return self._newest[name]

    def _read_newest(self, name: str) -> StoredText | None:
        stored = self._storage.store.graders
        try:
            entry = stored.entry(name)
            return StoredText(entry.version, entry.updated, text_of(stored.get(name)).text)
        except WorkbenchError:  # no such name, or a kind that is not registered here
            return None

    def reload(self) -> None:
        """Read the store again: a cell, or another notebook, may have saved or deleted something."""
        self._newest = {}

    def take(self, name: str, version: int) -> None:
        """Replace a session's grader with a version from the store; `restore` undoes it.

        Args:
            name: The grader's name, here and in the store.
            version: Its version in the store.

        Raises:
            StoreError: There is no such version, or it was deleted.
            FormatError: Of a kind that is not registered here.
        """
        stored = self._storage.store.graders
        stored.entry(name)  # raises for a deleted grader, whose versions could still be read
        with self._guard.lock:
            grader = with_client_of(self._graders.by_name[name], stored.get(name, version))
            self._graders.exchange(name, grader)
            self.versions = {**self.versions, name: (grader, version)}
            self._code.text = stored_version_code(self._storage, name, version)

    def names(self) -> list[str]:
        """Names of the graders in the store; none if it is in memory."""
        return [] if self._storage.in_memory else _names(self._storage.store)

    def text(self, name: str) -> str:
        """The text of a grader in the store, for the editor. Nothing of it runs.

        Raises:
            StoreError: There is no such grader.
            FormatError: Of a kind that is not registered here.
        """
        return text_of(self._storage.store.graders.get(name)).text

    def forget(self) -> None:
        """Record that the store is gone, with everything that was saved in it."""
        self.versions, self._newest = {}, {}


def _keep(store: Store, name: str, grader: Grader) -> tuple[GraderEntry, str]:
    """Validate a grader and save it under a name; if the store has the same already, nothing is written.

    Returns:
        Its entry in the store, and what changed there: "create", "edit" or "".

    Raises:
        ValidationError: A source of it is not valid.
        CaptureError: It has no form that can be saved, such as a function of the notebook.
        StoreError: The name is not valid for a store, or it is locked there.
    """
    if name not in _names(store):
        return store.graders.create(name, grader), "create"
    if spec_of(store.graders.get(name)) == spec_of(grader):
        return store.graders.entry(name), ""
    return store.graders.edit(name, grader), "edit"


def _names(store: Store) -> list[str]:
    return [entry.key for entry in store.graders.list()]
