"""Scores beside the length of the answer and the order of the rows, given the labels where there are some."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from workbench.diagnostics.case import Case
from workbench.diagnostics.claim import Claim
from workbench.diagnostics.drawn import drawn
from workbench.diagnostics.favour import beyond, in_user_units
from workbench.diagnostics.finding import Severity
from workbench.diagnostics.registry import diagnostic
from workbench.diagnostics.row_numbers import RowNumbers
from workbench.statistics import compact
from workbench.statistics.partial import rank_correlation
from workbench.statistics.steps import Step, find_step

__all__ = ["drifts", "follows_length"]

Floats = NDArray[np.float64]

_CONFOUNDED = 0.3
"""Rank correlation of column and label from which on quality may explain what is left: rows that come sorted by it, or
long answers that are better. A label of two values does not hold quality fixed, so the finding is a note then."""
_DRIVES = 0.7  # absolute rank correlation: the column is then most of the score; this project's limit
_BESIDE_LABELS = 0.3  # absolute rank correlation with the label held fixed, from the register of statistics
_ALONE = 0.6  # without labels, where good answers may well be longer; this project's limit
_STEP = 0.1  # of the scale, between the rows before and after; this project's limit
_MOST_TEXTS = (
    5_000  # for one rank correlation: known to 0.03 by then, and reading more texts would take seconds
)
_LABELLED = ("too-lenient", "too-strict", "disagrees-with-labels")


@diagnostic("follows-length", explains=_LABELLED)
def follows_length(case: Case) -> Iterable[Claim]:
    """The score goes with the length of the answer: rank correlation above 0.3 given the labels, 0.6 without any.

    Length is the best known bias of judges (Dubois 2024, arXiv 2404.04475). With labels, length may explain no more than
    they do.
    """
    if case.context is None or case.is_tiny or not case.varies:
        return
    lengths = case.context.lengths_of
    yield from _follows(case, lengths, "follows-length", "length of the answer", Severity.WARNING)


@diagnostic("drifts", explains=_LABELLED)
def drifts(case: Case) -> Iterable[Claim]:
    """The score goes with the order of the rows: a step of a tenth of the scale, or rank correlation above 0.3 given the labels, a note at 0.6 without.

    Whichever of step and slope explains more of the scores is said. Without labels it may be the rows that get better or
    worse, hence a note.
    """
    if case.is_tiny or not case.varies:
        return
    steps = list(_steps(case))
    severity = Severity.WARNING if _is_labelled(case) else Severity.NOTE
    yield from steps or _follows(
        case, lambda rows: rows.astype(np.float64), "drifts", "order of the rows", severity
    )


def _is_labelled(case: Case) -> bool:
    return bool((case.labels[case.rows] >= 0).any())


def _has_both(labels: NDArray[np.int8]) -> bool:
    return bool((labels == 1).any() and (labels == 0).any())


def _follows(
    case: Case, read: Callable[[NDArray[np.intp]], Floats], kind: str, noun: str, severity: Severity
) -> Iterator[Claim]:
    labels = case.labels[case.rows]
    is_beside = _has_both(labels)
    part = drawn(labels >= 0 if is_beside else np.ones(len(labels), bool), _MOST_TEXTS)
    column = read(case.rows[part])
    found = rank_correlation(
        case.scores[part], column,
        given=labels[part].astype(np.float64) if is_beside else None, groups=compact(case.scored_groups[part]),
    )  # fmt: skip
    limit = _BESIDE_LABELS if is_beside else _ALONE
    if not abs(found.value) > limit:  # also without a value
        return
    if is_beside and _goes_with(labels[part], column):
        severity = Severity.NOTE
    direction = "rises" if found.value > 0 else "falls"
    beside = "rows with the same label" if is_beside else "all rows"
    message = f"the score {direction} with the {noun} over {beside}, rank correlation {found.value:.2f}"
    order = np.argsort(column, kind="stable")
    advice = f"compare these rows, which are in this order: the {noun} should not move the score"
    rows = RowNumbers(case.rows[part][order if found.value < 0 else order[::-1]])
    finding = case.finding(kind, severity, f"rank correlation with the {noun}", message, advice, rows)
    leads = abs(found.value) > _DRIVES
    yield beyond(replace(finding, value=found.value, n=found.n, leads=leads), found, limit)


def _goes_with(labels: NDArray[np.int8], column: Floats) -> bool:
    """Whether a column goes with the labels, so that quality may explain what goes with the column."""
    return abs(rank_correlation(labels.astype(np.float64), column).value) > _CONFOUNDED


def _steps(case: Case) -> Iterator[Claim]:
    """The claim that the scores jump at one row, where a step explains them better than a slope does."""
    labels = case.labels[case.rows]
    is_beside = _has_both(labels)
    part = np.flatnonzero(labels >= 0) if is_beside else np.arange(len(labels))
    levels = labels[part] if is_beside else np.zeros(len(part), np.int8)
    step = find_step(case.scores[part], levels, case.scored_groups[part])
    if step is None or not abs(step.found.value) > _STEP or not step.explains_more:
        return
    is_sorted = is_beside and _goes_with(levels, np.arange(len(part), dtype=float))
    severity = Severity.WARNING if is_beside and not is_sorted else Severity.NOTE
    finding = case.finding(
        "drifts", severity, "score after less before", _said(case, step, case.rows[part], beside=is_beside),
        "look at what changed there: the model, the prompt, a limit, or the rows themselves", case.rows[part][step.at :],
    )  # fmt: skip
    finding = replace(finding, value=step.found.value, n=step.found.n)
    # Either direction, and step or slope.
    yield in_user_units(beyond(finding, step.found, _STEP, tried=4), case.span)


def _said(case: Case, step: Step, rows: NDArray[np.intp], *, beside: bool) -> str:
    direction = "higher" if step.found.value > 0 else "lower"
    size = abs(step.found.value) * case.span
    among = "rows with the same label" if beside else "all rows"
    return f"scores {size:.2g} {direction} from about row {rows[step.at]:,} on than before, over {among}"
