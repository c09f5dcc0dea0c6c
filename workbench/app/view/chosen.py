"""The selected grader: its text, its checks, its scores, its most severe finding, and where the evidence rows come from."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from itertools import pairwise
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from workbench.analysis.case import Case
from workbench.analysis.coded_column import CodedColumn
from workbench.analysis.finding import Finding, leading
from workbench.app.session.grader_text import text_of, waits_for
from workbench.app.view.rail import (
    Change,
    GradedRows,
    changed_data,
    check_name,
    failed_check,
    is_refused,
    kind_words,
    notice_data,
)
from workbench.app.view.texts import shown_name
from workbench.core.display_text import counted, one_line, visible
from workbench.data.samples.row_drawing import written_column
from workbench.graders import Grader, SandboxedGrader
from workbench.report.sample_columns import WRITER_COLUMNS
from workbench.report.selection import PARTS, Rows, counts_of, edges_of
from workbench.report.sentences import finding_data
from workbench.report.where import Condition

if TYPE_CHECKING:
    from workbench.app.session.grader_text import Edit
    from workbench.app.session.session import Session
    from workbench.sandbox.host.validation import Validation


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
        "undiagnosed": False,
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
        "undiagnosed": name in session.results.undiagnosed,
        "notice": notice_data(session, name, has_grades=has_grades),
        **(
            graded.once("chosen", name, lambda: _graded(graded, name))
            if has_grades
            else {"say": _say(session, name, validation)}
        ),
    }


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
        name: column
        for name, column in graded.report.columns.coded.items()
        if not graded.repeats_labels(column)
    }
    ranges = _quarters(graded.report.samples, columns)
    columns |= {name: CodedColumn.of_texts(texts) for name, (texts, _) in ranges.items()}
    ends = {name: ends for name, (_, ends) in ranges.items()}
    rows = np.array(lead.rows, dtype=np.intp)
    return origin_data(columns, rows, base, graded.parts(name), where, ranges=ends)


def _quarters(samples: Any, known: Collection[str]) -> dict[str, tuple[NDArray[Any], dict[str, list[float]]]]:
    """Columns of numbers with many values, cut at their quartiles: the quarter of each cell as text, and its ends."""
    quarters = {}
    if len(samples) <= _MAX_CUT:
        for name in samples.frame.columns:
            scale = written_column(samples, name).scale if str(name) not in known else None
            if scale is not None and scale.kind == "number" and name not in samples.columns.values():
                quarters[str(name)] = _cut(scale.points)
    return {name: cut for name, cut in quarters.items() if len(cut[1]) > 1}


def _cut(points: NDArray[np.float64]) -> tuple[NDArray[Any], dict[str, list[float]]]:
    finite = np.sort(points[np.isfinite(points)])
    edges = np.unique(np.quantile(finite, [0, 0.25, 0.5, 0.75, 1])) if len(finite) else finite
    texts, ends = np.full(len(points), "", dtype=object), {}
    for place, (low, high) in enumerate(pairwise(edges)):
        # Each value is in one quarter: the upper end belongs to the next one, except the last.
        inside = (points >= low) & (points <= high if place == len(edges) - 2 else points < high)
        if inside.any():
            lowest, highest = float(points[inside].min()), float(points[inside].max())
            text = f"{lowest:,.4g} to {highest:,.4g}"
            texts[inside], ends[text] = text, [lowest, highest]
    return texts, ends


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


_MAX_VALUES = 20
_SHOWN = 3
_MAX_CUT = 20_000  # rows: reading the numbers of more would delay the page
_CERTAIN = 0.01  # significance level, divided by the number of columns tried (Bonferroni)


def origin_data(
    columns: Mapping[str, CodedColumn],
    hits: Rows,
    base: Rows,
    parts: NDArray[np.int8],
    where: list[dict[str, Any]],
    *,
    ranges: Mapping[str, Mapping[str, list[float]]] = MappingProxyType({}),
) -> dict[str, Any] | None:
    """The values of one column among the evidence rows, as `From`; None if no column separates them.

    Args:
        columns: Name to a column with few values, n cells each, "" for empty.
        hits: Evidence rows of the finding.
        base: Rows that could have been evidence, for example all known-bad rows, some of which are accepted.
        parts: The part of each row, (n,).
        where: The conditions that `hits` meet.
        ranges: Columns of numbers to the ends of each of their texts.
    """
    name = _telling(columns, hits, base)
    if name is None:
        return None
    column = columns[name]
    of_hits, codes = column.at(hits), column.codes[base]
    ranked = [(of_hits.categories[code], count) for code, count in of_hits.by_frequency()]
    writer = name in WRITER_COLUMNS
    return {
        "title": f"Who wrote the {len(hits):,}" if writer else f"Where the {len(hits):,} come from",
        "note": f"column {name}" + (f", first {_SHOWN} of {len(ranked)}" if len(ranked) > _SHOWN else ""),
        "lines": [
            _line(
                value,
                base[codes == column.categories.index(value)],
                parts,
                hits=count,
                where=[*where, _is(name, value, ranges)],
            )
            for value, count in ranked[:_SHOWN]
        ],
    }


def _is(name: str, value: str, ranges: Mapping[str, Mapping[str, list[float]]]) -> dict[str, Any]:
    if name in ranges and value in ranges[name]:
        return {"column": name, "between": ranges[name][value]}
    return {"column": name, "is": value or None}


def _line(
    value: str, rows: Rows, parts: NDArray[np.int8], *, hits: int, where: list[dict[str, Any]]
) -> dict[str, Any]:
    return {
        "text": value.replace("_", " ") or "(empty)",
        "counts": counts_of(parts, rows),
        "hits": hits,
        "of": len(rows),
        "where": where,
    }


def _telling(columns: Mapping[str, CodedColumn], hits: Rows, base: Rows) -> str | None:
    """The column whose values differ most, and significantly, between hits and other rows; writers first."""
    is_hit = np.isin(base, hits)
    if is_hit.all() or not is_hit.any():
        return None
    p_values = {name: _p_value(column.at(base).codes, is_hit) for name, column in columns.items()}
    certain = {name: p for name, p in p_values.items() if p < _CERTAIN / len(p_values)}
    writers = [name for name in WRITER_COLUMNS if name in certain]
    return writers[0] if writers else min(certain, key=lambda name: certain[name], default=None)


def _p_value(codes: NDArray[np.intp], is_hit: NDArray[np.bool_]) -> float:
    """The p-value of Pearson's chi-squared test on value by hit; 1.0 if there is nothing to test.

    As `scipy.stats.chi2_contingency`, with Yates' correction for two values; importing that module takes a third of a
    second, which would delay opening an app.
    """
    n_values = int(codes.max(initial=0)) + 1
    table = np.bincount(is_hit * n_values + codes, minlength=2 * n_values).reshape(2, n_values).astype(float)
    if not 1 < table.shape[1] <= _MAX_VALUES:
        return 1.0
    expected = np.outer(table.sum(axis=1), table.sum(axis=0)) / table.sum()
    differences = np.abs(table - expected)
    degrees = table.shape[1] - 1
    if degrees == 1:
        differences -= np.minimum(0.5, differences)
    from scipy.special import chdtrc

    return float(chdtrc(degrees, (differences**2 / expected).sum()))


MAX_VALUES = 5
"""Maximum number of distinct scores with a separate bar each."""

LOG_FROM = 50
"""Ratio of the largest to the smallest bin from which the axis is logarithmic."""


def scores_data(case: Case, parts: NDArray[np.int8], n_prompts: int) -> dict[str, Any]:
    """A grader's scores as `Scores`.

    Args:
        case: Its grades with labels and pass threshold.
        parts: The part of each row, as `bins.parts_of` gives it, (n,).
        n_prompts: Number of distinct prompts of the rows.
    """
    scores = case.grades.scores[case.rows]
    values = np.unique(scores)
    few = len(values) <= MAX_VALUES
    bins = [] if few else _bins(case, parts)
    own_verdict = bool((case.grades.passed[case.rows] >= 0).any())
    failed = parts == PARTS.index("failed")
    return {
        "kind": "values" if few else "bins",
        "note": f"{counted(len(parts), 'row')} of {counted(n_prompts, 'prompt')}",
        "values": [_value(case, parts, value) for value in values[::-1]] if few else [],
        "bins": bins,
        "log": _needs_log([sum(each["counts"].values()) for each in bins]),
        "has_labels": bool((case.labels >= 0).any()),
        "pass_threshold": None if own_verdict else float(case.pass_threshold),
        "scale": [float(end) for end in case.scale],
        "failed": int(failed.sum()),
        "skipped": int((parts == PARTS.index("skipped")).sum()),
        "failed_good": int((failed & (case.labels == 1)).sum()),
        "failed_bad": int((failed & (case.labels == 0)).sum()),
    }


def _value(case: Case, parts: NDArray[np.int8], value: float) -> dict[str, Any]:
    rows = case.rows[case.grades.scores[case.rows] == value]
    return {"value": float(value), "counts": counts_of(parts, rows)}


def _bins(case: Case, parts: NDArray[np.int8]) -> list[dict[str, Any]]:
    """Twenty equal bins over 0 to 1, wider if scores are outside: as in every other figure of the report."""
    edges = edges_of(case.grades.scores[case.rows])
    places = places_of(case)
    return [
        {"lo": float(lo), "hi": float(hi), "counts": counts_of(parts, case.rows[places == place])}
        for place, (lo, hi) in enumerate(pairwise(edges.tolist()))
    ]


def places_of(case: Case) -> NDArray[np.intp]:
    """The bin of each scored row, (m,)."""
    scores = case.grades.scores[case.rows]
    edges = edges_of(scores)
    # As in `bins.within`: a bar counts exactly the rows that a click on it shows.
    slack = 1e-9 * (edges[-1] / 2 - edges[0] / 2)
    places = np.searchsorted(edges[1:-1] / 2 - slack, scores / 2, side="right")
    return np.clip(places, 0, len(edges) - 2).astype(np.intp)


def _needs_log(counts: list[int]) -> bool:
    filled = [count for count in counts if count]
    return bool(filled) and max(filled) > LOG_FROM * min(filled)
