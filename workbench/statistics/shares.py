"""Shares with intervals: Wilson, for independent rows and for rows that come in clusters.

Rows that answer one prompt are one cluster and carry less information than as many independent rows. A share of
clustered rows gets Wilson's interval at the *effective* number of rows, with Student's quantile for
the number of clusters (Korn & Graubard 1998, "Confidence intervals for proportions with small
expected number of positive counts estimated from survey data"; Dean & Pagano 2015 found the Wilson
form the best of these). With every row in its own cluster this is Wilson (1927) itself.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from workbench.statistics.spread import rescaled

__all__ = [
    "PLANNING_DF",
    "Interval",
    "Share",
    "cluster_df",
    "clusters",
    "compact",
    "critical_value",
    "effective_n",
    "holm",
    "normal_score",
    "share",
    "wilson",
]

_NORMAL = NormalDist()
PLANNING_DF = 30.0
"""Degrees of freedom at least assumed for rows still needed: more rows mean more clusters, so Student's quantile shrinks."""


class Interval(NamedTuple):
    """A confidence interval; `lo` and `hi` are both NaN where there is none."""

    lo: float
    hi: float


def wilson(k: float, n: float, *, confidence: float = 0.95) -> Interval:
    """Wilson's score interval for a share, from Wilson (1927).

    Args:
        k: Hits, 0 to n. May be a fraction, for effective counts.
        n: Rows. 0 gives the interval 0 to 1: nothing is known.
        confidence: Two-sided, above 0 and below 1. 0.95 by convention.

    Raises:
        ValueError: `k` is not between 0 and n, or `confidence` not between 0 and 1.

    Example:
        >>> [round(end, 3) for end in wilson(35, 35)]
        [0.901, 1.0]
    """
    if not 0 <= k <= n:
        raise ValueError(f"k must lie between 0 and n={n}, not {k}")
    return _score_interval(k / n if n else 0.0, n, critical_value(confidence, math.inf))


def _score_interval(value: float, n: float, critical: float) -> Interval:
    if n <= 0 or math.isinf(critical):
        return Interval(0.0, 1.0)
    square = critical * critical
    centre = (value + square / (2 * n)) / (1 + square / n)
    half = critical / (1 + square / n) * math.sqrt(value * (1 - value) / n + square / (4 * n * n))
    # Written out, because rounding would leave the end a hair inside where no row, or every row, is a hit.
    lo = 0.0 if value <= 0 else max(0.0, centre - half)
    return Interval(lo, 1.0 if value >= 1 else min(1.0, centre + half))


def critical_value(confidence: float, df: float) -> float:
    """Two-sided critical value: Student's with `df`, the normal one when `df` is infinite.

    The exact inverse of `normal_score`, so that bounds and p values never disagree. The approximation of
    Abramowitz & Stegun 26.7.8: within 1 % of Student's quantile from 10 degrees of freedom on, wider below, and
    infinite at 95 % with 3 or fewer clusters, which are too few for a bound.
    """
    if not 0 < confidence < 1:
        raise ValueError(f"confidence must lie between 0 and 1, not {confidence}")
    z = _NORMAL.inv_cdf(0.5 + confidence / 2)
    if math.isinf(df):
        return z
    square = (1 - 1 / (4 * df)) ** 2 - z * z / (2 * df) if df >= 1 else 0.0
    return z / math.sqrt(square) if square > 0 else math.inf


def normal_score(t: float, df: float) -> float:
    """The normal score with (nearly) the same tail probability as Student's `t` with `df`; see `critical_value`."""
    if math.isinf(df):
        return t
    return t * (1 - 1 / (4 * df)) / math.sqrt(1 + t * t / (2 * df)) if df >= 1 else 0.0


def effective_n(values: NDArray[np.float64], groups: NDArray[np.intp] | None = None) -> float:
    """How many independent rows carry as much about the mean as these rows do.

    n divided by Kish's design effect: the cluster-robust variance of the mean over the plain one.
    Never above n. Never below (sum m)^2 / sum m^2 for cluster sizes m, the effective number of rows that are equal
    within each cluster; constant values get that bound, since they cannot show how alike their clusters are.

    Args:
        values: float64 (n,).
        groups: Integer cluster codes (n,) from 0 on; None when all rows are independent.
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
    if len(sizes) < 2 or plain <= 1e-24:  # the variance of a constant, but for rounding
        return floor
    totals = np.bincount(groups, weights=residuals)
    robust = len(sizes) / (len(sizes) - 1) * float(totals @ totals) / n**2
    return float(np.clip(n * plain / robust if robust > 0 else n, floor, n))


@dataclass(frozen=True, slots=True)
class Share:
    """A share of rows with its interval, p value and the rows it still needs.

    Attributes:
        k: Hits.
        n: Rows.
        effective: Effective number of independent rows, at most n where all count alike.
        df: Clusters minus one; infinite where all rows are independent.
        rate: The share where rows stand for unequally many others; None for k of n.
    """

    k: int
    n: int
    effective: float
    df: float = math.inf
    rate: float | None = None

    @property
    def value(self) -> float:
        """The share itself, NaN over no rows."""
        if self.rate is not None:
            return self.rate
        return self.k / self.n if self.n else math.nan

    @property
    def complement(self) -> Share:
        """The share of the other rows: 1 minus this one."""
        rate = None if self.rate is None else 1 - self.rate
        return Share(self.n - self.k, self.n, self.effective, self.df, rate)

    def interval(self, confidence: float = 0.95) -> Interval:
        """The two-sided interval; 0 to 1 without rows."""
        if not self.n:
            return Interval(0.0, 1.0)
        return _score_interval(self.value, self.effective, critical_value(confidence, self.df))

    def p_above(self, threshold: float) -> float:
        """One-sided p value of "the share is at most `threshold`", which lies within 0 to 1.

        It is below (1 - confidence) / 2 exactly when the interval's lower end is above the
        threshold: Wilson's interval inverts this score test.
        """
        if not self.n:
            return 1.0
        spread = math.sqrt(threshold * (1 - threshold) / self.effective)
        score = normal_score((self.value - threshold) / spread, self.df)
        return 0.5 * math.erfc(score / math.sqrt(2))

    def needed_above(self, threshold: float, confidence: float = 0.95) -> int | None:
        """Rows still needed until the lower end passes `threshold`, if share and clustering stay as they are.

        Returns:
            0 when it has passed already; None when the share is at or below the threshold.
        """
        if self.interval(confidence).lo > threshold:
            return 0
        if not self.n or self.value <= threshold:
            return None
        df = max(self.df, PLANNING_DF)
        target = _target(self.value, threshold, critical_value(confidence, df))
        # Effective rows are turned back into rows, as if the new ones were clustered like these.
        return max(1, math.ceil((target - self.effective) * self.n / self.effective))


def share(flags: NDArray[np.bool_], groups: NDArray[np.intp] | None = None) -> Share:
    """The share of true flags, allowing for clusters of rows.

    Args:
        flags: bool (n,).
        groups: Integer cluster codes (n,) from 0 on; None when all rows are independent.
    """
    n = len(flags)
    return Share(int(flags.sum()), n, effective_n(flags.astype(float), groups), cluster_df(n, groups))


def cluster_df(n: int, groups: NDArray[np.intp] | None) -> float:
    """Degrees of freedom of a bound over n rows: clusters minus one, infinite where all rows are independent."""
    count = clusters(n, groups)
    return math.inf if count == n else count - 1.0


def clusters(n: int, groups: NDArray[np.intp] | None) -> int:
    """Number of clusters among n rows. By counting, which is faster than sorting: a report calls this hundreds of times."""
    return n if groups is None else int(np.count_nonzero(np.bincount(groups)))


def compact(codes: NDArray[np.intp]) -> NDArray[np.intp]:
    """Cluster codes renumbered from 0 without gaps, in the same order, (n,)."""
    new: NDArray[np.intp] = (np.cumsum(np.bincount(codes) > 0) - 1)[codes]
    return new


def _target(value: float, threshold: float, critical: float) -> int:
    # The lower end passes the threshold t when (value - t)^2 > critical^2 t (1 - t) / n.
    return math.floor(critical**2 * threshold * (1 - threshold) / (value - threshold) ** 2) + 1


def holm(p: Sequence[float], *, alpha: float = 0.05) -> list[tuple[bool, float]]:
    """Holm's step-down correction (Holm 1979), with the level at which each hypothesis was tested.

    Args:
        p: p values, in any order.
        alpha: The chance allowed of even one false rejection.

    Returns:
        (rejected, level) for each p value, in the order of `p`. After the first hypothesis that is not rejected,
        no other is, and all share its level.
    """
    results: list[tuple[bool, float]] = [(False, alpha)] * len(p)
    rejecting, level = True, alpha
    for step, index in enumerate(sorted(range(len(p)), key=p.__getitem__)):
        if rejecting:
            level = alpha / (len(p) - step)
            rejecting = p[index] <= level
        results[index] = (rejecting, level)
    return results
