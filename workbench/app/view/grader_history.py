"""The versions of a grader: saved in this session, saved in the store, and the current one."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING

from workbench.analysis.diagnostics import Finding
from workbench.app.session.grader_text import text_of
from workbench.core.errors import WorkbenchError
from workbench.graders import Grader, SandboxedGrader
from workbench.graders.capture.source import Source
from workbench.report import Report

if TYPE_CHECKING:
    from workbench.app.session.saved_versions import SavedVersion, SavedVersions
    from workbench.app.session.session import Session
    from workbench.store.graders import GraderEvent
    from workbench.store.runs import StoredRun

__all__ = ["MAX_VERSIONS", "GraderHistory", "Version", "changed_lines", "findings_of", "first_new_line"]

MAX_VERSIONS = 50
"""Maximum number of versions and runs to read from the store."""

_COMPARED = 2_000  # maximum lines of a text to compare
_CONTEXT = 400  # maximum lines for which a difference shows the whole text
_AROUND = 3  # lines around a change in a longer one


@dataclass(frozen=True)
class Version:
    """One version of a grader.

    Attributes:
        id: Its id on the page.
        title: Its title, such as "v3".
        grader: The grader.
        text: Its text; see `grader_text.text_of`.
        at: When it was saved, in UTC; None for the current grader.
        report: A report with its grades; None if this session has none.
        run: The last run of exactly this source in the store; None for none.
        stored: Its version in the store; 0 for none.
    """

    id: str
    title: str
    grader: Grader
    text: str
    at: datetime | None = None
    report: Report | None = None
    run: StoredRun | None = None
    stored: int = 0


class GraderHistory:
    """The known versions of a session's graders. The store is read once.

    Args:
        session: Whose graders.
        kept: The versions of this session.
    """

    def __init__(self, session: Session, kept: SavedVersions) -> None:
        self._session, self._kept = session, kept
        self._stored: dict[tuple[int, str, int], Grader | None] = {}
        self._relabelled: dict[int, tuple[Report, Report]] = {}

    def versions(self, name: str, runs: Sequence[StoredRun]) -> list[Version]:
        """The versions of a grader, the oldest first.

        Args:
            name: The grader.
            runs: Runs over this dataset, the newest first.
        """
        stored = self._of_store(name, runs)
        kept = self._of_session(name, stored)
        own_texts = {version.text for version in kept}
        versions = [version for version in stored if version.text not in own_texts] + kept
        return [*versions, *self._as_it_is(name, versions)]

    def _of_session(self, name: str, stored: Sequence[Version]) -> list[Version]:
        in_store = {version.text: version for version in stored}
        return [
            _kept_version(kept, in_store.get(kept.text), self._as_labelled_now(kept.report))
            for kept in self._kept.of(name)
        ]

    def _as_labelled_now(self, report: Report | None) -> Report | None:
        """A version's report with the labels of the shown report, so that rates of versions are comparable."""
        shown: Report | None = self._session.results.report
        if (
            report is None
            or shown is None
            or report.samples is not shown.samples
            or report.labels == shown.labels
        ):
            return report
        known = self._relabelled.get(id(report))
        if known is None or known[0] is not report or known[1].labels != shown.labels:
            known = (report, replace(report, labels=shown.labels))
            self._relabelled[id(report)] = known
        return known[1]

    def _as_it_is(self, name: str, versions: Sequence[Version]) -> list[Version]:
        """The grader in the list, if it is not one of the versions."""
        grader = self._session.graders.by_name.get(name)
        if grader is None:
            return []
        text = text_of(grader).text
        if versions and versions[-1].text == text:
            return []
        return [Version("now", "now", grader, text, None, self._session.report_of(name))]

    # ---- the store

    def _of_store(self, name: str, runs: Sequence[StoredRun]) -> list[Version]:
        versions = []
        for event in self._events(name):
            grader = self._grader(name, event.version)
            if grader is not None:
                title = f"stored {event.version}"
                text = text_of(grader).text
                run = _run_of(grader, name, runs)
                versions.append(
                    Version(f"s{event.version}", title, grader, text, event.at, None, run, event.version)
                )
        return versions

    def _events(self, name: str) -> list[GraderEvent]:
        """The versions saved under this name, the oldest first; empty if the store does not have the name."""
        storage = self._session.storage
        if storage.in_memory:
            return []
        try:
            events = list(storage.store.graders.history(name))
        except WorkbenchError:
            return []
        return [event for event in events if event.action in {"create", "edit"}][-MAX_VERSIONS:]

    def _grader(self, name: str, version: int) -> Grader | None:
        """A version from the store, read once; None for one that cannot be read here."""
        store = self._session.storage.store
        key = (id(store), name, version)
        if key not in self._stored:
            try:
                self._stored[key] = store.graders.get(name, version)
            except WorkbenchError:
                self._stored[key] = None
        return self._stored[key]


def _kept_version(kept: SavedVersion, same: Version | None, report: Report | None) -> Version:
    """A version of this session; `same` is the store's version with its text."""
    run, stored = (None, 0) if same is None else (same.run, same.stored)
    number = f"v{kept.number}"
    return Version(number, number, kept.grader, kept.text, kept.at, report, run, stored)


def _run_of(grader: Grader, name: str, runs: Sequence[StoredRun]) -> StoredRun | None:
    """The last run of exactly this source under this name."""
    if not isinstance(grader, SandboxedGrader):
        return None
    digest = Source(grader.source.text).sha256
    return next((run for run in runs if run.sources.get(name) == digest), None)


def findings_of(version: Version, name: str) -> list[Finding]:
    """The findings about a version, most severe first; empty if it has not run."""
    source = version.report or version.run
    return [finding for finding in source.findings if finding.grader == name] if source is not None else []


# ---- differences of texts


def first_new_line(before: str, text: str) -> str:
    """The first line that an earlier text does not have; "" for none."""
    lines = changed_lines(before, text)
    return next((line.strip() for kind, line in lines if kind == "+" and line.strip()), "")


def changed_lines(before: str, text: str) -> list[tuple[str, str]]:
    """Two texts line by line: "-" for removed lines, "+" for added ones, "" for unchanged ones.

    For long texts only the lines around the changes.
    """
    old, new = (each.splitlines()[:_COMPARED] for each in (before, text))
    matcher = difflib.SequenceMatcher(None, old, new, autojunk=len(old) + len(new) > _COMPARED)
    around = max(len(old), len(new)) if len(old) + len(new) <= _CONTEXT else _AROUND
    lines: list[tuple[str, str]] = []
    for group in (
        matcher.get_grouped_opcodes(around) if old != new else [[("equal", 0, len(old), 0, len(new))]]
    ):
        lines += [("", "…")] if lines else []
        for kind, old_from, old_to, new_from, new_to in group:
            same = kind == "equal"
            lines += [("" if same else "-", line) for line in old[old_from:old_to]]
            lines += [("+", line) for line in ([] if same else new[new_from:new_to])]
    return lines
