"""Intervals and estimates of shares over clusters of rows, critical values, Holm's correction, and the spread of scores.

Scores are float64 (n,) without NaN: the caller has already excluded rows without a score.

`scipy.special` takes 0.15 s to import, more than all else that an app needs before its first picture: its functions are
imported where the first statistic is computed.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
"""Scores, weights or shares."""
Codes = NDArray[np.intp]
"""Numbers of groups, such as the prompt of each row, from 0 on."""
Flags = NDArray[np.bool_]
"""True or False for each row."""
LabelCodes = NDArray[np.int8]
"""1 good, 0 bad, -1 no label."""

LEVELS = 21
"""Bins for counting levels: 0, 0.05, ... 1, so that 5- and 10-point scales fall on bin centres."""

SAME = 1e-9
"""Scores closer than this count as equal: sums of weights differ by less from machine to machine."""


_POWER_SCORE = 1.2816
"""Normal score of a power of 90 %."""

_CAUTION = 1.0
"""Standard errors by which a plan assumes the effect to be smaller than its estimate.

Plans are made if an effect looks large, which is often due to chance. By simulation over shares of 1.5 times the limit
and more, with 10 to 200 rows, this reduction raises the power at the planned rows to 90 %.
"""

_MAX_GROWTH = 20.0
"""Maximum growth relative to the current rows: if more would be needed, the current rows are too few to plan."""


class Interval(NamedTuple):
    """A confidence interval; `lo` and `hi` are both NaN if there is none."""

    lo: float
    hi: float


def clopper_pearson(k: float, n: float, *, confidence: float = 0.95) -> Interval:
    """The exact interval of a share, from Clopper & Pearson (1934): its coverage is at least nominal at every n.

    Args:
        k: Hits, 0 to n. May be a fraction, for effective counts.
        n: Rows. 0 gives the interval 0 to 1: nothing is known.
        confidence: Two-sided, above 0 and below 1. 0.95 by convention.

    Raises:
        ValueError: `k` is not between 0 and n, or `confidence` not between 0 and 1.

    Example:
        >>> [round(end, 3) for end in clopper_pearson(0, 60)]
        [0.0, 0.06]
    """
    from scipy.special import betaincinv

    _check(k, n, confidence)
    tail = (1 - confidence) / 2
    lo = 0.0 if k <= 0 else float(betaincinv(k, n - k + 1, tail))
    return Interval(lo, 1.0 if k >= n else float(betaincinv(k + 1, n - k, 1 - tail)))


def wilson(k: float, n: float, *, confidence: float = 0.95) -> Interval:
    """Wilson's score interval for a share, from Wilson (1927): right on average, too short for rare hits in few rows.

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
    _check(k, n, confidence)
    return _score_interval(k / n if n else 0.0, n, critical_value(confidence, math.inf))


def _check(k: float, n: float, confidence: float) -> None:
    if not 0 <= k <= n:
        raise ValueError(f"k must be between 0 and n={n}, not {k}")
    if not 0 < confidence < 1:
        raise ValueError(f"confidence must be between 0 and 1, not {confidence}")


def _score_interval(value: float, n: float, critical: float) -> Interval:
    if n <= 0:
        return Interval(0.0, 1.0)
    square = critical * critical
    centre = (value + square / (2 * n)) / (1 + square / n)
    half = critical / (1 + square / n) * math.sqrt(value * (1 - value) / n + square / (4 * n * n))
    # Written out, because rounding would leave the end slightly inside if no row, or every row, is a hit.
    lo = 0.0 if value <= 0 else max(0.0, centre - half)
    return Interval(lo, 1.0 if value >= 1 else min(1.0, centre + half))


def critical_value(confidence: float, df: float) -> float:
    """Two-sided critical value: Student's with `df`, the normal one if `df` is infinite; infinite below 1 degree.

    Example:
        >>> round(critical_value(0.95, 3), 2)
        3.18
    """
    if not 0 < confidence < 1:
        raise ValueError(f"confidence must be between 0 and 1, not {confidence}")
    if df < 1:
        return math.inf
    from scipy.special import ndtri, stdtrit

    upper = 0.5 + confidence / 2
    return float(ndtri(upper) if math.isinf(df) else stdtrit(df, upper))


def normal_score(t: float, df: float) -> float:
    """The normal score with the same tail probability as Student's `t` with `df`; 0 below 1 degree of freedom."""
    if math.isinf(df):
        return t
    if df < 1:
        return 0.0
    from scipy.special import ndtri, stdtr

    # By the lower tail, which retains its digits however small it is.
    return -math.copysign(float(ndtri(stdtr(df, -abs(t)))), -t)


def growth_needed(p: float, tail: float) -> float | None:
    """Multiple of the current rows that a verdict requires, with a power of 90 %.

    Assumes that the test's normal score grows with the square root of the rows. The effect is assumed to be one standard
    error smaller than its estimate.

    Args:
        p: One-sided p value of the current rows.
        tail: One-sided level of the verdict.

    Returns:
        None if the current rows are too few to plan: the effect may well be zero, or it requires more than
        20 times the rows.
    """
    if not 0 < p < 1 or not 0 < tail < 1:
        return None
    from scipy.special import ndtri

    effect = -float(ndtri(p)) - _CAUTION
    if effect <= 0:
        return None
    growth = ((_POWER_SCORE - float(ndtri(tail))) / effect) ** 2
    return growth if growth <= _MAX_GROWTH else None


def holm(p: Sequence[float], *, alpha: float = 0.05) -> list[tuple[bool, float]]:
    """Holm's step-down correction (Holm 1979), with the level at which each hypothesis was tested.

    Args:
        p: p values, in any order.
        alpha: The allowed probability of at least one false rejection.

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


@dataclass(frozen=True, slots=True)
class Estimate:
    """A statistic with a normal (or, for clusters, Student) interval.

    The interval is not centred on the value: see `workbench.analysis.statistics.agreement` for why.

    Attributes:
        value: The statistic; NaN if there is none, and `reason` explains why.
        n: Number of rows on which it is based.
        error: Its large-sample standard error, which allows for clusters; NaN without a value.
        centre: Middle of the interval.
        spread: Standard error at the centre.
        df: Clusters minus one; infinite if all rows are independent.
        least: Lowest value the statistic can have.
        reason: Why there is no value; "" if there is one.
    """

    value: float
    n: int
    error: float = math.nan
    centre: float = math.nan
    spread: float = math.nan
    df: float = math.inf
    least: float = -1.0
    reason: str = ""

    @property
    def units(self) -> int:
        """Number of independent units: clusters, or rows if all are independent."""
        return self.n if math.isinf(self.df) else round(self.df) + 1

    def interval(self, confidence: float = 0.95) -> Interval:
        """The two-sided interval, which contains the value; both ends NaN if there is none.

        With one cluster it is the whole range of the statistic.
        """
        if math.isnan(self.value):
            return Interval(math.nan, math.nan)
        half = critical_value(confidence, self.df) * self.spread
        return Interval(
            max(self.least, min(self.value, self.centre - half)),
            min(1.0, max(self.value, self.centre + half)),
        )

    def p_below(self, threshold: float) -> float:
        """One-sided p value of "the statistic is at least `threshold`"; 1.0 without a value.

        It is below (1 - confidence) / 2 exactly when the interval's upper end is below the threshold.
        """
        return self._p(threshold - self.centre) if self.value < threshold else 1.0

    def p_above(self, threshold: float) -> float:
        """One-sided p value of "the statistic is at most `threshold`"; see `p_below`."""
        return self._p(self.centre - threshold) if self.value > threshold else 1.0

    def _p(self, distance: float) -> float:
        if math.isnan(self.value) or not self.spread > 0 or self.df < 1:
            return 1.0
        from scipy.special import stdtr

        score = distance / self.spread
        return 0.5 * math.erfc(score / math.sqrt(2)) if math.isinf(self.df) else float(stdtr(self.df, -score))

    def needed(self, threshold: float, confidence: float = 0.95) -> int | None:
        """How many more rows (clusters, if rows are clustered) are needed until the interval excludes `threshold`.

        With that many it does in 90 % of cases, see `growth_needed`.

        Returns:
            0 if it is excluded already; None if there is no value, or the current rows are too few to plan.
        """
        if math.isnan(self.value):
            return None
        lo, hi = self.interval(confidence)
        if not lo <= threshold <= hi:
            return 0
        p = min(self.p_below(threshold), self.p_above(threshold))
        growth = growth_needed(p, (1 - confidence) / 2)
        return None if growth is None else max(1, math.ceil(self.units * (growth - 1)))

    def __str__(self) -> str:
        """Such as "0.71 (0.52 to 0.87)", or "- (reason)"."""
        if math.isnan(self.value):
            return f"- ({self.reason})"
        lo, hi = self.interval()
        return f"{self.value:.2f} ({lo:.2f} to {hi:.2f})"


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
    plain = dot(residuals, residuals) / (n - 1) / n
    if len(sizes) < 2 or plain <= 1e-24:  # the variance of a constant, up to rounding
        return floor
    totals = np.bincount(groups, weights=residuals)
    robust = len(sizes) / (len(sizes) - 1) * dot(totals, totals) / n**2
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


def level_codes(levels: NDArray[Any]) -> Codes:
    """Levels renumbered from 0 without gaps, in the order of their values, (n,): as `np.unique`, without sorting integers."""
    if levels.dtype.kind in "iub" and len(levels):
        shifted = levels.astype(np.intp) - int(levels.min())
        if int(shifted.max()) <= 2 * len(levels):
            return compact(shifted)
    codes: Codes = np.unique(levels, return_inverse=True)[1].reshape(-1)
    return codes


def dot(a: NDArray[Any], b: NDArray[Any]) -> float:
    """The sum of products of two columns, (n,) each.

    By one thread: `a @ b` starts several for long columns, and waits 1 to 10 ms for them if other processes use the cores.
    """
    return float(np.einsum("i,i->", a, b))


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


def group_spans(scores: Floats, groups: Codes) -> tuple[Codes, Floats]:
    """For each prompt: its number of scores, and its highest less its lowest score, both (g,).

    Args:
        scores: float64 (n,).
        groups: Prompt codes (n,) from 0 on, without gaps.
    """
    sizes = np.bincount(groups)
    if len(sizes) == len(scores):  # one completion per prompt
        return sizes, np.zeros(len(sizes))
    order = np.argsort(groups, kind="stable")
    starts = np.cumsum(sizes) - sizes
    ordered = scores[order]
    with np.errstate(over="ignore"):
        return sizes, np.maximum.reduceat(ordered, starts) - np.minimum.reduceat(ordered, starts)
