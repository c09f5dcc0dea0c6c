"""The grader list: one line each, a report's statistics for it, each computed once, and the effect of an edit."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from workbench.analysis.case import Case
from workbench.analysis.coded_column import CodedColumn
from workbench.analysis.finding import Finding, verdict_of
from workbench.app.session.grader_text import asks_models, text_of, waits_for
from workbench.app.view.texts import shown_name
from workbench.core.display_text import counted
from workbench.core.errors import StoreError
from workbench.core.grades import Grades
from workbench.graders import Grader, SandboxedGrader
from workbench.report import Report
from workbench.report.cases import label_codes, labelled_case
from workbench.report.selection import NO_PART, PARTS, Counts, counts_of, parts_of
from workbench.report.sentences import estimate
from workbench.report.where import case_of

if TYPE_CHECKING:
    from workbench.app.session.session import Session
    from workbench.app.session.versions import SavedVersion
    from workbench.sandbox.host.validation import Validation


_REPEATS = 0.95
"""Share of the rows of each label with one value, from which a column is taken for the labels. Workbench default."""


class GradedRows:
    """A report, read for the view.

    Args:
        report: The report; one without graders before a run.
        labels: Label of each row for display, (n,); None if there are none.
        earlier: Findings by grader about the grades before, shown until `diagnosed`; None if the report is diagnosed.
    """

    def __init__(
        self,
        report: Report,
        labels: list[bool | None] | None,
        earlier: dict[str, list[Finding]] | None = None,
    ) -> None:
        self.report, self.labels, self._earlier = report, labels, earlier
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
        return self.shown_findings.get(name, [])

    def diagnosed(self) -> None:
        """Show the report's own findings from now on."""
        if self._earlier is not None:
            self._earlier = None
            self._made.clear()

    @property
    def shown_findings(self) -> dict[str, list[Finding]]:
        """The findings that are shown, by grader."""
        return self._by_grader if self._earlier is None else self._earlier

    @cached_property
    def _by_grader(self) -> dict[str, list[Finding]]:
        """The report's own findings, by grader."""
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

    def repeats_labels(self, column: CodedColumn) -> bool:
        """Whether a column equals the labels of nearly all rows, n cells: it would be constant among rows of one label.

        Nearly, since a label that a user changed in the app differs from the column that it came from.
        """
        codes, labels = column.codes, self._label_codes
        sides = [codes[labels == label] for label in (0, 1)]
        if not all(map(len, sides)):
            return False
        most = [np.bincount(side - side.min()).argmax() + side.min() for side in sides]
        return most[0] != most[1] and all(
            (side == value).mean() >= _REPEATS for side, value in zip(sides, most, strict=True)
        )

    @cached_property
    def _label_codes(self) -> NDArray[np.int8]:
        return label_codes(self.report)


CHANGES = {
    "bad_refused": ("good", "known-bad {is_are} now rejected"),
    "bad_accepted": ("bad", "known-bad {is_are} now accepted"),
    "good_refused": ("bad", "known-good {is_are} lost"),
    "good_accepted": ("good", "known-good {is_are} won"),
    "refused": ("note", "{is_are} now rejected"),
    "accepted": ("note", "{is_are} now accepted"),
    "no_score": ("failed", "{has_have} no score now"),
    "moved": ("note", "{has_have} another score"),
}
"""Part to its shape, and the text after the count. The shape shows whether the change is an improvement."""


def change_text(part: str, count: int, noun: str = "") -> str:
    """How many rows an edit moved to a part, such as "2 known-bad are now rejected".

    Args:
        part: A key of `CHANGES`.
        count: Rows.
        noun: What rows they are, if the text does not contain it; it ends with a space.
    """
    verbs = {"is_are": "is" if count == 1 else "are", "has_have": "has" if count == 1 else "have"}
    return f"{count:,} {noun}{CHANGES[part][1].format(**verbs)}"


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
    condition = {"changed": part}
    return {
        "shape": CHANGES[part][0], "text": change_text(part, count), "where": [condition], "on": condition in where,
    }  # fmt: skip


def is_refused(session: Session, name: str) -> bool:
    """Whether the text typed for a grader is invalid or fails validation: the shown grades belong to the text before it."""
    edit = session.live.edits.get(name)
    return edit is not None and not edit.is_open


def notice_data(session: Session, name: str, *, has_grades: bool) -> dict[str, Any] | None:
    """A notice about the other text, and the action that opens it, as `Notice`; None if there is none.

    Args:
        session: The session.
        name: The grader.
        has_grades: Whether grades of it are shown.
    """
    if is_refused(session, name):
        return _refused(session, name) if has_grades else None
    if name in session.live.edits or name in session.edited_names:
        return None  # another grader is being edited
    return _stored(session, name) or (_labels(session) if has_grades else None)


def _refused(session: Session, name: str) -> dict[str, Any]:
    kept = session.kept.last(name)
    is_kept = kept is not None and kept.grader == session.graders.by_name[name]
    which = (
        f"version {kept.number}" if kept is not None and is_kept else "the last text that passed its checks"
    )
    back = f"Restore version {kept.number}" if kept is not None else ""
    return {
        "text": f"This text is not graded: the results shown are of {which}.", "link": back, "act": {"do": "back", "name": shown_name(name)},
    }  # fmt: skip


def _labels(session: Session) -> dict[str, Any] | None:
    """Which labels the findings and the figure do not use."""
    report, update = session.results.report, {"do": "use_labels"}
    try:
        changed, left_out = (
            report is not None and session.labels.differ_from(report),
            session.labels.n_left_out,
        )
    except StoreError:  # the toolbar shows it
        return None
    if changed:
        return {"text": "Labels changed since these findings.", "link": "Update", "act": update}
    if left_out:
        text = f"{counted(left_out, 'label')} of rows that you chose yourself: shown, but not used in rates."
        return {"text": text, "link": "", "act": update}
    return None


def _stored(session: Session, name: str) -> dict[str, Any] | None:
    newest = session.stored.newest(name)
    if newest is None or newest.text == text_of(session.graders.by_name[name]).text:
        return None
    act = {"do": "bring_stored", "name": shown_name(name), "version": newest.version}
    return {
        "text": f"The store has another text of it, saved {newest.saved:%Y-%m-%d %H:%M} UTC.", "link": "Use that text", "act": act,
        "other": {"link": "Keep this text", "act": {"do": "keep", "name": shown_name(name)}},
    }  # fmt: skip


_KINDS = {"function": "Python function", "script": "JavaScript function", "custom": "function of this kernel"}
_CHECKS = ("syntax", "structure", "signature", "execution", "test_run")


def kind_words(grader: Grader) -> str:
    """The title of a grader's kind."""
    return _KINDS.get(grader.kind, grader.kind.replace("-", " "))


def check_name(name: str) -> str:
    """A check's title."""
    return name.replace("_", " ")


def rail_data(
    session: Session, graded: GradedRows, chosen: str, changes: dict[str, Change]
) -> dict[str, Any]:
    """The graders as `Rail`.

    Args:
        session: The session.
        graded: The report that is shown.
        chosen: The grader in the middle.
        changes: The effect of its edit, by grader.
    """
    graders = session.graders
    drafts = set(graders.drafts)
    lines = {name: _line(session, graded, name, changes.get(name)) for name in graders.by_name}
    return {
        "lines": [line for name, line in lines.items() if name not in drafts],
        "drafts": [line for name, line in lines.items() if name in drafts],
        "in_run": len(graders.chosen),
        "has_labels": graded.has_labels,
        "chosen": shown_name(chosen),
        "removed": shown_name(graders.removed[-1].name) if graders.removed else "",
    }


def _line(session: Session, graded: GradedRows, name: str, change: Change | None) -> dict[str, Any]:
    graders = session.graders
    grader = graders.by_name[name]
    has_grades = name in graded and name not in graders.drafts
    summary: Any = graded.report.summary.loc[name] if has_grades else None
    return {
        "name": shown_name(name),
        "kind": kind_words(grader),
        "ticked": name in graders.chosen,
        "validation": "failed"
        if is_refused(session, name)
        else _validation(grader, graders.validations.get(name)),
        "counts": graded.counts(name) if has_grades else None,
        "was": None if change is None else counts_of(parts_of(change.before)),
        "verdict": verdict_of(graded.findings(name), has_labels=graded.has_labels) if has_grades else None,
        "mean": None
        if summary is None
        else estimate(*(float(summary[key]) for key in ("mean", "mean_lo", "mean_hi"))),
        "say": "" if has_grades else _say(session, name),
        "stale": has_grades and (name in graders.unrun or name in session.live.edits),
        "undiagnosed": name in session.results.undiagnosed,
        "letter": "",
    }


def _validation(grader: Grader, validation: Validation | None) -> str:
    if not isinstance(grader, SandboxedGrader):
        return "rule"
    return "not_validated" if validation is None else "validated" if validation.ok else "failed"


def _say(session: Session, name: str) -> str:
    """The text shown instead of a verdict."""
    grader, validation = session.graders.by_name[name], session.graders.validations.get(name)
    if validation is not None and not validation.ok:
        number, check = failed_check(validation)
        return f"check {number} of {len(_CHECKS)} fails: {check}"
    if name in session.live.working:
        return "grading"
    if asks_models(grader):
        return "judge, waits for Run"
    if why := waits_for(grader):
        return f"{why.partition(',')[0]}, waits for Run"
    return "not run yet" if name in session.graders.chosen else "not part of the run"


def failed_check(validation: Validation) -> tuple[int, str]:
    """Number from 1 and name of the check that failed."""
    failed = next(check.name for check in validation.checks if not check.passed)
    return _CHECKS.index(failed) + 1 if failed in _CHECKS else len(validation.checks), check_name(failed)
