"""Rows by conditions that are plain data: what a click in a figure means, and what a filter is.

| condition | rows |
| --- | --- |
| `{"grader": g, "score": [low, high]}` | scores in that bin: left end in, right end out, but for the last edge of `g`'s histogram |
| `{"grader": g, "status": "failed"}` | scored, failed or skipped by `g` |
| `{"grader": g, "passed": true}` | accepted by `g`: its own verdict, else score against the pass mark |
| `{"label": true}` | known good, `false` known bad, `null` not labelled: no label, or one that says neither |
| `{"wrong": g}` | `g` and the label differ |
| `{"finding": [g, kind]}` | the evidence of a finding |
| `{"apart": [a, b], "least": 0.2}` | scored by both, and the scores differ by at least so much |
| `{"scaled_apart": [a, b], "least": 0.5}` | the same of scores brought to 0 to 1, each between the ends of its grader's histogram |
| `{"verdicts": [a, b], "are": [true, false]}` | scored by both, accepted by the one and not by the other |
| `{"text": "words"}` | id, a turn or the reference has it, without regard to case |
| `{"any": [[...], [...]]}` | those that meet all conditions of one of these lists |
| `{"rows": [1, 2]}` | these |
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import reduce
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from workbench.diagnostics import Case
from workbench.errors import ReportError
from workbench.grades import SCORED, Grades
from workbench.report.bins import edges_of, within
from workbench.report.cases import label_codes, labelled_case
from workbench.report.frames import row_texts
from workbench.report.select import check_graders, select

if TYPE_CHECKING:
    from workbench.report.report import Report

__all__ = ["case_of", "graders_in", "matching", "scaled_scores", "told"]

Rows = NDArray[np.intp]
Condition = Mapping[str, Any]
_SLACK = 1e-9  # 0.3 - 0.1 is a little below 0.2


def matching(report: Report, conditions: Iterable[Condition]) -> Rows:
    """Row numbers that meet all conditions; see the module's table.

    The order is that of a finding or a list where there is one, else ascending.

    Raises:
        ReportError: A condition that is not in the table, or a grader, finding or row that is not there.
    """
    found = [_rows(report, condition) for condition in sorted(conditions, key=_is_unordered)]
    if not found:
        return np.arange(len(report), dtype=np.intp)
    return reduce(lambda rows, more: rows[np.isin(rows, more)], found)


def _is_unordered(condition: Condition) -> bool:
    return not (isinstance(condition, Mapping) and {"finding", "rows"} & set(condition))


def _rows(report: Report, condition: Condition) -> Rows:
    rule = _rule_of(condition)
    if rule is None or set(condition) != set(rule.keys):
        raise ReportError(
            "a condition on rows cannot be read",
            found=repr(condition)[:120],
            expected="one of " + "; ".join(", ".join(one.keys) for one in _RULES.values()),
        )
    try:
        return rule.rows(report, *(condition[name] for name in rule.keys))
    except (TypeError, ValueError) as error:
        if isinstance(error, ReportError):
            raise
        raise ReportError(
            "a condition on rows cannot be read", found=f"{condition!r:.120}: {error}"
        ) from error


def case_of(report: Report, grader: str) -> Case:
    """What diagnostics see of one grader of a report; made once and kept with the report.

    Raises:
        ReportError: No such grader.
    """
    _grades(report, grader)
    held: dict[str, Case] = report.__dict__.setdefault("_cases", {})
    if grader not in held:
        held[grader] = labelled_case(report, grader, np.zeros(len(report), np.intp))
    return held[grader]


def _grades(report: Report, grader: str) -> Grades:
    check_graders([grader], report.grades)
    return report.grades[grader]


def scaled_scores(report: Report, grader: str) -> NDArray[np.float64]:
    """One grader's scores brought to 0 to 1 by the ends of its histogram, NaN without, (n,); kept with the report.

    Graders of different scales are compared so: a length would else differ from a share by hundreds.

    Raises:
        ReportError: No such grader.
    """
    grades = _grades(report, grader)
    held: dict[str, NDArray[np.float64]] = report.__dict__.setdefault("_scaled", {})
    if grader not in held:
        scores = np.where(grades.codes == SCORED, grades.scores, np.nan)
        edges = edges_of(scores[~np.isnan(scores)]) / 2  # halved: the span may be past the largest float
        held[grader] = (scores / 2 - edges[0]) / (edges[-1] - edges[0])
    return held[grader]


def _by_score(report: Report, grader: str, ends: Sequence[float]) -> Rows:
    grades = _grades(report, grader)
    rows, (low, high) = np.flatnonzero(grades.codes == SCORED), (float(end) for end in ends)
    return rows[within(grades.scores[rows], low, high)]


def _by_status(report: Report, grader: str, status: str) -> Rows:
    return select(str(status), _grades(report, grader), len(report))


def _by_verdict(report: Report, grader: str, passed: bool) -> Rows:
    case = case_of(report, grader)
    rows: Rows = case.rows[case.accepted == bool(passed)]
    return rows


def _by_label(report: Report, label: bool | None) -> Rows:
    return np.flatnonzero(label_codes(report) == (-1 if label is None else int(label)))


def _wrong(report: Report, grader: str) -> Rows:
    case = case_of(report, grader)
    known = case.labels[case.rows]
    rows: Rows = case.rows[(known >= 0) & (case.accepted != (known == 1))]
    return rows


def _of_finding(report: Report, which: Sequence[str]) -> Rows:
    grader, kind = which
    found = next((one for one in report.findings if (one.grader, one.kind) == (grader, kind)), None)
    if found is None:
        raise ReportError(f"the report has no finding {kind!r} of {grader!r}")
    return select(found, None, len(report))


def _apart(report: Report, graders: Sequence[str], least: float) -> Rows:
    one, two = (_grades(report, name) for name in graders)
    both = np.flatnonzero((one.codes == SCORED) & (two.codes == SCORED))
    with np.errstate(over="ignore"):
        return both[np.abs(one.scores[both] - two.scores[both]) >= float(least) - _SLACK]


def _scaled_apart(report: Report, graders: Sequence[str], least: float) -> Rows:
    one, two = (scaled_scores(report, name) for name in graders)
    return np.flatnonzero(np.abs(one - two) >= float(least) - _SLACK)


def _verdicts(report: Report, graders: Sequence[str], are: Sequence[bool]) -> Rows:
    one, two = (_by_verdict(report, name, wanted) for name, wanted in zip(graders, are, strict=True))
    return np.intersect1d(one, two)


def _with_text(report: Report, text: str) -> Rows:
    wanted = str(text).casefold()
    return np.flatnonzero(np.array([wanted in one for one in _texts(report)], dtype=bool))


def _texts(report: Report) -> list[str]:
    """Every row's id, turns and reference, folded; made once and kept with the report."""
    held: list[str] | None = report.__dict__.get("_searched")
    if held is None:
        parts = row_texts(report.samples, np.arange(len(report), dtype=np.intp))
        held = ["\n".join("" if part is None else str(part) for part in one).casefold() for one in parts]
        report.__dict__["_searched"] = held
    return held


def _these(report: Report, rows: Sequence[int]) -> Rows:
    return select(list(rows), None, len(report))


def _any(report: Report, choices: Sequence[Sequence[Condition]]) -> Rows:
    found = [matching(report, one) for one in choices]
    return np.unique(np.concatenate([np.empty(0, np.intp), *found]))


class _Rule(NamedTuple):
    """One kind of condition: its keys, the rows that meet it, what it says, and the graders it is about."""

    keys: tuple[str, ...]
    rows: Callable[..., Rows]
    told: Callable[[Condition], str]
    graders: Callable[[Condition], Sequence[str]] = lambda _: ()


def _verdict(passed: Any) -> str:
    return "accepts" if passed else "refuses"


_RULES: dict[str, _Rule] = {
    "score": _Rule(
        ("grader", "score"),
        _by_score,
        lambda c: f"{c['grader']}: score {float(c['score'][0]):.3g} to {float(c['score'][1]):.3g}",
        lambda c: [c["grader"]],
    ),
    "status": _Rule(
        ("grader", "status"), _by_status, lambda c: f"{c['grader']}: {c['status']}", lambda c: [c["grader"]]
    ),
    "passed": _Rule(
        ("grader", "passed"),
        _by_verdict,
        lambda c: f"{c['grader']} {_verdict(c['passed'])}",
        lambda c: [c["grader"]],
    ),
    "label": _Rule(
        ("label",),
        _by_label,
        lambda c: {True: "labelled good", False: "labelled bad"}.get(c["label"], "not labelled"),
    ),
    "wrong": _Rule(
        ("wrong",), _wrong, lambda c: f"{c['wrong']} differs from the label", lambda c: [c["wrong"]]
    ),
    "finding": _Rule(
        ("finding",),
        _of_finding,
        lambda c: f"{c['finding'][0]}: {str(c['finding'][1]).replace('-', ' ')}",
        lambda c: [c["finding"][0]],
    ),
    "apart": _Rule(
        ("apart", "least"),
        _apart,
        lambda c: f"{c['apart'][0]} and {c['apart'][1]} differ by {float(c['least']):g} or more",
        lambda c: c["apart"],
    ),
    "scaled_apart": _Rule(
        ("scaled_apart", "least"),
        _scaled_apart,
        lambda c: (
            f"{c['scaled_apart'][0]} and {c['scaled_apart'][1]} differ by {100 * float(c['least']):g} % of their scales or more"
        ),
        lambda c: c["scaled_apart"],
    ),
    "verdicts": _Rule(
        ("verdicts", "are"),
        _verdicts,
        lambda c: ", ".join(
            f"{name} {_verdict(is_so)}" for name, is_so in zip(c["verdicts"], c["are"], strict=True)
        ),
        lambda c: c["verdicts"],
    ),
    "text": _Rule(("text",), _with_text, lambda c: f"text {str(c['text'])!r}"),
    "any": _Rule(("any",), _any, lambda c: ", or ".join(" and ".join(map(told, one)) for one in c["any"])),
    "rows": _Rule(("rows",), _these, lambda c: f"{len(c['rows']):,} chosen rows"),
}


def _rule_of(condition: Condition) -> _Rule | None:
    key = next((name for name in _RULES if isinstance(condition, Mapping) and name in condition), None)
    return None if key is None else _RULES[key]


def told(condition: Condition) -> str:
    """A condition in words, such as "exact: score 0.95 to 1"; "" for none of the table."""
    rule = _rule_of(condition)
    return "" if rule is None else rule.told(condition)


def graders_in(condition: Condition) -> list[str]:
    """The graders that a condition is about; those of a list of choices are left to the choices."""
    rule = _rule_of(condition)
    return [] if rule is None else list(rule.graders(condition))
