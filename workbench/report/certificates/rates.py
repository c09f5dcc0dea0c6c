"""Error rates of a grader against labels, with the intervals that findings use."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.analysis.diagnostics.families.human import against_labels
from workbench.analysis.statistics import Confusion, Interval, Share
from workbench.report.cases import labelled_case
from workbench.report.certificates.parts import Rate
from workbench.report.protocols import ReportLike

__all__ = ["error_rates"]

_MIN_ROWS = 10
"""Minimum rows (prompts, if several rows share one) of each class for an interval of J."""

_DECIMALS = 6


def error_rates(report: ReportLike, grader: str, groups: NDArray[np.intp]) -> dict[str, Rate]:
    """The five rates of `Certified` over the scored rows that have a label.

    The first four have the exact interval that *too lenient* and *too strict* use, clustered by prompt.
    J has that of `Confusion.youden`, if each class has at least ten rows.

    Args:
        report: The report, with labels.
        grader: Name of a grader of it.
        groups: Prompt of each row as an integer code, (n,).
    """
    confusion, _ = against_labels(labelled_case(report, grader, groups))
    tpr, tnr = confusion.sensitivity, confusion.specificity
    return {
        "true_positive_rate": _rate(tpr),
        "true_negative_rate": _rate(tnr),
        "false_positive_rate": _rate(tnr.complement),
        "false_negative_rate": _rate(tpr.complement),
        "youden_j": _youden(confusion),
    }


def _rate(share: Share) -> Rate:
    if not share.n:
        return Rate(None, None, None, 0, 0)
    return Rate(**_numbers(share.value, share.interval()), count=share.k, of=share.n)


def _youden(confusion: Confusion) -> Rate:
    youden = confusion.youden
    if math.isnan(youden.value):
        return Rate(None, None, None, None, len(confusion))
    fewest = min(confusion.sensitivity.units, confusion.specificity.units)
    interval = youden.interval() if fewest >= _MIN_ROWS else Interval(math.nan, math.nan)
    return Rate(**_numbers(youden.value, interval), count=None, of=len(confusion))


def _numbers(value: float, interval: Interval) -> dict[str, Any]:
    numbers = {"value": value, "low": interval.lo, "high": interval.hi}
    return {
        name: None if math.isnan(number) else round(float(number), _DECIMALS)
        for name, number in numbers.items()
    }
