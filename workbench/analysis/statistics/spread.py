"""Measures of a column of scores: spread, quantiles, used levels, similarity within prompts."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "LEVELS",
    "SAME",
    "group_sums",
    "icc_of",
    "level_counts",
    "levels",
    "levels_of",
    "mean",
    "quantiles",
    "rescaled",
    "sample_sd",
]

LEVELS = 21
"""Bins for counting levels: 0, 0.05, ... 1, so that 5- and 10-point scales fall on bin centres."""

SAME = 1e-9
"""Scores closer than this count as equal: sums of weights differ by less from machine to machine."""


def rescaled(values: NDArray[np.float64]) -> tuple[NDArray[np.float64], float]:
    """Values scaled to be summed and squared without overflow, and the factor to multiply results by.

    A score can be any finite number. Up to 1e100 the values are returned unchanged, with a factor of 1.
    """
    size = float(np.abs(values).max(initial=0.0))
    return (values, 1.0) if size <= 1e100 else (values / size, size)


def mean(values: NDArray[np.float64]) -> float:
    """The mean, NaN over no values, finite for any finite scores."""
    small, factor = rescaled(values)
    return float(small.mean()) * factor if len(values) else float("nan")


def sample_sd(values: NDArray[np.float64]) -> float:
    """The sample standard deviation (ddof=1), exactly 0 for constants; NaN below two values and beyond the largest float."""
    if len(values) < 2:
        return float("nan")
    small, factor = rescaled(values)
    # The median is subtracted first, which makes the sd of equal values exactly 0.
    sd = float(np.std(small - np.median(small), ddof=1)) * factor
    return sd if math.isfinite(sd) else float("nan")


def quantiles(values: NDArray[np.float64], at: Sequence[float] = (0.25, 0.5, 0.75)) -> list[float]:
    """Quantiles by linear interpolation (numpy's default, type 7), NaN over no values."""
    small, factor = rescaled(values)
    return [float(q) * factor for q in np.quantile(small, at)] if len(values) else [float("nan")] * len(at)


def levels(values: NDArray[np.float64]) -> NDArray[np.intp]:
    """Level of each value, 0 to 20, (n,). Values outside 0 to 1 count at the end level."""
    at: NDArray[np.intp] = np.clip(np.rint(values * (LEVELS - 1)), 0, LEVELS - 1).astype(np.intp)
    return at


def level_counts(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """One-hot level of each value: float64 (n, 21). Values outside 0 to 1 count at the end level."""
    counts: NDArray[np.float64] = np.zeros((len(values), LEVELS))
    counts[np.arange(len(values)), levels(values)] = 1.0
    return counts


def levels_of(counts: NDArray[np.float64]) -> NDArray[np.float64]:
    """Effective number of levels out of counts (..., 21): exp of the entropy (Hill 1973, order 1).

    1 for a constant, 2 for an even pass/fail, 21 for scores spread evenly.

    The entropy of few rows is too small by (levels - 1) / 2n on average; that much is added
    (Miller 1955), so that a short column does not look collapsed.
    """
    total = np.maximum(counts.sum(-1, keepdims=True), 1.0)
    shares = counts / total
    logs = np.log(shares, out=np.zeros_like(shares), where=shares > 0)
    correction = ((counts > 0).sum(-1) - 1).clip(0) / (2 * total[..., 0])
    levels: NDArray[np.float64] = np.exp(correction - (shares * logs).sum(-1))
    return levels


def group_sums(values: NDArray[np.float64], groups: NDArray[np.intp]) -> NDArray[np.float64]:
    """For each group: 1, size, size squared, sum, sum of squares, squared sum over size. float64 (g, 6)."""
    values, _ = rescaled(values)
    # Minus the median, because large scores would lose their digits in the squares.
    centred = values - np.median(values) if len(values) else values
    size = np.bincount(groups).astype(float)
    total = np.bincount(groups, weights=centred)
    squares = np.bincount(groups, weights=centred**2)
    is_used = size > 0
    size, total, squares = size[is_used], total[is_used], squares[is_used]
    return np.column_stack([np.ones_like(size), size, size**2, total, squares, total**2 / size])


def icc_of(sums: NDArray[np.float64]) -> NDArray[np.float64]:
    """ICC(1) from the column sums of `group_sums`, (..., 6) to (...).

    The share of the scores' variance that is between groups rather than within them: one-way
    analysis of variance, (MSB - MSW) / (MSB + (k - 1) MSW) with the usual average k for groups of
    unequal size (Shrout & Fleiss 1979). 1 means every group has one score only. NaN if nothing
    varies, or there are fewer than two groups, or no group has two rows.
    """
    g, n, n2, total, squares, between = np.moveaxis(sums, -1, 0)
    with np.errstate(divide="ignore", invalid="ignore"):
        msb = (between - total**2 / n) / (g - 1)
        msw = np.maximum(squares - between, 0.0) / (n - g)
        k = (n - n2 / n) / (g - 1)
        result: NDArray[np.float64] = np.where(
            msb + msw > SAME**2, (msb - msw) / (msb + (k - 1) * msw), np.nan
        )
    return np.where((g > 1) & (n > g), result, np.nan)
