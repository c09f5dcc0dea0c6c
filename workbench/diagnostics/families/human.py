"""Verdicts against labels as a whole: whether a grader agrees with people beyond chance.

Which way it errs, *too lenient* and *too strict* in `agreement` say, with the rows; where one of them is an
error, what is said here would only be said twice.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import nan

import numpy as np
from numpy.typing import NDArray

from workbench.diagnostics.case import Case
from workbench.diagnostics.claim import Claim, about_estimate
from workbench.diagnostics.finding import Finding, Severity, percent
from workbench.diagnostics.registry import diagnostic
from workbench.diagnostics.row_numbers import RowNumbers
from workbench.statistics import Confusion, Share, compact

__all__ = ["KAPPA", "LABELS", "against_labels", "disagrees_with_labels", "is_lopsided", "worse_than_chance"]

KAPPA = 0.6
"""Agreement with people counts as good from here on: "substantial" in Landis & Koch 1977."""

LABELS = 100
"""Labels from which agreement is judged: at 30, kappa is known within 0.29 either way."""

_TURNED_ROUND_LABELS = 30
_EVEN = (0.2, 0.8)


@diagnostic("worse-than-chance")
def worse_than_chance(case: Case) -> Iterable[Claim]:
    """Cohen's kappa against labels below 0 (upper bound), from 30 labels on: a scale turned round.

    Silent where it is not shown: a grader that accepts everything has a kappa of about 0.
    """
    found, rows = against_labels(case)
    if len(found) >= _TURNED_ROUND_LABELS and found.kappa.value < 0:
        advice = "good and bad seem turned round: check which way the score runs, and which way the labels do"
        finding = _finding(case, "worse-than-chance", found, advice, rows)
        yield about_estimate(finding, found.kappa, 0.0, plans=False)


@diagnostic("disagrees-with-labels", unless=("too-lenient", "too-strict", "worse-than-chance"))
def disagrees_with_labels(case: Case) -> Iterable[Claim]:
    """Cohen's kappa against labels below 0.6 (upper bound), from 100 labels on.

    0.6 is where Landis & Koch 1977 begin to call agreement substantial. AC1 (Gwet 2008) stands beside it
    where fewer than 20 % or more than 80 % of labels are good: kappa is then low for a few mistakes. Evidence:
    the rows on which the two differ, those first whose score is furthest from the label.
    """
    found, rows = against_labels(case)
    if len(found) < 8 or np.isnan(found.kappa.value):
        return
    advice = "read the rows on which the two differ, and mend the grader or the labels"
    finding = _finding(case, "disagrees-with-labels", found, advice, rows)
    yield about_estimate(finding, found.kappa, KAPPA, short=LABELS - len(found))


def against_labels(case: Case) -> tuple[Confusion, NDArray[np.intp]]:
    """The verdicts of the scored rows that have a label against these labels, and the rows' numbers."""
    known = case.labels[case.rows] >= 0
    rows = case.rows[known]
    return Confusion(case.labels[rows] == 1, case.accepted[known], compact(case.groups[rows])), rows


def is_lopsided(base_rate: Share) -> bool:
    """Whether so few or so many rows are good that AC1 should be read beside kappa."""
    return bool(base_rate.n) and not _EVEN[0] <= base_rate.value <= _EVEN[1]


def _finding(case: Case, kind: str, found: Confusion, advice: str, rows: NDArray[np.intp]) -> Finding:
    same, n, beside = found.observed.k, len(found), ""
    if is_lopsided(found.base_rate):
        beside = f" ({percent(found.base_rate.value)} of them good, AC1 {found.ac1.value:.2f})"
    said = f"{kind.replace('-', ' ')}, the same verdict on {same:,} of {n:,} labelled rows{beside}, kappa {found.kappa.value:.2f}"
    severity = Severity.ERROR if kind == "worse-than-chance" else Severity.WARNING
    differ = np.flatnonzero(found.truth != found.verdict)
    scores = case.scores[np.searchsorted(case.rows, rows[differ])]
    order = np.argsort(-np.abs(scores - found.truth[differ]), kind="stable")
    proof = RowNumbers(rows[differ[order]])
    return Finding(
        case.grader, kind, severity, "kappa", nan, None, n, 0, said, advice, proof, unit="label"
    )  # fmt: skip
