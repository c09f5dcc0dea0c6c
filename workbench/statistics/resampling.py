"""The cluster bootstrap: whole prompts are resampled, never single rows of one prompt.

Rows of one prompt resemble each other; resampling single rows would mistake that likeness for certainty
(Miller 2024, "Adding error bars to evals"). Every statistic here is a function of column sums, so a
draw is one row of weights times one small matrix.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from workbench.statistics.shares import Interval, clusters, share, wilson
from workbench.statistics.spread import rescaled

__all__ = ["Bootstrap", "bootstrap", "mean_interval", "sd_bootstrap"]

Floats = NDArray[np.float64]
Statistic = Callable[[Floats], Floats]

DRAWS = 2_000
"""Draws of a bootstrap: 50 of them then lie beyond the 2.5 % end."""

_BCA_BELOW = 500  # rows; from here on BCa's correction is too small to see and not worth its jackknife
_MAX_CLUSTERS = 4_096  # clusters resampled singly; bounds time and memory, see `bootstrap`
_CELLS = 2_000_000  # weights in one block: 4 MB as uint16, 16 MB as floats
_NORMAL = NormalDist()


@dataclass(frozen=True)
class Bootstrap:
    """A statistic, its bootstrap draws, and its values with one cluster left out.

    Attributes:
        value: The statistic over all rows.
        draws: Sorted, without NaN.
        jackknife: One value a cluster; empty where BCa is not used.
    """

    value: float
    draws: Floats
    jackknife: Floats

    def interval(self, confidence: float = 0.95, *, bca: bool = True) -> Interval:
        """The percentile interval, or BCa (Efron 1987) where there is a jackknife and `bca` is set.

        Both ends are draws, chosen so that the percentile interval excludes a value exactly when `p_below` or
        `p_above` of that value is small enough.
        """
        if not len(self.draws):
            return Interval(math.nan, math.nan)
        tail = (1 - confidence) / 2
        lo, hi = self._bca_tails(tail) if bca and len(self.jackknife) > 1 else (tail, 1 - tail)
        n = len(self.draws)
        # 1e-9: (n + 1) * lo may fall just short of a whole number by rounding.
        low = min(max(math.floor((n + 1) * lo + 1e-9), 1), n)
        high = min(max(math.ceil((n + 1) * hi - 1e-9), 1), n)
        return Interval(float(self.draws[low - 1]), float(self.draws[high - 1]))

    def _bca_tails(self, tail: float) -> tuple[float, float]:
        n = len(self.draws)
        below = np.searchsorted(self.draws, self.value, "left") + np.searchsorted(
            self.draws, self.value, "right"
        )
        # Kept half a draw away from 0 and 1, where the normal quantile is infinite.
        bias = _NORMAL.inv_cdf(min(max(below / (2 * n), 0.5 / n), 1 - 0.5 / n))
        gaps = self.jackknife.mean() - self.jackknife
        scale = float((gaps**2).sum()) ** 1.5
        skew = float((gaps**3).sum()) / (6 * scale) if scale > 0 else 0.0
        lo, hi = (self._bca_tail(z, bias, skew) for z in (_NORMAL.inv_cdf(tail), _NORMAL.inv_cdf(1 - tail)))
        return lo, hi

    @staticmethod
    def _bca_tail(z: float, bias: float, skew: float) -> float:
        return _NORMAL.cdf(bias + (bias + z) / (1 - skew * (bias + z)))

    def p_below(self, threshold: float) -> float:
        """One-sided p value of "the statistic is at least `threshold`".

        The share of draws at or beyond the threshold, with one added to both counts (Davison & Hinkley 1997). Where
        no draw gets there, the normal tail is used if it is smaller: 2,000 draws cannot give less than 0.0005.
        """
        if not len(self.draws):
            return 1.0
        beyond = len(self.draws) - int(np.searchsorted(self.draws, threshold, "left"))
        return self._p_value(beyond, threshold - self.value)

    def p_above(self, threshold: float) -> float:
        """One-sided p value of "the statistic is at most `threshold`"; see `p_below`."""
        if not len(self.draws):
            return 1.0
        return self._p_value(int(np.searchsorted(self.draws, threshold, "right")), self.value - threshold)

    def _p_value(self, beyond: int, distance: float) -> float:
        counted = (1 + beyond) / (1 + len(self.draws))
        if beyond or distance <= 0:
            return counted
        spread = float(self.draws.std())
        return min(counted, 0.5 * math.erfc(distance / spread / math.sqrt(2)) if spread > 0 else 0.0)


def bootstrap(
    columns: Floats,
    statistic: Statistic,
    *,
    groups: NDArray[np.intp] | None = None,
    draws: int = DRAWS,
    seed: int = 0,
) -> Bootstrap:
    """Resample clusters and compute a statistic of the column sums each time.

    More than 4,096 clusters are merged at random into 4,096 bundles, which are resampled instead:
    bundles of independent clusters are independent and have the right variance, and the cost
    stops growing with the rows.

    Args:
        columns: float64 (n, k), one row a sample (or a cluster, with `groups` None).
        statistic: Function from column sums (..., k) to values (...).
        groups: Integer cluster codes (n,) from 0 on; None when all rows are independent.
        draws: 2,000 by default.
        seed: Same seed, same interval.
    """
    sums = _cluster_sums(columns, groups)
    bundles, weights = _resamples(seed, len(sums), draws)
    sums = sums if bundles is None else _cluster_sums(sums, bundles)
    values = [statistic(block.astype(np.float64) @ sums) for block in weights]
    drawn = np.concatenate(values) if values else np.empty(0)
    total = sums.sum(0)
    jackknife = statistic(total - sums) if len(sums) > 1 and len(columns) < _BCA_BELOW else np.empty(0)
    return Bootstrap(
        float(statistic(total)), np.sort(drawn[~np.isnan(drawn)]), jackknife[~np.isnan(jackknife)]
    )


def _cluster_sums(columns: Floats, groups: NDArray[np.intp] | None) -> Floats:
    if groups is None:
        return columns
    is_used = np.bincount(groups) > 0
    return np.column_stack([np.bincount(groups, weights=column)[is_used] for column in columns.T])


@lru_cache(maxsize=2)
def _resamples(
    seed: int, clusters_found: int, draws: int
) -> tuple[NDArray[np.intp] | None, list[NDArray[np.uint16]]]:
    """The bundle of each cluster (None where each is its own), and how often each draw takes each bundle.

    The same for all graders of a report, so cached: at most 16 MB.
    """
    rng = np.random.default_rng(seed)
    bundles = None if clusters_found <= _MAX_CLUSTERS else rng.permutation(clusters_found) % _MAX_CLUSTERS
    g = min(clusters_found, _MAX_CLUSTERS)
    if g < 2:
        return bundles, []
    step = max(1, _CELLS // g)
    return bundles, [_weights(g, min(step, draws - start), rng) for start in range(0, draws, step)]


def _weights(g: int, rows: int, rng: np.random.Generator) -> NDArray[np.uint16]:
    # Each draw gets a range of codes of its own, so that one bincount counts all of them.
    picks = rng.integers(0, g, size=(rows, g)) + np.arange(rows)[:, None] * g
    # Two bytes are enough: a draw takes 4,096 clusters at most.
    return np.bincount(picks.ravel(), minlength=rows * g).reshape(rows, g).astype(np.uint16)


def mean_interval(
    values: Floats, groups: NDArray[np.intp] | None = None, *, confidence: float = 0.95, seed: int = 0
) -> Interval:
    """An interval for the mean score that allows for clusters of rows.

    Scores that are all 0 or 1 get Wilson's interval at the effective number of rows. Other scores
    get the cluster bootstrap, BCa below 500 rows. Scores that do not vary, or come from one prompt
    only, have nothing to resample: within 0 to 1 the share of scores that differ but were not seen is
    bounded by Wilson's upper end for "none of n"; elsewhere both ends are NaN.

    Args:
        values: float64 (n,).
        groups: Integer cluster codes (n,) from 0 on; None when all rows are independent.
        confidence: Two-sided.
        seed: Same seed, same interval.
    """
    if not len(values):
        return Interval(math.nan, math.nan)
    if np.isin(values, (0.0, 1.0)).all():
        return share(values == 1.0, groups).interval(confidence)
    is_one_cluster = groups is not None and clusters(len(values), groups) < 2
    if is_one_cluster or values.min() == values.max():
        n = 1 if is_one_cluster else clusters(len(values), groups)
        return _unvaried_interval(values, n, confidence)
    small, factor = rescaled(values)
    columns = np.column_stack([np.ones_like(small), small])
    lo, hi = bootstrap(columns, _mean, groups=groups, seed=seed).interval(confidence)
    return Interval(lo * factor, hi * factor)


def _mean(sums: Floats) -> Floats:
    return np.divide(sums[..., 1], sums[..., 0])


def _unvaried_interval(values: Floats, n: int, confidence: float) -> Interval:
    if values.min() < 0 or values.max() > 1:
        return Interval(math.nan, math.nan)
    unseen_share = wilson(0, n, confidence=confidence).hi
    low = float(values.mean()) * (1 - unseen_share)
    return Interval(low, low + unseen_share)


def sd_bootstrap(values: Floats, groups: NDArray[np.intp] | None = None, *, seed: int = 0) -> Bootstrap:
    """The bootstrap of the sample sd (ddof=1); no draws below two clusters.

    Args:
        values: float64 (n,).
        groups: Integer cluster codes (n,) from 0 on; None when all rows are independent.
        seed: Same seed, same draws.
    """
    # Squares of large scores that differ by little would cancel to noise.
    centred = values - np.median(values) if len(values) else values
    return bootstrap(
        np.column_stack([np.ones_like(centred), centred, centred**2]), _sd, groups=groups, seed=seed
    )


def _sd(sums: Floats) -> Floats:
    n, total, squares = np.moveaxis(sums, -1, 0)
    with np.errstate(divide="ignore", invalid="ignore"):
        # Rounding may leave the variance of equal scores just below 0, where there is no root.
        return np.where(n > 1, np.sqrt(np.maximum(squares - total**2 / n, 0.0) / (n - 1)), np.nan)
