"""The cluster bootstrap: whole prompts are drawn again, never single rows of one prompt.

Rows of one prompt resemble each other; drawing rows one by one would call that likeness certainty
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
from workbench.statistics.spread import tame

__all__ = ["Bootstrap", "bootstrap", "mean_interval", "sd_bootstrap"]

Floats = NDArray[np.float64]
Statistic = Callable[[Floats], Floats]

DRAWS = 2_000
"""Draws of a bootstrap: the 2.5 % end then rests on 50 draws."""

_BCA_BELOW = 500  # BCa costs a jackknife, and corrects what is too small to see from here on.
_MOST_CLUSTERS = 4_096
_CELLS = 2_000_000  # 16 MB of weights at a time
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

        Both ends are draws, chosen so that the interval excludes a value exactly when the count of
        draws beyond that value is small enough for `p_below` to say so.
        """
        if not len(self.draws):
            return Interval(math.nan, math.nan)
        tail = (1 - confidence) / 2
        lo, hi = self._bca_tails(tail) if bca and len(self.jackknife) > 1 else (tail, 1 - tail)
        n = len(self.draws)
        low = min(max(math.floor((n + 1) * lo + 1e-9), 1), n)
        high = min(max(math.ceil((n + 1) * hi - 1e-9), 1), n)
        return Interval(float(self.draws[low - 1]), float(self.draws[high - 1]))

    def _bca_tails(self, tail: float) -> tuple[float, float]:
        n = len(self.draws)
        below = np.searchsorted(self.draws, self.value, "left") + np.searchsorted(
            self.draws, self.value, "right"
        )
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

        The share of draws at or beyond the threshold, one added to both counts. Where no draw gets
        there, the normal tail is used if it is smaller still: 2,000 draws cannot say less than 0.0005.
        """
        if not len(self.draws):
            return 1.0
        beyond = len(self.draws) - int(np.searchsorted(self.draws, threshold, "left"))
        return self._p(beyond, threshold - self.value)

    def p_above(self, threshold: float) -> float:
        """One-sided p value of "the statistic is at most `threshold`"; see `p_below`."""
        if not len(self.draws):
            return 1.0
        return self._p(int(np.searchsorted(self.draws, threshold, "right")), self.value - threshold)

    def _p(self, beyond: int, distance: float) -> float:
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
    """Resample clusters and take a statistic of the column sums each time.

    Beyond 4,096 clusters these are merged at random into 4,096 bundles, which are resampled instead:
    bundles of independent clusters are independent and keep the variance right, and the cost
    stops growing with the rows.

    Args:
        columns: float64 (n, k), one row a sample (or a cluster, with `groups` None).
        statistic: Column sums (..., k) to values (...).
        groups: Integer cluster codes (n,) from 0 on; None when every row stands alone.
        draws: 2,000 by default.
        seed: Same seed, same interval.
    """
    sums = _cluster_sums(columns, groups)
    bundles, weights = _drawn(seed, len(sums), draws)
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
    there = np.bincount(groups) > 0
    return np.column_stack([np.bincount(groups, weights=column)[there] for column in columns.T])


@lru_cache(maxsize=2)
def _drawn(seed: int, found: int, draws: int) -> tuple[NDArray[np.intp] | None, list[NDArray[np.uint16]]]:
    """The bundle of each cluster (None where each is its own), and how often each draw takes each bundle.

    All graders of a report are drawn alike, so this is made once for them: at most 16 MB.
    """
    rng = np.random.default_rng(seed)
    bundles = None if found <= _MOST_CLUSTERS else rng.permutation(found) % _MOST_CLUSTERS
    g = min(found, _MOST_CLUSTERS)
    if g < 2:
        return bundles, []
    step = max(1, _CELLS // g)
    return bundles, [_weights(g, min(step, draws - start), rng) for start in range(0, draws, step)]


def _weights(g: int, rows: int, rng: np.random.Generator) -> NDArray[np.uint16]:
    picks = rng.integers(0, g, size=(rows, g)) + np.arange(rows)[:, None] * g
    return np.bincount(picks.ravel(), minlength=rows * g).reshape(rows, g).astype(np.uint16)


def mean_interval(
    values: Floats, groups: NDArray[np.intp] | None = None, *, confidence: float = 0.95, seed: int = 0
) -> Interval:
    """An interval for the mean score that knows which rows belong together.

    Scores that are all 0 or 1 get Wilson's interval at the effective number of rows. Other scores
    get the cluster bootstrap, BCa below 500 rows. Scores that do not vary, or come from one prompt
    only, have nothing to resample: within 0 to 1 the unseen rest is bounded by Wilson's upper end
    for "none of n", elsewhere both ends are NaN.

    Args:
        values: float64 (n,).
        groups: Integer cluster codes (n,) from 0 on; None when every row stands alone.
        confidence: Two-sided.
        seed: Same seed, same interval.
    """
    if not len(values):
        return Interval(math.nan, math.nan)
    if np.isin(values, (0.0, 1.0)).all():
        return share(values == 1.0, groups).interval(confidence)
    alone = groups is not None and clusters(len(values), groups) < 2
    if alone or values.min() == values.max():
        return _unseen(values, 1 if alone else clusters(len(values), groups), confidence)
    small, factor = tame(values)
    columns = np.column_stack([np.ones_like(small), small])
    lo, hi = bootstrap(columns, _mean, groups=groups, seed=seed).interval(confidence)
    return Interval(lo * factor, hi * factor)


def _mean(sums: Floats) -> Floats:
    return np.divide(sums[..., 1], sums[..., 0])


def _unseen(values: Floats, n: int, confidence: float) -> Interval:
    if values.min() < 0 or values.max() > 1:
        return Interval(math.nan, math.nan)
    other = wilson(0, n, confidence=confidence).hi
    mean = float(values.mean()) * (1 - other)
    return Interval(mean, mean + other)


def sd_bootstrap(values: Floats, groups: NDArray[np.intp] | None = None, *, seed: int = 0) -> Bootstrap:
    """The bootstrap of the sample sd (ddof=1); no draws below two clusters.

    Args:
        values: float64 (n,).
        groups: Integer cluster codes (n,) from 0 on; None when every row stands alone.
        seed: Same seed, same draws.
    """
    centred = values - np.median(values) if len(values) else values
    return bootstrap(
        np.column_stack([np.ones_like(centred), centred, centred**2]), _sd, groups=groups, seed=seed
    )


def _sd(sums: Floats) -> Floats:
    n, total, squares = np.moveaxis(sums, -1, 0)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(n > 1, np.sqrt(np.maximum(squares - total**2 / n, 0.0) / (n - 1)), np.nan)
