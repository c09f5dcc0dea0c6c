"""The grader list, one line each (name, validation, bar, verdict, mean), and the notice about a grader's other text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from workbench.analysis.finding import verdict_of
from workbench.app.session.edits import asks_models, waits_for
from workbench.app.session.grader_text import text_of
from workbench.app.view.conditions import shown_name
from workbench.app.view.graded import GradedRows
from workbench.graders import Grader, SandboxedGrader
from workbench.report.selection import Counts, counts_of, parts_of
from workbench.report.sentences import estimate

if TYPE_CHECKING:
    from workbench.app.session.session import Session
    from workbench.app.view.graded import Change
    from workbench.sandbox.host.validation import Validation


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
    return _stored(session, name)


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


def _stored(session: Session, name: str) -> dict[str, Any] | None:
    newest = session.stored.newest(name)
    if newest is None or newest.text == text_of(session.graders.by_name[name]).text:
        return None
    act = {"do": "bring_stored", "name": shown_name(name), "version": newest.version}
    return {
        "text": f"The store has version {newest.version} of it, with another text.", "link": "Use that version", "act": act,
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
        "was": _counts_before(change),
        "verdict": verdict_of(graded.findings(name), has_labels=graded.has_labels) if has_grades else None,
        "mean": None
        if summary is None
        else estimate(*(float(summary[key]) for key in ("mean", "mean_lo", "mean_hi"))),
        "say": "" if has_grades else _say(session, name),
        "stale": has_grades and (name in graders.unrun or name in session.live.edits),
        "letter": "",
    }


def _counts_before(change: Change | None) -> Counts | None:
    return None if change is None else counts_of(parts_of(change.before))


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
