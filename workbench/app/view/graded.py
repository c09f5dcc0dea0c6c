"""Statistics of one report for the view, each computed once, and the effect of a grader's edit on its rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from workbench.analysis.case import Case
from workbench.analysis.finding import Finding
from workbench.core.display_text import counted
from workbench.core.grades import Grades
from workbench.report import Report
from workbench.report.cases import label_codes, labelled_case
from workbench.report.selection import NO_PART, PARTS, Counts, counts_of, parts_of
from workbench.report.where import case_of

if TYPE_CHECKING:
    from workbench.app.session.session import Session
    from workbench.app.session.versions import SavedVersion


class GradedRows:
    """A report, read for the view.

    Args:
        report: The report; one without graders before a run.
        labels: Label of each row for display, (n,); None if there are none.
    """

    def __init__(self, report: Report, labels: list[bool | None] | None) -> None:
        self.report, self.labels = report, labels
        self._parts: dict[str, NDArray[np.int8]] = {}
        self._made: dict[tuple[str, str], Any] = {}

    def __contains__(self, name: str) -> bool:
        return name in self.report.grades

    def case(self, name: str) -> Case:
        """One grader's grades with the labels that rates use."""
        return case_of(self.report, name)

    def parts(self, name: str) -> NDArray[np.int8]:
        """The part of each row, (n,); see `bins.parts_of`."""
        if name not in self._parts:
            self._parts[name] = parts_of(self.case(name))
        return self._parts[name]

    @property
    def all_parts(self) -> dict[str, NDArray[np.int8]]:
        """`parts` of every grader."""
        return {name: self.parts(name) for name in self.report.grades}

    def counts(self, name: str) -> Counts:
        """Rows of each part."""
        return counts_of(self.parts(name))

    def findings(self, name: str) -> list[Finding]:
        """The findings about one grader, most severe first."""
        return self._findings.get(name, [])

    @cached_property
    def _findings(self) -> dict[str, list[Finding]]:
        by_name: dict[str, list[Finding]] = {}
        for finding in self.report.findings if self.report.grades else ():
            by_name.setdefault(finding.grader, []).append(finding)
        return by_name

    def once(self, part: str, name: str, make: Callable[[], Any]) -> Any:
        """A part of the state that depends only on the report, computed once per grader."""
        if (part, name) not in self._made:
            self._made[part, name] = make()
        return self._made[part, name]

    @cached_property
    def has_labels(self) -> bool:
        """Whether rates have any row that is labelled good or bad."""
        labels: Any = self.report.labels
        return labels is not None and any(label is not None for label in labels)

    def repeats_labels(self, cells: NDArray[Any]) -> bool:
        """Whether a column equals the labels, (n,): it would be constant among rows of one label."""
        codes, labels = pd.factorize(cells)[0], self._label_codes
        known = labels >= 0
        pairs = np.unique(codes[known] * 2 + labels[known])
        return len(pairs) <= 2 and len(np.unique(pairs // 2)) == len(pairs)

    @cached_property
    def _label_codes(self) -> NDArray[np.int8]:
        return label_codes(self.report)


_WORDS = {
    "bad_refused": ("bad", "known-bad {is_are} now rejected"),
    "bad_accepted": ("bad", "known-bad {is_are} now accepted"),
    "good_refused": ("good", "known-good {is_are} lost"),
    "good_accepted": ("good", "known-good {is_are} won"),
    "refused": ("note", "{is_are} now rejected"),
    "accepted": ("note", "{is_are} now accepted"),
    "no_score": ("failed", "{has_have} no score now"),
    "moved": ("note", "{has_have} another score"),
}
"""Part to its shape and a pill's text after the count."""


@dataclass(frozen=True)
class Change:
    """A grader before and after an edit, over the same rows.

    Attributes:
        version: The saved version it is compared with.
        grades: Grades of that version over the shown rows; missing for rows it did not grade.
        before: That version's case.
        now: The case of the shown grades.
        complete: Whether the version graded all of these rows.
    """

    version: SavedVersion
    grades: Grades
    before: Case
    now: Case
    complete: bool

    @cached_property
    def parts(self) -> dict[str, NDArray[np.intp]]:
        """Changed rows by their new part: the keys of the pills, without empty ones."""
        was, now = parts_of(self.before), parts_of(self.now)
        both = was != NO_PART
        turned = both & (was != now)
        rows = {name: np.flatnonzero(turned & (now == at)) for at, name in enumerate(PARTS[:6])}
        rows["no_score"] = np.flatnonzero(turned & (now >= PARTS.index("failed")))
        moved = both & ~turned & ~_same(self.before.grades.scores, self.now.grades.scores)
        rows["moved"] = np.flatnonzero(moved)
        return {name: each for name, each in rows.items() if len(each)}

    @property
    def rows(self) -> NDArray[np.intp]:
        """All rows with another verdict."""
        turned = [rows for name, rows in self.parts.items() if name != "moved"]
        return np.sort(np.concatenate([np.empty(0, np.intp), *turned]))


def _same(a: NDArray[np.float64], b: NDArray[np.float64]) -> NDArray[np.bool_]:
    same: NDArray[np.bool_] = (a == b) | (np.isnan(a) & np.isnan(b))
    return same


def find_change(session: Session, graded: GradedRows, name: str) -> Change | None:
    """The effect of the edits of a grader since its last saved version; None if it is that version, or did not run."""
    kept = session.kept.last(name)
    grader = session.graders.by_name.get(name)
    if kept is None or kept.report is None or name not in graded or grader is None or kept.grader == grader:
        return None
    if name not in kept.report.grades:
        return None
    report = graded.report
    rows = _rows_in(kept.report.samples, report.samples)
    same = kept.report.samples is report.samples
    grades = kept.report.grades[name] if same else _taken(kept.report.grades[name], rows)
    groups = np.zeros(len(report), np.intp)
    before = Case(
        name, grades, groups, graded.case(name).labels, graded.case(name).pass_threshold, report.scale
    )
    now = labelled_case(report, name, groups)
    return Change(kept, grades, before, now, bool((rows >= 0).all()))


def _rows_in(samples: Any, wanted: Any) -> NDArray[np.intp]:
    """Index of each wanted row among others, -1 for missing ones."""
    if samples is wanted:
        return np.arange(len(wanted), dtype=np.intp)
    places = {str(name): row for row, name in enumerate(samples.ids)}
    return np.array([places.get(str(name), -1) for name in wanted.ids], dtype=np.intp)


def _taken(grades: Grades, rows: NDArray[np.intp]) -> Grades:
    """Grades of these rows; missing ones if the index is below 0."""
    if bool((rows >= 0).all()):
        return grades.take(rows)
    taken = Grades.empty(len(rows))
    for row, place in enumerate(rows):
        if place >= 0:
            taken.put(row, grades[int(place)])
    return taken


def changed_data(change: Change, where: tuple[Any, ...]) -> dict[str, Any] | None:
    """The change as `Changed`; None if no row changed."""
    count = len(change.rows)
    moved = len(change.parts.get("moved", ()))
    rows = (
        counted(count, "row")
        if count or not moved
        else f"no verdict, but the scores of {counted(moved, 'row')}"
    )
    note = "" if change.complete else ", among those that both versions graded"
    return {
        "sentence": f"Your edit changed {rows if count or moved else 'no row'}{note}",
        "back": f"Restore version {change.version.number}",
        "pills": [
            _pill(part, len(rows), where)
            for part, rows in change.parts.items()
            if part != "moved" or not count
        ],
    }


def _pill(part: str, count: int, where: tuple[Any, ...]) -> dict[str, Any]:
    shape, words = _WORDS[part]
    verbs = {"is_are": "is" if count == 1 else "are", "has_have": "has" if count == 1 else "have"}
    condition = {"changed": part}
    return {
        "shape": shape, "text": f"{count:,} {words.format(**verbs)}", "where": [condition], "on": condition in where,
    }  # fmt: skip
