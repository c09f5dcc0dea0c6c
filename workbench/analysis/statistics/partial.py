"""Partial rank correlation of two columns, given a third."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from workbench.analysis.statistics.clusters import cluster_df, effective_n
from workbench.analysis.statistics.estimate import Estimate
from workbench.analysis.statistics.ranks import ranks

__all__ = ["rank_correlation"]

Floats = NDArray[np.float64]
_MIN_ROWS = 10  # minimum rows; below it Fisher's transformation is not close to normal


def rank_correlation(
    a: Floats, b: Floats, *, given: Floats | None = None, groups: NDArray[np.intp] | None = None
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
