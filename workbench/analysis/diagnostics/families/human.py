"""Overall agreement of verdicts with labels: whether a grader agrees with annotators beyond chance.

*Too lenient* and *too strict* in `agreement` give the direction of a grader's errors. If one of them is found, a finding
from this module would only repeat it, so it is omitted.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from math import nan

import numpy as np
from numpy.typing import NDArray

from workbench.analysis.diagnostics.case import Case
from workbench.analysis.diagnostics.claim import Claim, estimate_claim
from workbench.analysis.diagnostics.finding import Finding, Severity, percent
from workbench.analysis.diagnostics.registry import diagnostic
from workbench.analysis.diagnostics.row_numbers import RowNumbers
from workbench.analysis.statistics import Confusion, Share, compact

__all__ = [
    "KAPPA",
    "LABELS",
    "against_labels",
    "disagrees_with_labels",
    "is_lopsided",
    "no_better_than_chance",
    "worse_than_chance",
]

KAPPA = 0.6
"""Kappa from which agreement with annotators counts as good: "substantial" in Landis & Koch 1977."""

LABELS = 100
"""Minimum labels for a verdict on agreement: a kappa of 0.6 then has a margin of 0.16 (95 %), at 30 of 0.29."""

_MIN_LABELS = 30  # below it kappa's large-sample interval is not reliable at the levels of a verdict
_NOT_SHOWN = 0.025  # p value above which verdicts are not shown to be better than random
_EVEN = (
    0.2,
    0.8,
)  # shares of good labels between which kappa by itself is a fair measure (this project's; see Gwet 2008)


_CONSEQUENCES = (
    "writer-bias",
    "too-lenient",
    "too-strict",
    "disagrees-with-labels",
    "accepts-known-bad",
)
_CHANCE = 0.2  # TPR - FPR below which verdicts are hardly better than random; TPR + TNR of 1.2 in `confusion`


@diagnostic("no-better-than-chance", unless="worse-than-chance", explains=_CONSEQUENCES)
def no_better_than_chance(case: Case) -> Iterable[Claim]:
    """Good rows are accepted hardly more often than bad ones: the difference is below 0.2 (upper bound).

    The difference is Youden's index (1950), TPR - FPR: 0 for random verdicts, and for a grader that gives all rows one verdict.
    """
    confusion, rows = against_labels(case)
    gain = confusion.youden
    if np.isnan(gain.value):
        return
    good, bad = percent(confusion.sensitivity.value), percent(1 - confusion.specificity.value)
    advice = "its verdicts are unrelated to these labels: check that both are about the same criterion"
    message = f"agrees with the labels no better than chance: accepts {good} of good rows and {bad} of bad ones, a difference of {gain.value:.2f}"
    wrong = rows[confusion.truth != confusion.verdict]
    finding = case.finding(
        "no-better-than-chance",
        Severity.ERROR,
        "accepted more often if good",
        message,
        advice,
        wrong,
        unit="label",
    )
    finding = replace(finding, n=len(confusion))
    yield estimate_claim(finding, gain, _CHANCE, plan_rows=gain.p_above(0.0) > _NOT_SHOWN)


@diagnostic("worse-than-chance", explains=_CONSEQUENCES)
def worse_than_chance(case: Case) -> Iterable[Claim]:
    """Cohen's kappa against labels below 0 (upper bound), with at least 30 labels: the scale may be reversed.

    No note on how many more labels are needed: a grader that accepts everything has a kappa of about 0.
    """
    confusion, rows = against_labels(case)
    if len(confusion) >= _MIN_LABELS and confusion.kappa.value < 0:
        advice = "good and bad seem inverted: check the direction of the score, and that of the labels"
        finding = _finding(case, "worse-than-chance", confusion, advice, rows)
        yield estimate_claim(finding, confusion.kappa, 0.0, plan_rows=False)


@diagnostic(
    "disagrees-with-labels",
    unless=("too-lenient", "too-strict", "worse-than-chance", "no-better-than-chance"),
)
def disagrees_with_labels(case: Case) -> Iterable[Claim]:
    """Cohen's kappa against labels below 0.6 (upper bound), with at least 30 labels.

    0.6 is where Landis & Koch 1977 begin to call agreement substantial. AC1 (Gwet 2008) is shown as well
    if fewer than 20 % or more than 80 % of labels are good: a few mistakes then make kappa low. Evidence:
    the rows on which the two differ, those first whose score is furthest from the label.
    """
    confusion, rows = against_labels(case)
    if len(confusion) < _MIN_LABELS or np.isnan(confusion.kappa.value):
        return
    advice = "read the rows on which the two differ, and fix the grader or the labels"
    finding = _finding(case, "disagrees-with-labels", confusion, advice, rows)
    yield estimate_claim(finding, confusion.kappa, KAPPA)


def against_labels(case: Case) -> tuple[Confusion, NDArray[np.intp]]:
    """Verdicts against labels on the scored rows that have a label, and the numbers of these rows."""
    is_labelled = case.labels[case.rows] >= 0
    rows = case.rows[is_labelled]
    return Confusion(case.labels[rows] == 1, case.accepted[is_labelled], compact(case.groups[rows])), rows


def is_lopsided(base_rate: Share) -> bool:
    """Whether so few or many rows are good that AC1 should be read together with kappa."""
    return bool(base_rate.n) and not _EVEN[0] <= base_rate.value <= _EVEN[1]


def _finding(case: Case, kind: str, confusion: Confusion, advice: str, rows: NDArray[np.intp]) -> Finding:
    same, n, beside = confusion.observed.k, len(confusion), ""
    if is_lopsided(confusion.base_rate):
        beside = f" ({percent(confusion.base_rate.value)} of them good, AC1 {confusion.ac1.value:.2f})"
    message = f"{kind.replace('-', ' ')}: the same verdict on {same:,} of {n:,} labelled rows{beside}, kappa {confusion.kappa.value:.2f}"
    severity = Severity.ERROR if kind == "worse-than-chance" else Severity.WARNING
    differ = np.flatnonzero(confusion.truth != confusion.verdict)
    # `case.rows` ascends, so that each row's index in it is found by bisection.
    scores = case.scores[np.searchsorted(case.rows, rows[differ])]
    order = np.argsort(-np.abs(scores - confusion.truth[differ]), kind="stable")
    evidence = RowNumbers(rows[differ[order]])
    return Finding(
        case.grader, kind, severity, "kappa", nan, None, n, 0, message, advice, evidence, unit="label"
    )  # fmt: skip
