"""The selected grader: its text, its checks, its edit's effect, its most severe finding, its scores."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from workbench.analysis.diagnostics import Finding
from workbench.analysis.diagnostics.verdicts import leading
from workbench.app.session.grader_text import text_of
from workbench.app.session.validations import waits_for
from workbench.app.view.changes import Change, changed_data
from workbench.app.view.conditions import Condition
from workbench.app.view.graded import GradedRows
from workbench.app.view.names import shown_name
from workbench.app.view.origin import origin_data
from workbench.app.view.other_text import is_refused, notice_data
from workbench.app.view.rail import check_name, failed_check, kind_words
from workbench.app.view.scores import scores_data
from workbench.core.display_text import one_line, visible
from workbench.graders import Grader, SandboxedGrader
from workbench.report.finding_parts import finding_data

if TYPE_CHECKING:
    from workbench.app.session.edits import Edit
    from workbench.app.session.session import Session
    from workbench.sandbox.host.validation import Validation

__all__ = ["chosen_data", "nothing_chosen", "shown_text"]

_CHECKS = ("syntax", "structure", "signature", "execution", "test_run")
_LINE = re.compile(r"\bline (\d+)")
_MAX_FINDINGS = 8
_MAX_CHARACTERS = 64 * 1024  # the largest source of a grader

_ISOLATION = {
    "kernel": "isolated", "partial": "partly isolated", "process": "own process", "none": "not isolated", "wasm": "isolated",
}  # fmt: skip


def nothing_chosen() -> dict[str, Any]:
    """`Chosen` without a grader."""
    return {
        "name": "", "title": "", "version": 0, "kept": True, "can_keep": False, "stored": 0, "draft": False,
        "source": {"text": "", "language": "", "editable": False, "revision": 0, "error": None, "file": ""},
        "checks": [], "isolation": {"word": "", "tip": ""}, "seq": 0, "changed": None, "finding": None, "more": [],
        "scores": None, "from": None, "say": "", "waits": "", "refused": False, "notice": None,
    }  # fmt: skip


def chosen_data(
    session: Session,
    graded: GradedRows,
    name: str,
    *,
    change: Change | None,
    where: tuple[Condition, ...],
    revision: int,
    isolation: Mapping[str, str],
) -> dict[str, Any]:
    """A grader as `Chosen`.

    Args:
        session: The session.
        graded: The report that is shown.
        name: The grader.
        change: The effect of its edit; None for none.
        where: The chips above the rows.
        revision: Counts its texts that were not typed on this page.
        isolation: `level` and `label` of this machine's sandbox; empty while they are being determined.
    """
    grader = session.graders.by_name[name]
    edit: Edit | None = session.live.edits.get(name)
    validation = (
        edit.validation
        if edit is not None and (edit.validation or edit.error)
        else session.graders.validations.get(name)
    )
    draft = name in session.graders.drafts
    has_grades = name in graded and not draft
    kept = session.kept.last(name)
    version = 1 if kept is None else kept.number + (kept.grader != grader)
    return {
        **nothing_chosen(),
        "name": shown_name(name),
        "title": kind_words(grader),
        "version": version,
        "kept": kept is None or kept.grader == grader,
        "can_keep": not draft and edit is None,
        "stored": session.stored.version_of(name),
        "draft": draft,
        "source": _source(grader, session.live.text_of(name), edit, validation) | {"revision": revision},
        "checks": _checks(grader, edit, validation, is_working=bool(session.live.working)),
        "isolation": _isolation(grader, isolation),
        "seq": session.live.answered.get(name, 0),
        "changed": None if change is None else changed_data(change, where),
        "waits": waits_for(grader),
        "refused": has_grades and is_refused(session, name),
        "notice": notice_data(session, name, has_grades=has_grades),
        **(
            graded.once("chosen", name, lambda: _graded(graded, name))
            if has_grades
            else {"say": _say(session, name, validation)}
        ),
    }


# ---- the text and its checks


def shown_text(session: Session, name: str) -> str:
    """A grader's text for the editor: as typed, else as exported."""
    typed = session.live.text_of(name)
    return text_of(session.graders.by_name[name]).text if typed is None else typed


def _source(
    grader: Grader, typed: str | None, edit: Edit | None, validation: Validation | None
) -> dict[str, Any]:
    text = text_of(grader)
    shown = text.text if typed is None else typed
    # Typing would lose what is cut or hidden here.
    editable = bool(text.language) and len(shown) <= _MAX_CHARACTERS and visible(shown) == shown
    return {
        "text": shown if editable else visible(shown[:_MAX_CHARACTERS]),
        "language": text.language,
        "editable": editable,
        "error": _error(edit, validation),
        "file": text.file,
    }


def _error(edit: Edit | None, validation: Validation | None) -> dict[str, Any] | None:
    """The error in the text and its line; None for none."""
    if edit is not None and edit.error:
        return {"line": _line_of(edit.error), "message": visible(edit.error[:600])}
    failed = (
        None if validation is None else next((check for check in validation.checks if not check.passed), None)
    )
    if failed is None or validation is None:
        return None
    before = [check.message for check in validation.checks if check.passed]
    return {"line": _line_of(failed.message, *before[::-1]), "message": visible(failed.message[:600])}


def _line_of(*messages: str) -> int:
    """The line that a message refers to; the function's if it names none."""
    return next((int(match[1]) for message in messages if (match := _LINE.search(message))), 1)


def _checks(
    grader: Grader, edit: Edit | None, validation: Validation | None, *, is_working: bool
) -> list[dict[str, str]]:
    if not isinstance(grader, SandboxedGrader):
        return []
    unknown = edit is not None and edit.is_open
    done = {} if validation is None or unknown else {check.name: check for check in validation.checks}
    states = dict.fromkeys(_CHECKS, "busy" if unknown and is_working else "open")
    states |= {name: "ok" if check.passed else "failed" for name, check in done.items()}
    return [
        {
            "name": check_name(name),
            "state": state,
            "message": one_line(done[name].message, 300) if name in done else "",
        }
        for name, state in states.items()
    ]


def _isolation(grader: Grader, isolation: Mapping[str, str]) -> dict[str, str]:
    if not isinstance(grader, SandboxedGrader) or not isolation:
        return {"word": "", "tip": ""}
    return {"word": _ISOLATION.get(isolation["level"], isolation["level"]), "tip": isolation["label"]}


# ---- its findings


def _graded(graded: GradedRows, name: str) -> dict[str, Any]:
    findings = graded.findings(name)
    lead = leading(findings)
    others = [finding for finding in findings if finding is not lead][:_MAX_FINDINGS]
    return {
        "finding": None if lead is None else finding_data(lead),
        "more": [finding_data(finding) for finding in others],
        "scores": scores_data(graded.case(name), graded.parts(name), graded.report.columns.n_prompts),
        "from": _origin(graded, name, lead),
        "say": "" if lead is not None else "No diagnostic found a fault in these rows.",
    }


def _origin(graded: GradedRows, name: str, lead: Finding | None) -> dict[str, Any] | None:
    """Where the evidence rows of the most severe finding come from."""
    if lead is None or not lead.is_verdict or not len(lead.rows):
        return None
    case = graded.case(name)
    label = {"too-lenient": 0, "accepts-known-bad": 0, "too-strict": 1}.get(lead.kind)
    base = np.arange(len(graded.report)) if label is None else case.rows[case.labels[case.rows] == label]
    where = finding_data(lead)["where"]
    columns = {
        name: cells
        for name, cells in graded.report.columns.few_valued.items()
        if not graded.repeats_labels(cells)
    }
    return origin_data(columns, np.array(lead.rows, dtype=np.intp), base, graded.parts(name), where)


def _say(session: Session, name: str, validation: Validation | None) -> str:
    """What to do if there are no grades."""
    if name in session.live.edits and session.live.edits[name].error:
        return "Not run: this text is not a valid grader yet."
    if validation is not None and not validation.ok:
        number, check = failed_check(validation)
        return f"Not run: check {number} of {len(_CHECKS)} fails, {check}. Once all pass, the drawn rows are graded."
    if why := waits_for(session.graders.by_name[name]):
        return f"Not run yet: it {why}. Press Run."
    if name not in session.graders.chosen:
        return "Not part of the run: select it on the left."
    return "Grading." if session.live.active else "Not run yet. Press Run."
