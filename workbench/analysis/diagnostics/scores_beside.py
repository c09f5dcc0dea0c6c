"""Correlation of scores with completion length and row order, given the labels if there are any."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from workbench.analysis.case import Case, Claim
from workbench.analysis.confounders import (
    ConfoundingColumn,
    beyond,
    explained_share,
    explaining_column,
    in_user_units,
    share_of_line,
    stratified_correlation,
)
from workbench.analysis.diagnostics import diagnostic
from workbench.analysis.finding import RowNumbers, Severity
from workbench.analysis.labels import drawn
from workbench.analysis.statistics import Codes, Estimate, Floats, compact
from workbench.analysis.statistics.association import (
    Step,
    difference_within_levels,
    find_step,
    rank_correlation,
    ranks,
    within_levels,
)
from workbench.core.display_text import one_line

_CONFOUNDED = 0.3
"""Rank correlation of column and label from which quality may explain the remainder: rows that are sorted by it, or
long completions that are better. A binary label does not fix quality completely, so the finding is a note then."""
_DRIVES = 0.7  # absolute rank correlation from which the column is most of the score; this project's limit
_BESIDE = 0.3  # limit of the absolute rank correlation given the label or other graders, from the register of statistics
_ALONE = 0.6  # limit without labels, where good completions may well be longer; this project's choice
_STEP = 0.1  # of the scale, between the rows before and after; this project's limit
_AS_MUCH = (
    0.01  # share of the variance by which a column may explain less than a step and still be named instead
)
_MAX_TEXTS = 5_000  # maximum rows for one rank correlation: they determine it within 0.03, and reading more texts would take seconds
_LABELLED = ("too-lenient", "too-strict", "disagrees-with-labels", "no-better-than-chance")


def _reads_others(case: Case) -> bool:
    """Whether labels of both kinds are missing, so that other graders must indicate quality."""
    return not _has_both(case.labels[case.rows])


@diagnostic("follows-length", explains=_LABELLED, order=3, beside=_reads_others)
def follows_length(case: Case) -> Iterable[Claim]:
    """The score correlates with completion length: rank correlation above 0.3 given the labels, 0.6 without any.

    Length is the best known bias of judges (Dubois 2024, arXiv 2404.04475). With labels, length may explain no more than
    they do; without any, given other graders that agree with this one, it is a note above 0.3.
    """
    if case.context is None or case.is_tiny or not case.varies:
        return
    lengths = case.context.lengths_of
    yield from _follows(case, lengths, "follows-length", "completion length", Severity.WARNING)


@diagnostic("drifts", explains=_LABELLED, order=3, beside=_reads_others)
def drifts(case: Case) -> Iterable[Claim]:
    """The score changes with the order of the rows: a step of a tenth of the scale, or rank correlation above 0.3 given the labels, a note at 0.6 without.

    Reports whichever of step and slope explains more of the scores, unless another column explains it away: see
    `differs_by_column`. Without labels the rows themselves may get better or worse, hence a note.
    """
    if case.is_tiny or not case.varies:
        return
    found = _order(case)
    if found is not None and found.column is None:
        yield found.claim


@diagnostic("differs-by-column")
def differs_by_column(case: Case) -> Iterable[Claim]:
    """Scores change with the order of the rows because they differ by a column such as the topic, dataset or writer.

    Names the value whose rows differ most from the others with the same label. Found if the order explains nothing among
    rows with the same value of that column.
    """
    if case.is_tiny or not case.varies or not case.on_scale:
        return
    found = _order(case)
    if found is not None and found.column is not None:
        yield from _of_column(case, found)


@dataclass(frozen=True)
class _RowOrder:
    """How the scores change with the order of the rows.

    Attributes:
        claim: Of a step, or of a slope.
        rows: Indices among the scored rows of those it is about, (m,).
        levels: Strata, (m,).
        column: The column that explains it away; None for none.
    """

    claim: Claim
    rows: Codes
    levels: NDArray[np.int8]
    column: ConfoundingColumn | None


def _order(case: Case) -> _RowOrder | None:
    """A step in the scores, else a slope; None without either."""
    found = _step(case) if case.on_scale else None
    if found is not None:
        return found
    severity = Severity.WARNING if _is_labelled(case) else Severity.NOTE
    claims = _follows(case, lambda rows: rows.astype(np.float64), "drifts", "order of the rows", severity)
    if (claim := next(claims, None)) is None:
        return None
    rows, levels = _labelled_part(case)
    limit = abs(claim.finding.limit or _BESIDE)
    column = explaining_column(
        case, rows, levels, lambda inside: stratified_correlation(case.scores[rows], rows.astype(float), inside),
        limit=limit, share=share_of_line(case.scores[rows], levels), is_order=True,
    )  # fmt: skip
    return _RowOrder(claim, rows, levels, column)


def _labelled_part(case: Case) -> tuple[Codes, NDArray[np.int8]]:
    """Indices of the labelled rows and their labels, if there are labels of both kinds; else of all rows, and zeros."""
    labels = case.labels[case.rows]
    part = np.flatnonzero(labels >= 0) if _has_both(labels) else np.arange(len(labels))
    return part, labels[part] if _has_both(labels) else np.zeros(len(part), np.int8)


def _of_column(case: Case, order: _RowOrder) -> Iterator[Claim]:
    column, scores = order.column, case.scores[order.rows]
    assert column is not None
    groups = case.scored_groups[order.rows]
    found = [
        within_levels(scores, groups, order.levels, column.codes == code)
        for code in range(len(column.values))
    ]
    known = [code for code, one in enumerate(found) if not math.isnan(one.value)]
    if not known:
        return
    code = max(known, key=lambda each: (round(abs(found[each].value), 9), found[each].value))
    size, is_beside = abs(found[code].value) * case.span, _has_both(case.labels[case.rows])
    message = (
        f"scores {size:.2g} {'higher' if found[code].value > 0 else 'lower'} for rows whose {one_line(column.name, 40)} is "
        f"{one_line(column.values[code], 40)!r} than for others, over {'rows with the same label' if is_beside else 'all rows'}"
    )
    finding = case.finding(
        "differs-by-column", Severity.WARNING if is_beside else Severity.NOTE, "score less that of other rows", message,
        f"read these rows: the grader treats them differently; report results by {one_line(column.name, 40)}",
        case.rows[order.rows][column.codes == code],
    )  # fmt: skip
    finding = replace(finding, value=found[code].value, n=found[code].n)
    yield in_user_units(beyond(finding, found[code], _STEP, tried=2 * len(known)), case.span)


def _is_labelled(case: Case) -> bool:
    return bool((case.labels[case.rows] >= 0).any())


def _has_both(labels: NDArray[np.int8]) -> bool:
    return bool((labels == 1).any() and (labels == 0).any())


@dataclass(frozen=True)
class _Fixed:
    """The control for the quality of the rows.

    Attributes:
        rows: Indices among the scored rows of those whose quality is known, (m,).
        values: Their quality, (m,); None if nothing is known.
        said: Over which rows the score is compared, as text.
        severity: The highest severity of a finding with this control.
        limit: Maximum absolute rank correlation.
        is_sure: Whether the control has no bias itself, which would appear as the opposite bias in this grader.
    """

    rows: Codes
    values: Floats | None
    said: str
    severity: Severity
    limit: float
    is_sure: bool = True


def _fixed(case: Case) -> _Fixed:
    """Labels of both kinds, or else the mean of other graders that agree with this one, or else nothing."""
    labels = case.labels[case.rows]
    if _has_both(labels):
        rows = drawn(labels >= 0, _MAX_TEXTS)
        return _Fixed(rows, labels[rows].astype(float), "rows with the same label", Severity.WARNING, _BESIDE)
    rows = drawn(np.ones(len(labels), bool), _MAX_TEXTS)
    return _beside_others(case, rows) or _Fixed(rows, None, "all rows", Severity.WARNING, _ALONE)


def _beside_others(case: Case, rows: Codes) -> _Fixed | None:
    """The mean rank that other graders give the rows; None if they do not agree with this one about quality."""
    if not case.others:
        return None
    columns = [scores[case.rows[rows]] for scores in case.others]
    known = ~np.isnan(columns).any(0)
    others: Floats = np.mean([ranks(column[known]) for column in columns], axis=0)
    if not rank_correlation(case.scores[rows[known]], others).value > _BESIDE:
        return None
    # Other graders may have the same bias, or another task: the remainder is not a verdict.
    said = "rows that the other graders score alike"
    return _Fixed(rows[known], others, said, Severity.NOTE, _BESIDE, is_sure=False)


def _follows(
    case: Case, read: Callable[[Codes], Floats], kind: str, noun: str, severity: Severity
) -> Iterator[Claim]:
    fixed = _fixed(case)
    column = read(case.rows[fixed.rows])
    codes = compact(case.scored_groups[fixed.rows])
    found = rank_correlation(case.scores[fixed.rows], column, given=fixed.values, groups=codes)
    if not abs(found.value) > fixed.limit or not _is_own(case, fixed, column, found):  # also without a value
        return
    if kind == "follows-length" and _is_explained(case, fixed, column, found):
        return
    is_confounded = fixed.values is not None and _goes_with(fixed.values, column)
    severities = (severity, fixed.severity, Severity.NOTE if is_confounded else severity)
    direction = "rises" if found.value > 0 else "falls"
    message = f"the score {direction} with the {noun} over {_rows_said(fixed, found.n)}: rank correlation {found.value:.2f}"
    order = np.argsort(column, kind="stable")
    advice = f"compare these rows, which are in this order: the {noun} should not change the score"
    rows = RowNumbers(case.rows[fixed.rows][order if found.value < 0 else order[::-1]])
    least = max(severities, key=lambda each: each.rank)
    finding = case.finding(kind, least, f"rank correlation with the {noun}", message, advice, rows)
    leads = abs(found.value) > _DRIVES
    yield beyond(replace(finding, value=found.value, n=found.n, leads=leads), found, fixed.limit)


def _rows_said(fixed: _Fixed, n: int) -> str:
    """Such as "all 288 rows", "144 rows with the same label"."""
    return fixed.said.replace("rows", f"{n:,} rows", 1)


def _is_explained(case: Case, fixed: _Fixed, column: Floats, found: Estimate) -> bool:
    """Whether another column explains more of the scores, and length nothing among rows with the same value of it."""
    if fixed.values is None or not fixed.is_sure:
        return False
    scores = case.scores[fixed.rows]
    return explaining_column(
        case, fixed.rows, fixed.values.astype(np.int8),
        lambda levels: stratified_correlation(scores, column, levels), limit=fixed.limit, share=found.value**2,
    ) is not None  # fmt: skip


def _is_own(case: Case, fixed: _Fixed, column: Floats, found: Estimate) -> bool:
    """Whether the scores correlate with a column by themselves too: the other graders' bias appears inverted in this one."""
    if fixed.is_sure:
        return True
    return bool(rank_correlation(case.scores[fixed.rows], column).value * np.sign(found.value) > fixed.limit)


def _goes_with(quality: Floats, column: Floats) -> bool:
    """Whether a column correlates with the labels, so that quality may explain its correlation with the scores."""
    return abs(rank_correlation(quality, column).value) > _CONFOUNDED


def _step(case: Case) -> _RowOrder | None:
    """A jump of the scores at one row; None unless a step explains them better than a slope does."""
    is_beside = _has_both(case.labels[case.rows])
    part, levels = _labelled_part(case)
    scores, groups = case.scores[part], case.scored_groups[part]
    step = find_step(scores, levels, groups)
    if step is None or not abs(step.found.value) > _STEP or not step.explains_more:
        return None
    is_sorted = is_beside and _goes_with(levels.astype(float), np.arange(len(part), dtype=float))
    severity = Severity.WARNING if is_beside and not is_sorted else Severity.NOTE
    finding = case.finding(
        "drifts", severity, "score after less before", _said(case, step, case.rows[part], beside=is_beside),
        "check what changed there: the model, the prompt, a limit, or the rows themselves", case.rows[part][step.at :],
    )  # fmt: skip
    finding = replace(finding, value=step.found.value, n=step.found.n)
    # Either direction, and step or slope.
    claim = in_user_units(beyond(finding, step.found, _STEP, tried=4), case.span)
    after = np.arange(len(part)) >= step.at
    column = explaining_column(
        case, part, levels, lambda inside: difference_within_levels(scores, inside, after), limit=_STEP,
        share=explained_share(scores, levels, after.astype(np.intp)) - _AS_MUCH, is_order=True,
    )  # fmt: skip
    return _RowOrder(claim, part, levels, column)


def _said(case: Case, step: Step, rows: Codes, *, beside: bool) -> str:
    direction = "higher" if step.found.value > 0 else "lower"
    size = abs(step.found.value) * case.span
    among = "rows with the same label" if beside else "all rows"
    return f"scores {size:.2g} {direction} from about row {rows[step.at]:,} on than before, over {among}"
