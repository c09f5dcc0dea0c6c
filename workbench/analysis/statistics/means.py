"""Intervals of means and standard deviations of scores, valid for few rows and few prompts."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from workbench.analysis.statistics.bounded import BoundedMean, bounded_mean
from workbench.analysis.statistics.clusters import clusters
from workbench.analysis.statistics.intervals import Interval
from workbench.analysis.statistics.shares import share
from workbench.analysis.statistics.spread import SAME, rescaled

__all__ = ["likely_scale", "mean_interval", "mean_interval_of_sums", "sd_interval", "squared_spread"]

Floats = NDArray[np.float64]
Codes = NDArray[np.intp]
Scale = tuple[float, float]

_SCALES: tuple[Scale, ...] = (
    (0.0, 1.0), (-1.0, 1.0), (1.0, 5.0), (0.0, 5.0), (1.0, 7.0), (1.0, 10.0), (0.0, 10.0), (0.0, 100.0),
    (-10.0, 10.0), (-100.0, 100.0),
)  # fmt: skip
"""Common scales, the narrower ones first."""

_MIN_UNBOUNDED = 30
"""Minimum clusters for an interval of a mean without a known scale: nothing then bounds unseen rows, and for
skewed scores fewer rows miss the mean too often."""


def likely_scale(values: Floats) -> Scale | None:
    """The narrowest common scale that contains all scores, such as 1 to 5; None if there is none.

    Args:
        values: float64 (n,).
    """
    return _scale_of(float(values.min()), float(values.max())) if len(values) else None


def _scale_of(low: float, high: float) -> Scale | None:
    return next((scale for scale in _SCALES if scale[0] <= low and high <= scale[1]), None)


def mean_interval(
    values: Floats, groups: Codes | None = None, *, confidence: float = 0.95, scale: Scale = (0.0, 1.0)
) -> Interval:
    """An interval for the mean score that allows for clusters of rows; see `workbench.analysis.statistics.bounded`.

    Scores off the scale use the narrowest common scale that contains them, see `likely_scale`. If there is none, at
    least 30 rows (or prompts, if rows share prompts) are needed: nothing then bounds unseen scores.

    Args:
        values: float64 (n,).
        groups: Integer cluster codes (n,) from 0 on; None if all rows are independent.
        confidence: Two-sided.
        scale: Lowest and highest score.

    Returns:
        Both ends NaN if there is no valid interval.
    """
    if not len(values):
        return Interval(math.nan, math.nan)
    ends = _ends(float(values.min()), float(values.max()), clusters(len(values), groups), scale)
    if ends is None:
        return Interval(math.nan, math.nan)
    # By the ends too: scores may be small on a scale that is not.
    _, factor = rescaled(np.append(values, ends))
    small, low, high = values / factor, ends[0] / factor, ends[1] / factor
    if np.isin(values, ends).all():
        at_top = share(values == ends[1], groups).interval(confidence)
        # As a weighted sum: the difference of two finite ends may be infinite.
        return Interval(*(ends[0] * (1 - part) + ends[1] * part for part in at_top))
    lo, hi = bounded_mean(small, groups, low=low, high=high).interval(confidence)
    return Interval(lo * factor, hi * factor)


def mean_interval_of_sums(
    sums: Floats,
    sizes: Floats,
    low: float,
    high: float,
    *,
    confidence: float = 0.95,
    scale: Scale = (0.0, 1.0),
) -> Interval:
    """The interval of `mean_interval` from sums over clusters of rows, which can be added up over parts of the rows.

    Args:
        sums: Sum of the scores of each cluster, (g,).
        sizes: Rows of each, (g,); clusters without rows do not count.
        low: Lowest score.
        high: Highest score.
        confidence: Two-sided.
        scale: Lowest and highest score that there can be.

    Returns:
        Both ends NaN if there is no valid interval, or sums are beyond the largest float.
    """
    has_rows = sizes > 0
    ends = _ends(low, high, int(has_rows.sum()), scale) if has_rows.any() else None
    if ends is None or not np.isfinite(sums).all():
        return Interval(math.nan, math.nan)
    mean = BoundedMean(sums[has_rows], sizes[has_rows], np.ones(int(has_rows.sum())), *ends)
    return mean.interval(confidence)


def _ends(low: float, high: float, count: int, scale: Scale) -> Scale | None:
    """The ends to use: those of the scale, of a common one, or of the scores themselves if there are many."""
    slack = SAME * (scale[1] - scale[0])
    if scale[0] - slack <= low and high <= scale[1] + slack:
        return min(low, scale[0]), max(high, scale[1])
    common = _scale_of(low, high)
    if common is None and low < high and count >= _MIN_UNBOUNDED:
        return low, high
    return common


def squared_spread(values: Floats, groups: Codes | None = None) -> BoundedMean:
    """The mean squared distance of scores within 0 to 1 from their mean: a variance, as a mean with known ends.

    Args:
        values: float64 (n,), within 0 to 1.
        groups: Integer cluster codes (n,) from 0 on; None if all rows are independent.
    """
    centre = float(values.mean()) if len(values) else 0.5
    found = clusters(len(values), groups)
    # Squares about the sample's mean are too small by this factor on average.
    factor = found / (found - 1) if found > 1 else 1.0
    furthest = factor * max(centre, 1 - centre) ** 2
    return bounded_mean(factor * (values - centre) ** 2, groups, low=0.0, high=furthest)


def sd_interval(values: Floats, groups: Codes | None = None, *, confidence: float = 0.95) -> Interval:
    """An interval for the sd of scores within 0 to 1; equal scores have one with a width.

    Args:
        values: float64 (n,), within 0 to 1.
        groups: Integer cluster codes (n,) from 0 on; None if all rows are independent.
        confidence: Two-sided.
    """
    lo, hi = squared_spread(values, groups).interval(confidence)
    return Interval(math.sqrt(lo), math.sqrt(hi))
