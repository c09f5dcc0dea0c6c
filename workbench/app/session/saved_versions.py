"""Versions of each grader that a user saved in this session: an edit is compared with them, and undo restores them."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

from workbench.app.session.grader_text import text_of
from workbench.graders import Grader
from workbench.report import Report

__all__ = ["SavedVersion", "SavedVersions"]


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
