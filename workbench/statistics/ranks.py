"""What depends on the order of scores alone: Spearman's correlation and the area under the ROC curve."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from workbench.statistics.shares import Interval, _critical, cluster_df, effective_n

__all__ = ["auroc", "ranks", "spearman"]

Floats = NDArray[np.float64]
_HALVINGS = 50


def ranks(values: Floats) -> Floats:
    """Ranks from 1 on, (n,); equal values share the mean of theirs."""
    at, counts = np.unique(values, return_inverse=True, return_counts=True)[1:]
    ends = np.cumsum(counts)
    shared: Floats = (ends - (counts - 1) / 2)[at]
    return shared


def spearman(a: Floats, b: Floats) -> float:
    """Spearman's rank correlation, -1 to 1; NaN where a column does not vary, or below two rows."""
    if len(a) < 2:
        return math.nan
    one, two = ranks(a), ranks(b)
    one, two = one - one.mean(), two - two.mean()
    scale = math.sqrt(float(one @ one) * float(two @ two))
    return min(1.0, max(-1.0, float(one @ two) / scale)) if scale > 0 else math.nan


def auroc(
    scores: Floats,
    truth: NDArray[np.bool_],
    groups: NDArray[np.intp] | None = None,
    *,
    confidence: float = 0.95,
) -> tuple[float, Interval]:
    """The chance that a good row scores above a bad one, ties counting half, and its interval.

    The interval holds every area that the observed one does not lie too far from, by the variance of Hanley
    & McNeil 1982 with both classes of the average size (Newcombe 2006, "Confidence intervals for an effect
    size measure based on the Mann-Whitney statistic", method 5). So it has a width where every good row is
    above every bad one. Rows of one prompt enter at their effective number.

    Args:
        scores: float64 (n,).
        truth: Which rows are good, bool (n,).
        groups: Integer cluster codes (n,) from 0 on; None when every row stands alone.
        confidence: Two-sided.

    Returns:
        NaN, with a NaN interval, where there is no good row or no bad one.
    """
    good, bad = int(truth.sum()), int((~truth).sum())
    if not good or not bad:
        return math.nan, Interval(math.nan, math.nan)
    area = (float(ranks(scores)[truth].sum()) - good * (good + 1) / 2) / (good * bad)
    worth = effective_n(_influence(scores, truth, area), groups) / len(scores)
    sizes, critical = (good * worth, bad * worth), _critical(confidence, cluster_df(len(scores), groups))
    return area, Interval(1 - _end(1 - area, sizes, critical), _end(area, sizes, critical))


def _influence(scores: Floats, truth: NDArray[np.bool_], area: float) -> Floats:
    """How far each row moves the area: its own share of pairs won, less the area, over its class's share."""
    all_ranks, won = ranks(scores), np.empty(len(scores))
    for rows, other in ((truth, ~truth), (~truth, truth)):
        won[rows] = (all_ranks[rows] - ranks(scores[rows])) / other.sum()
    won[~truth] = 1 - won[~truth]
    class_share = np.where(truth, truth.mean(), (~truth).mean())
    moved: Floats = (won - area) / class_share
    return moved


def _end(area: float, sizes: tuple[float, float], critical: float) -> float:
    """The upper end, by halving the stretch from the area to 1."""
    lo, hi = area, 1.0
    for _ in range(_HALVINGS):
        middle = (lo + hi) / 2
        near = middle - area <= critical * math.sqrt(_variance(middle, sizes))
        lo, hi = (middle, hi) if near else (lo, middle)
    return hi if area < 1 else 1.0


def _variance(area: float, sizes: tuple[float, float]) -> float:
    good, bad = sizes
    others = max((good + bad) / 2 - 1, 0.0)
    alike = 1 + others * ((1 - area) / (2 - area) + area / (1 + area))
    return area * (1 - area) / (good * bad) * alike
