"""Intervals of means and shares of scores, valid for few rows and few prompts.

`BoundedMean` has Gaffke's interval for scores between known ends, `Share` that of Clopper & Pearson.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from statistics import NormalDist

import numpy as np

from workbench.analysis.statistics import (
    SAME,
    Codes,
    Flags,
    Floats,
    Interval,
    clopper_pearson,
    cluster_df,
    clusters,
    critical_value,
    effective_n,
    growth_needed,
    rescaled,
)
from workbench.analysis.statistics.roots import root

MAX_CLUSTERS = 4_096
"""Maximum number of clusters weighted individually. More are merged at random into this many bundles, which are
independent and have the right variance, so that the cost stops growing with the rows."""

_MAX_LEVELS = 512  # distinct scores that are counted rather than listed
_STEPS = 200  # of Newton's method; it takes about ten
_NEAR_MEAN = 1e-4  # standard deviations within which the formula divides by nearly 0 and its limit is used

_REACH = (1.3, 0.8)
"""How far from the mean the end of an interval is searched first, as multiples of the normal interval's half width."""


@dataclass(frozen=True, eq=False)
class BoundedMean:
    """A mean of scores within `low` to `high`, over clusters of rows.

    Its interval and test are valid at any number of rows. The interval is Gaffke's (2005, "Three test statistics for a
    nonparametric one-sided hypothesis on the mean of a nonnegative variable"; see Learned-Miller & Thomas 2019, arXiv
    1905.06208): rows get random weights that sum to one, and one additional row, at the end of the scale, represents unseen
    rows. For scores that are all 0 or 1 it is the exact interval of Clopper & Pearson (1934). Equal scores have an interval of
    positive width: though none of n rows differs, up to about 3 / n of all rows may. Student's interval lacks this protection.

    Rows of one prompt get one weight together, so that their similarity needs no estimate. Tail probabilities are from the
    saddlepoint formula of Lugannani & Rice (1980, "Saddle point approximation for the distribution of the sum of
    independent random variables"), which here is within 8 % of the truth however small they are, and within 1 % if
    scores differ: no draws, and the same result every time.

    Attributes:
        sums: Sum of the scores of each kind of cluster, (g,).
        sizes: Rows of each, (g,).
        counts: How many clusters of each kind there are, (g,).
        low: Lowest value a score can have.
        high: Highest value a score can have.
    """

    sums: Floats
    sizes: Floats
    counts: Floats
    low: float = 0.0
    high: float = 1.0

    @cached_property
    def value(self) -> float:
        """The mean; NaN without rows."""
        rows = float(self.sizes @ self.counts)
        return float(self.sums @ self.counts) / rows if rows else math.nan

    @cached_property
    def clusters(self) -> int:
        """Number of clusters, or of bundles of them."""
        return int(self.counts.sum())

    def interval(self, confidence: float = 0.95) -> Interval:
        """The two-sided interval; `low` to `high` without rows."""
        tail = (1 - confidence) / 2
        return Interval(self.lower(tail), self.upper(tail))

    def lower(self, tail: float) -> float:
        """The end that is above the true mean with a probability of at most `tail`."""
        return self._end(self.p_above, self.low, tail)

    def upper(self, tail: float) -> float:
        """The end that is below the true mean with a probability of at most `tail`."""
        return self._end(self.p_below, self.high, tail)

    def _end(self, chance: Callable[[float], float], end: float, tail: float) -> float:
        """Where `chance`, which grows from the end of the scale to the mean, is `tail`."""
        span = self.high - self.low
        if not self.clusters or abs(self.value - end) <= 1e-12 * span:
            return end
        if (around := self._around(end, tail)) is not None:
            known = {mean: chance(mean) for mean in around}
            if 0 < known[around[0]] < tail < known[around[1]] < 1:
                from scipy.special import ndtri

                # Normal scores of the chances are nearly linear between the two: a third of the evaluations.
                score = float(ndtri(tail))
                return root(
                    lambda mean: float(ndtri(known[mean] if mean in known else chance(mean))) - score,
                    *around,
                    xtol=1e-9 * span,
                )
        near = end + 1e-9 * (self.value - end)
        if chance(near) >= tail:
            return end
        if chance(self.value) <= tail:  # rounding at the mean itself
            return self.value
        return root(lambda mean: chance(mean) - tail, near, self.value, xtol=1e-9 * span)

    def _around(self, end: float, tail: float) -> tuple[float, float] | None:
        """Two means between which the interval's end is likely to be, by the normal approximation; None without a spread."""
        away = np.square(self.sums - self.value * self.sizes)
        spread = math.sqrt(float(away @ self.counts)) / float(self.sizes @ self.counts)
        reach = abs(NormalDist().inv_cdf(tail)) * spread if 0 < tail < 1 / 2 else 0.0
        far = min(
            _REACH[0] * reach + 1 / self.clusters * abs(end - self.value), (1 - 1e-9) * abs(end - self.value)
        )
        near = _REACH[1] * reach
        sign = 1.0 if end > self.value else -1.0
        return (self.value + sign * far, self.value + sign * near) if 0 < near < far else None

    def p_above(self, threshold: float) -> float:
        """One-sided p value of "the mean is at most `threshold`", which is within the ends."""
        return self._chance(threshold, self.low, 1.0)

    def p_below(self, threshold: float) -> float:
        """One-sided p value of "the mean is at least `threshold`", which is within the ends."""
        return self._chance(threshold, self.high, -1.0)

    def _chance(self, threshold: float, end: float, sign: float) -> float:
        """The probability that the weighted mean, with one average cluster at `end`, falls on the wrong side."""
        if not self.clusters:
            return 1.0
        average = float(self.sizes @ self.counts) / float(self.counts.sum())
        excess = np.append(self.sums - threshold * self.sizes, (end - threshold) * average)
        return chance_below_zero(sign * excess, np.append(self.counts, 1.0))

    @property
    def complement(self) -> BoundedMean:
        """The mean of the mirrored scores: `low` + `high` minus each."""
        turned = (self.low + self.high) * self.sizes - self.sums
        return BoundedMean(turned, self.sizes, self.counts, self.low, self.high)


def bounded_mean(
    values: Floats, groups: Codes | None = None, *, low: float = 0.0, high: float = 1.0, seed: int = 0
) -> BoundedMean:
    """The mean of scores within `low` to `high`, allowing for clusters of rows.

    Args:
        values: float64 (n,), within the ends.
        groups: Integer cluster codes (n,) from 0 on; None if all rows are independent.
        low: Lowest possible score.
        high: Highest possible score.
        seed: Of the random bundles that more than 4,096 clusters are merged into.

    Example:
        >>> import numpy as np
        >>> [round(end, 2) for end in bounded_mean(np.full(20, 0.85)).interval()]
        [0.71, 0.88]
    """
    sums, sizes = cluster_sums(np.column_stack([values, np.ones(len(values))]), groups).T
    if not len(sizes) or sizes.max() == 1:
        # A small sample decides whether it is worth sorting them all.
        few = len(np.unique(sums[:MAX_CLUSTERS])) <= _MAX_LEVELS
        levels, counts = np.unique(sums, return_counts=True) if few else (sums, sums)
        if few and len(levels) <= _MAX_LEVELS:
            return BoundedMean(levels, np.ones(len(levels)), counts.astype(np.float64), low, high)
    sums, sizes = bundled(np.column_stack([sums, sizes]), seed).T
    return BoundedMean(sums, sizes, np.ones(len(sums)), low, high)


def cluster_sums(columns: Floats, groups: Codes | None) -> Floats:
    """Sums of columns (n, k) over each cluster that has rows, (g, k)."""
    if groups is None:
        return columns
    is_used = np.bincount(groups) > 0
    if len(is_used) == len(columns) and is_used.all():  # each row is a cluster: only their order would change
        return columns
    return np.column_stack([np.bincount(groups, weights=column)[is_used] for column in columns.T])


def bundled(sums: Floats, seed: int = 0) -> Floats:
    """Sums of clusters (g, k); more than 4,096 clusters are merged at random into that many bundles."""
    if len(sums) <= MAX_CLUSTERS:
        return sums
    bundles = np.random.default_rng(seed).permutation(len(sums)) % MAX_CLUSTERS
    return np.column_stack([np.bincount(bundles, weights=column) for column in sums.T])


def chance_below_zero(factors: Floats, shapes: Floats) -> float:
    """The chance that a sum of independent gamma variables times factors is at most 0, by the saddlepoint formula.

    Args:
        factors: What each variable is multiplied by, (m,).
        shapes: Shape of each gamma variable, above 0, (m,); 1 is an exponential one.
    """
    used = factors != 0
    factors, shapes = factors[used], shapes[used]
    if not len(factors) or factors.min() > 0:
        return 0.0 if len(factors) else 1.0
    if factors.max() < 0:
        return 1.0
    factors = factors / np.abs(factors).max()
    point = _saddlepoint(factors, shapes)
    # The cumulant generating function and its second and third derivative at the saddlepoint.
    ratios = factors / (1 - factors * point)
    cumulants = -float(shapes @ np.log1p(-factors * point))
    curvature = float(shapes @ ratios**2)
    u = point * math.sqrt(curvature)
    if abs(u) < _NEAR_MEAN:
        return 0.5 + float(shapes @ ratios**3) / (3 * curvature * math.sqrt(2 * math.pi * curvature))
    w = math.copysign(math.sqrt(max(-2 * cumulants, 0.0)), point)
    density = math.exp(-w * w / 2) / math.sqrt(2 * math.pi)
    return min(max(math.erfc(-w / math.sqrt(2)) / 2 + density * (1 / w - 1 / u), 0.0), 1.0)


def _saddlepoint(factors: Floats, shapes: Floats) -> float:
    """Where the derivative of the cumulant generating function is 0: by Newton's method within shrinking ends."""
    lo, hi = 1 / float(factors.min()), 1 / float(factors.max())
    point = 0.0
    for _ in range(_STEPS):
        ratios = factors / (1 - factors * point)
        slope, curvature = float(shapes @ ratios), float(shapes @ ratios**2)
        lo, hi = (lo, point) if slope > 0 else (point, hi)
        if abs(slope) <= 1e-11 * math.sqrt(curvature):
            break
        step = point - slope / curvature
        point = step if lo < step < hi else (lo + hi) / 2
    return point


_CONFIDENCE = 0.95  # level at which few clusters shrink the effective rows


@dataclass(frozen=True, slots=True)
class Share:
    """A share of rows with its interval, p value and the rows it still needs.

    Exact for independent rows, and equally conservative for clustered rows. The share of independent rows has Clopper &
    Pearson's interval and the exact binomial test: with rare hits in few rows Wilson's interval and the score test, which are
    right on average, call a share of 2 % in 20 rows too high in 10 % of cases at a nominal 2.5 %. Rows of one prompt are one
    cluster, see `BoundedMean`.

    Attributes:
        k: Hits.
        n: Rows.
        effective: Effective number of independent rows, at most n if all have equal weight.
        df: Clusters minus one; infinite if all rows are independent.
        rate: The share if rows have unequal weights; None for k of n.
        by_cluster: The hits of each cluster; None if all rows are independent, or have unequal weights.
    """

    k: int
    n: int
    effective: float
    df: float = math.inf
    rate: float | None = None
    by_cluster: BoundedMean | None = field(default=None, repr=False, compare=False)

    @property
    def value(self) -> float:
        """The share, NaN over no rows."""
        if self.rate is not None:
            return self.rate
        return self.k / self.n if self.n else math.nan

    @property
    def units(self) -> int:
        """Number of independent units: clusters, or rows if all are independent."""
        return self.n if math.isinf(self.df) else round(self.df) + 1

    @property
    def complement(self) -> Share:
        """The share of the other rows: 1 minus this one."""
        rate = None if self.rate is None else 1 - self.rate
        other = None if self.by_cluster is None else self.by_cluster.complement
        return Share(self.n - self.k, self.n, self.effective, self.df, rate, other)

    def interval(self, confidence: float = 0.95) -> Interval:
        """The two-sided interval; 0 to 1 without rows."""
        if self.by_cluster is not None:
            return self.by_cluster.interval(confidence)
        return clopper_pearson(*self._counts, confidence=confidence)

    def upper(self, confidence: float = 0.95) -> float:
        """The one-sided upper bound: the share is below it with this confidence; 1 without rows."""
        return self.interval(2 * confidence - 1).hi

    def p_above(self, threshold: float) -> float:
        """One-sided p value of "the share is at most `threshold`", which is within 0 to 1.

        It is below (1 - confidence) / 2 exactly when the interval's lower end is above the threshold.
        """
        if self.by_cluster is not None:
            return self.by_cluster.p_above(threshold)
        from scipy.special import betainc

        k, n = self._counts
        return float(betainc(k, n - k + 1, threshold)) if k > 0 else 1.0

    @property
    def _counts(self) -> tuple[float, float]:
        """Hits and rows; for unequal weights the effective ones (Korn & Graubard 1998)."""
        if not self.n:
            return 0.0, 0.0
        few = critical_value(_CONFIDENCE, math.inf) / critical_value(_CONFIDENCE, self.df)
        rows = self.effective * few**2
        return min(self.value, 1.0) * rows, rows

    def needed_above(self, threshold: float, confidence: float = 0.95) -> int | None:
        """How many more rows (clusters, if rows are clustered) are needed to show the share above `threshold`.

        With that many the verdict is reached in 90 % of cases, see `growth_needed`.

        Returns:
            0 if it is shown already; None if the share is at or below the threshold, or the current rows are
            too few to plan.
        """
        tail = (1 - confidence) / 2
        p = self.p_above(threshold)
        if p <= tail:
            return 0
        growth = growth_needed(p, tail) if self.n and self.value > threshold else None
        return None if growth is None else max(1, math.ceil(self.units * (growth - 1)))


def share(flags: Flags, groups: Codes | None = None) -> Share:
    """The share of true flags, allowing for clusters of rows.

    Args:
        flags: bool (n,).
        groups: Integer cluster codes (n,) from 0 on; None if all rows are independent.
    """
    n = len(flags)
    df = cluster_df(n, groups)
    values = flags.astype(float)
    by_cluster = None if math.isinf(df) or not n else bounded_mean(values, groups)
    return Share(int(flags.sum()), n, effective_n(values, groups), df, None, by_cluster)


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
    """An interval for the mean score that allows for clusters of rows; see `BoundedMean`.

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
