"""Clustered rows: several completions of one prompt carry less information than as many independent rows."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from workbench.analysis.statistics.spread import rescaled

__all__ = ["cluster_df", "clusters", "compact", "effective_n"]


def effective_n(values: NDArray[np.float64], groups: NDArray[np.intp] | None = None) -> float:
    """How many independent rows carry as much about the mean as these rows do.

    n divided by Kish's design effect: the cluster-robust variance of the mean over the plain one.
    Never above n. Never below (sum m)^2 / sum m^2 for cluster sizes m, the effective number of rows that are equal
    within each cluster; constant values get that bound, since they cannot show how alike their clusters are.

    Args:
        values: float64 (n,).
        groups: Integer cluster codes (n,) from 0 on; None if all rows are independent.
    """
    n = len(values)
    if groups is None or n == 0:
        return float(n)
    sizes = np.bincount(groups)
    sizes = sizes[sizes > 0]
    if len(sizes) == n:
        return float(n)
    floor = n * n / float(np.square(sizes, dtype=float).sum())
    values, _ = rescaled(values)
    residuals = values - values.mean()
    plain = float(residuals @ residuals) / (n - 1) / n
    if len(sizes) < 2 or plain <= 1e-24:  # the variance of a constant, up to rounding
        return floor
    totals = np.bincount(groups, weights=residuals)
    robust = len(sizes) / (len(sizes) - 1) * float(totals @ totals) / n**2
    return float(np.clip(n * plain / robust if robust > 0 else n, floor, n))


def cluster_df(n: int, groups: NDArray[np.intp] | None) -> float:
    """Degrees of freedom of a bound over n rows: clusters minus one, infinite if all rows are independent."""
    count = clusters(n, groups)
    return math.inf if count == n else count - 1.0


def clusters(n: int, groups: NDArray[np.intp] | None) -> int:
    """Number of clusters among n rows. By counting, which is faster than sorting: a report calls this hundreds of times."""
    return n if groups is None else int(np.count_nonzero(np.bincount(groups)))


def compact(codes: NDArray[np.intp]) -> NDArray[np.intp]:
    """Cluster codes renumbered from 0 without gaps, in the same order, (n,)."""
    new: NDArray[np.intp] = (np.cumsum(np.bincount(codes) > 0) - 1)[codes]
    return new
