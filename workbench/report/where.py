"""Rows by conditions that are plain data, as clicks in a figure and filters of the app send them.

| condition | rows |
| --- | --- |
| `{"grader": g, "score": [low, high]}` | scores in that bin; its right end only if it is the last edge of `g`'s histogram, or equals the left end |
| `{"grader": g, "status": "failed"}` | scored, failed or skipped by `g` |
| `{"grader": g, "passed": true}` | accepted by `g`: by its own verdict, or else by its score and the pass threshold |
| `{"grader": g, "spread": [low, high]}` | graded several times by `g`, with that range of scores on 0 to 1; `high` itself only if it is 1 |
| `{"label": true}` | known good, `false` known bad, `null` unlabelled, or labelled as neither |
| `{"wrong": g}` | `g` and the label differ |
| `{"finding": [g, kind]}` | the evidence of a finding |
| `{"apart": [a, b], "least": 0.2}` | scored by both, and the scores differ by at least that much |
| `{"scaled_apart": [a, b], "least": 0.5}` | the same, after scaling the ends of each grader's histogram to 0 and 1 |
| `{"verdicts": [a, b], "are": [true, false]}` | scored by both, accepted by `a` and not by `b` |
| `{"decides": g}` | the combined verdict would change without `g` |
| `{"prompts": g, "mean": [low, high], "scores": "zero_variance"}` | whose prompt has that mean score of `g`, and scores that are all equal ("zero_variance"), close ("narrow") or apart ("wide") |
| `{"probe": "empty"}` | of that transformation: rows of a probe, which have a column `probe` |
| `{"text": "words"}` | id, a turn or the reference contains it, ignoring case |
| `{"column": "writer", "is": "hasty"}` | whose cell in that column has this text; `null` if it is empty |
| `{"column": "length", "between": [10, 20]}` | whose cell in that column is a number from 10 to 20, both included; or a time: `["2026-01-01", "2026-02-01"]` |
| `{"any": [[...], [...]]}` | those that meet all conditions of one of these lists |
| `{"rows": [1, 2]}` | these |
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import reduce
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from workbench.analysis.case import Case
from workbench.analysis.diagnostics.noise import repeats_of
from workbench.core.errors import ReportError
from workbench.core.grades import SCORED, Grades
from workbench.report.cases import label_codes, labelled_case, prompt_spread, suite_case
from workbench.report.selection import (
    Rows,
    by_probe,
    by_range,
    by_text,
    by_value,
    check_graders,
    edges_of,
    select,
    within,
)
from workbench.report.settings import ReportLike

Condition = Mapping[str, Any]
_TOLERANCE = 1e-9  # in scores: 0.3 - 0.1 is a little below 0.2


def matching(report: ReportLike, conditions: Iterable[Condition]) -> Rows:
    """Numbers of the rows that meet all conditions; see the module's table.

    In the order of a finding or a list of rows if the conditions contain one, else ascending.

    Raises:
        ReportError: An unknown condition, grader, finding or row.
    """
    matches = [_rows(report, condition) for condition in sorted(conditions, key=_is_unordered)]
    if not matches:
        return np.arange(len(report), dtype=np.intp)
    return reduce(lambda rows, more: rows[np.isin(rows, more)], matches)


def _is_unordered(condition: Condition) -> bool:
    return not (isinstance(condition, Mapping) and {"finding", "rows"} & set(condition))


def _rows(report: ReportLike, condition: Condition) -> Rows:
    kind = _kind_of(condition)
    if kind is None or set(condition) != set(kind.keys):
        raise ReportError(
            "invalid condition on rows",
            found=repr(condition)[:120],
            expected="one of " + "; ".join(", ".join(each.keys) for each in _KINDS.values()),
        )
    try:
        return kind.rows(report, *(condition[name] for name in kind.keys))
    except (TypeError, ValueError) as error:
        if isinstance(error, ReportError):
            raise
        raise ReportError("invalid condition on rows", found=f"{condition!r:.120}: {error}") from error


def case_of(report: ReportLike, grader: str) -> Case:
    """One grader's grades and labels as diagnostics take them; computed once and stored in the report.

    Raises:
        ReportError: Unknown grader.
    """
    _grades(report, grader)
    # No condition depends on the prompts, so one group for all rows is enough.
    one_group = np.zeros(len(report), np.intp)
    return report.analysis.once("case", lambda: labelled_case(report, grader, one_group), of=grader)


def _grades(report: ReportLike, grader: str) -> Grades:
    check_graders([grader], report.grades)
    return report.grades[grader]


def scaled_scores(report: ReportLike, grader: str) -> NDArray[np.float64]:
    """One grader's scores scaled from the ends of its histogram to 0 to 1, NaN if unscored, (n,).

    Makes graders of different scales comparable: otherwise a length and a share could differ by hundreds.
    Computed once and stored in the report.

    Raises:
        ReportError: Unknown grader.
    """
    grades = _grades(report, grader)

    def compute() -> NDArray[np.float64]:
        scores = np.where(grades.codes == SCORED, grades.scores, np.nan)
        edges = edges_of(scores[~np.isnan(scores)]) / 2  # halved: the span may exceed the largest float
        scaled: NDArray[np.float64] = (scores / 2 - edges[0]) / (edges[-1] - edges[0])
        return scaled

    return report.analysis.once("scaled scores", compute, of=grader)


def _by_score(report: ReportLike, grader: str, ends: Sequence[float]) -> Rows:
    grades = _grades(report, grader)
    rows, (low, high) = np.flatnonzero(grades.codes == SCORED), (float(end) for end in ends)
    return rows[within(grades.scores[rows], low, high)]


def _by_status(report: ReportLike, grader: str, status: str) -> Rows:
    return select(str(status), _grades(report, grader), len(report))


def _by_verdict(report: ReportLike, grader: str, passed: bool) -> Rows:
    case = case_of(report, grader)
    rows: Rows = case.rows[case.accepted == bool(passed)]
    return rows


def _by_spread(report: ReportLike, grader: str, ends: Sequence[float]) -> Rows:
    repeats, (low, high) = repeats_of(case_of(report, grader)), (float(end) for end in ends)
    if repeats is None:
        return np.empty(0, np.intp)
    above = repeats.ranges >= low - _TOLERANCE
    return repeats.rows[above & ((repeats.ranges < high - _TOLERANCE) | (high >= 1))]


def _by_label(report: ReportLike, label: bool | None) -> Rows:
    return np.flatnonzero(label_codes(report) == (-1 if label is None else int(label)))


def _against_label(report: ReportLike, grader: str) -> Rows:
    case = case_of(report, grader)
    labels = case.labels[case.rows]
    rows: Rows = case.rows[(labels >= 0) & (case.accepted != (labels == 1))]
    return rows


def _by_finding(report: ReportLike, which: Sequence[str]) -> Rows:
    grader, kind = which
    finding = next(
        (candidate for candidate in report.findings if (candidate.grader, candidate.kind) == (grader, kind)),
        None,
    )
    if finding is None:
        raise ReportError(f"the report has no finding {kind!r} of {grader!r}")
    return select(finding, None, len(report))


def _by_distance(report: ReportLike, graders: Sequence[str], least: float) -> Rows:
    a, b = (_grades(report, name) for name in graders)
    both = np.flatnonzero((a.codes == SCORED) & (b.codes == SCORED))
    with np.errstate(over="ignore"):
        return both[np.abs(a.scores[both] - b.scores[both]) >= float(least) - _TOLERANCE]


def _by_scaled_distance(report: ReportLike, graders: Sequence[str], least: float) -> Rows:
    a, b = (scaled_scores(report, name) for name in graders)
    # A row that one of them did not score is NaN here, for which every comparison is false.
    return np.flatnonzero(np.abs(a - b) >= float(least) - _TOLERANCE)


def _by_verdicts(report: ReportLike, graders: Sequence[str], are: Sequence[bool]) -> Rows:
    a, b = (_by_verdict(report, name, passed) for name, passed in zip(graders, are, strict=True))
    return np.intersect1d(a, b)


def _by_decision(report: ReportLike, grader: str) -> Rows:
    case = suite_case(report)
    check_graders([grader], [entry.name for entry in case.entries] if case.rule is not None else ())
    rows: Rows = case.rows[case.decides(grader)]
    return rows


def _by_prompt(report: ReportLike, grader: str, ends: Sequence[float], spread: str) -> Rows:
    found, (low, high) = prompt_spread(report, grader), (float(end) for end in ends)
    rows: Rows = found.rows[found.chosen(low, high, spread)[found.prompts]]
    return rows


def _by_number(report: ReportLike, rows: Sequence[int]) -> Rows:
    return select(list(rows), None, len(report))


def _by_any_of(report: ReportLike, choices: Sequence[Sequence[Condition]]) -> Rows:
    matches = [matching(report, conditions) for conditions in choices]
    return np.unique(np.concatenate([np.empty(0, np.intp), *matches]))


class _ConditionKind(NamedTuple):
    """One kind of condition: its keys, the rows that meet it, and its text."""

    keys: tuple[str, ...]
    rows: Callable[..., Rows]
    text: Callable[[Condition], str]


def end_text(end: Any) -> str:
    """An end of a range as text: a number in four digits, a time unchanged."""
    return (
        end[:16].removesuffix("T23:59")
        if isinstance(end, str) and ("-" in end[1:] or ":" in end)
        else f"{float(end):.4g}"
    )


def _verdict(passed: Any) -> str:
    return "accepts" if passed else "refuses"


_KINDS: dict[str, _ConditionKind] = {
    "score": _ConditionKind(
        ("grader", "score"),
        _by_score,
        lambda c: f"{c['grader']}: score {float(c['score'][0]):.3g} to {float(c['score'][1]):.3g}",
    ),
    "status": _ConditionKind(("grader", "status"), _by_status, lambda c: f"{c['grader']}: {c['status']}"),
    "passed": _ConditionKind(
        ("grader", "passed"), _by_verdict, lambda c: f"{c['grader']} {_verdict(c['passed'])}"
    ),
    "spread": _ConditionKind(
        ("grader", "spread"),
        _by_spread,
        lambda c: f"{c['grader']}: repeats {float(c['spread'][0]):.3g} to {float(c['spread'][1]):.3g} apart",
    ),
    "label": _ConditionKind(
        ("label",),
        _by_label,
        lambda c: {True: "labelled good", False: "labelled bad"}.get(c["label"], "unlabelled"),
    ),
    "wrong": _ConditionKind(("wrong",), _against_label, lambda c: f"{c['wrong']} differs from the label"),
    "finding": _ConditionKind(
        ("finding",), _by_finding, lambda c: f"{c['finding'][0]}: {str(c['finding'][1]).replace('-', ' ')}"
    ),
    "apart": _ConditionKind(
        ("apart", "least"),
        _by_distance,
        lambda c: f"{c['apart'][0]} and {c['apart'][1]} differ by at least {float(c['least']):g}",
    ),
    "scaled_apart": _ConditionKind(
        ("scaled_apart", "least"),
        _by_scaled_distance,
        lambda c: (
            f"{c['scaled_apart'][0]} and {c['scaled_apart'][1]} differ by at least {100 * float(c['least']):g} % of their scales"
        ),
    ),
    "verdicts": _ConditionKind(
        ("verdicts", "are"),
        _by_verdicts,
        lambda c: ", ".join(
            f"{name} {_verdict(is_so)}" for name, is_so in zip(c["verdicts"], c["are"], strict=True)
        ),
    ),
    "decides": _ConditionKind(("decides",), _by_decision, lambda c: f"{c['decides']} decides the verdict"),
    "prompts": _ConditionKind(
        ("prompts", "mean", "scores"),
        _by_prompt,
        lambda c: (
            f"{c['prompts']}: {c['scores']} prompts of mean {float(c['mean'][0]):.3g} to {float(c['mean'][1]):.3g}"
        ),
    ),
    "probe": _ConditionKind(("probe",), by_probe, lambda c: f"probe {c['probe']}"),
    "text": _ConditionKind(("text",), by_text, lambda c: f"text {str(c['text'])!r}"),
    "is": _ConditionKind(
        ("column", "is"), by_value, lambda c: f"{c['column']} {'is empty' if c['is'] is None else c['is']}"
    ),
    "between": _ConditionKind(
        ("column", "between"),
        by_range,
        lambda c: f"{c['column']} {end_text(c['between'][0])} to {end_text(c['between'][1])}",
    ),
    "any": _ConditionKind(
        ("any",),
        _by_any_of,
        lambda c: ", or ".join(" and ".join(map(condition_text, conditions)) for conditions in c["any"]),
    ),
    "rows": _ConditionKind(("rows",), _by_number, lambda c: f"{len(c['rows']):,} chosen rows"),
}


def _kind_of(condition: Condition) -> _ConditionKind | None:
    key = next((name for name in _KINDS if isinstance(condition, Mapping) and name in condition), None)
    return None if key is None else _KINDS[key]


def condition_text(condition: Condition) -> str:
    """A condition as text, such as "exact: score 0.95 to 1"; "" for an unknown one."""
    kind = _kind_of(condition)
    return "" if kind is None else kind.text(condition)
