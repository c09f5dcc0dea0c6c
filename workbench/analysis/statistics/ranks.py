"""Statistics of the order of scores: ranks, Spearman's correlation, also partial, and the area under the ROC curve."""

from __future__ import annotations

import math

import numpy as np

from workbench.analysis.statistics.arrays import Codes, Flags, Floats
from workbench.analysis.statistics.intervals import (
    Estimate,
    Interval,
    cluster_df,
    critical_value,
    effective_n,
)

_BISECTIONS = 50  # leave 2 to the power of -50 of the range, about the precision of a float


def ranks(values: Floats) -> Floats:
    """Ranks from 1 on, (n,); equal values share their mean rank."""
    at, counts = np.unique(values, return_inverse=True, return_counts=True)[1:]
    ends = np.cumsum(counts)
    shared: Floats = (ends - (counts - 1) / 2)[at]
    return shared


def spearman(a: Floats, b: Floats) -> float:
    """Spearman's rank correlation, -1 to 1; NaN if a column does not vary, or below two rows."""
    if len(a) < 2:
        return math.nan
    a_ranks, b_ranks = ranks(a), ranks(b)
    a_ranks, b_ranks = a_ranks - a_ranks.mean(), b_ranks - b_ranks.mean()
    scale = math.sqrt(float(a_ranks @ a_ranks) * float(b_ranks @ b_ranks))
    # Rounding may move a perfect correlation slightly beyond 1.
    return min(1.0, max(-1.0, float(a_ranks @ b_ranks) / scale)) if scale > 0 else math.nan


def auroc(
    scores: Floats,
    truth: Flags,
    groups: Codes | None = None,
    *,
    confidence: float = 0.95,
) -> tuple[float, Interval]:
    """The probability that a good row scores above a bad one, ties counting half, and its interval.

    The interval is a score interval: it contains every area that a test would not reject, by the variance of Hanley
    & McNeil 1982 with both classes of the average size (Newcombe 2006, "Confidence intervals for an effect
    size measure based on the Mann-Whitney statistic", method 5). So it has positive width even if every good row is
    above every bad one. Rows of one prompt count at their effective number.

    Args:
        scores: float64 (n,).
        truth: Which rows are good, bool (n,).
        groups: Integer cluster codes (n,) from 0 on; None if all rows are independent.
        confidence: Two-sided.

    Returns:
        NaN, with a NaN interval, if there is no good row or no bad one.
    """
    good, bad = int(truth.sum()), int((~truth).sum())
    if not good or not bad:
        return math.nan, Interval(math.nan, math.nan)
    area = (float(ranks(scores)[truth].sum()) - good * (good + 1) / 2) / (good * bad)
    cluster_factor = effective_n(_influence(scores, truth, area), groups) / len(scores)
    sizes, critical = (
        (good * cluster_factor, bad * cluster_factor),
        critical_value(confidence, cluster_df(len(scores), groups)),
    )
    # The lower end is 1 minus the upper end of "a bad row scores above a good one".
    return area, Interval(1 - _upper_end(1 - area, sizes, critical), _upper_end(area, sizes, critical))


def _influence(scores: Floats, truth: Flags, area: float) -> Floats:
    """Influence of each row on the area: its share of pairs won, less the area, divided by the share of its class."""
    all_ranks, won = ranks(scores), np.empty(len(scores))
    for rows, other_class in ((truth, ~truth), (~truth, truth)):
        won[rows] = (all_ranks[rows] - ranks(scores[rows])) / other_class.sum()
    won[~truth] = 1 - won[~truth]
    class_share = np.where(truth, truth.mean(), (~truth).mean())
    influence: Floats = (won - area) / class_share
    return influence


def _upper_end(area: float, sizes: tuple[float, float], critical: float) -> float:
    """The upper end of the score interval, by bisection between the area and 1."""
    lo, hi = area, 1.0
    for _ in range(_BISECTIONS):
        middle = (lo + hi) / 2
        is_inside = middle - area <= critical * math.sqrt(_variance(middle, sizes))
        lo, hi = (middle, hi) if is_inside else (lo, middle)
    return hi if area < 1 else 1.0


def _variance(area: float, sizes: tuple[float, float]) -> float:
    good, bad = sizes
    average_others = max((good + bad) / 2 - 1, 0.0)
    alike = 1 + average_others * ((1 - area) / (2 - area) + area / (1 + area))
    return area * (1 - area) / (good * bad) * alike


_MIN_ROWS = 10  # minimum rows; below it Fisher's transformation is not close to normal


def rank_correlation(
    a: Floats, b: Floats, *, given: Floats | None = None, groups: Codes | None = None
) -> Estimate:
    """Spearman's correlation of two columns; if `given` is not None, their partial correlation given that column.

    The standard error is that of Bonett & Wright on Fisher's scale (2000, "Sample size requirements for estimating
    Pearson, Kendall and Spearman correlations"), sqrt((1 + r^2 / 2) / (n - 3)), used on the scale of the correlation
    itself, where it is too large for strong correlations and never too small.

    Args:
        a: float64 (n,).
        b: float64 (n,).
        given: float64 (n,), or None.
        groups: Integer cluster codes (n,) from 0 on; None if all rows are independent.
    """
    n = len(a)
    columns = [ranks(column) for column in (a, b)]
    if given is not None:
        columns = [_residual(column, ranks(given)) for column in columns]
    first, second = (column - column.mean() for column in columns) if n else (a, b)
    scale = math.sqrt(float(first @ first) * float(second @ second))
    if n < _MIN_ROWS or scale <= 1e-9 * n:
        return Estimate(math.nan, n, reason="too few rows, or a column that does not vary")
    value = min(1.0, max(-1.0, float(first @ second) / scale))
    independent = effective_n(first * second, groups)
    if independent <= 4:
        return Estimate(math.nan, n, reason="too few independent rows")
    spread = math.sqrt((1 + value**2 / 2) / (independent - 3))
    return Estimate(value, n, spread, value, spread, cluster_df(n, groups))


def _residual(column: Floats, given: Floats) -> Floats:
    """Residuals of a column after linear regression on `given`."""
    centred = given - given.mean()
    square = float(centred @ centred)
    residual: Floats = (
        column - column.mean() - (float(centred @ column) / square * centred if square > 0 else 0.0)
    )
    return residual
