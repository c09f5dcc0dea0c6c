"""Measures of a column of scores: spread, quantiles, used levels, similarity within prompts, pass rates, counts of values."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from math import comb, nan

import numpy as np
from numpy.typing import NDArray

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


def pass_at_k(n: int, correct: int, k: int) -> float:
    """The unbiased estimate of the probability that at least one of k attempts passes, 0 to 1.

    1 - C(n - correct, k) / C(n, k): of all ways to draw k of the n attempts made, the share with a pass among
    them. With n < k, where k attempts cannot be drawn, it is 1.0 if any passed, else 0.0.

    Args:
        n: Attempts made, at least 1.
        correct: Those that passed, 0 to n.
        k: Attempts to draw, at least 1.

    Raises:
        ValueError: A count out of its range.

    Source: Chen et al. 2021, "Evaluating Large Language Models Trained on Code", equation 1; Osmosis'
    evaluation report.

    Example:
        >>> pass_at_k(5, 2, 1), round(pass_at_k(10, 3, 5), 4)
        (0.4, 0.9167)
    """
    for name, value, low in (("n", n, 1), ("correct", correct, 0), ("k", k, 1)):
        if isinstance(value, bool) or not isinstance(value, int) or value < low:
            raise ValueError(f"{name} must be a whole number of at least {low}, not {value!r}")
    if correct > n:
        raise ValueError(f"correct must be at most n, not {correct} of {n}")
    if k > n:
        return float(correct > 0)
    return 1 - comb(n - correct, k) / comb(n, k)


def pass_rate(passed: Sequence[bool]) -> float:
    """Share of runs that passed, 0 to 1; 0.0 for none. Umbraco calls it pass@k (see `pass_at_k` for the unbiased one)."""
    return sum(map(bool, passed)) / len(passed) if passed else 0.0


def pass_to_the_k(passed: Sequence[bool]) -> float:
    """1.0 if there were runs and every one passed, else 0.0. Umbraco calls it pass^k."""
    return float(bool(passed) and all(passed))


MAX_VALUES = 16_384
"""Maximum number of different values: more than any rating scale has, and 256 kB of memory."""
_MANTISSA = 52
"""Bits of a float64 after its first digit."""


def _no_values() -> NDArray[np.float64]:
    return np.zeros(0)


def _no_counts() -> NDArray[np.int64]:
    return np.zeros(0, np.int64)


@dataclass(frozen=True, eq=False)
class ValueCounts:
    """How often each value of a column occurs. Exact up to 16,384 different values.

    If there are more, values lose their last binary digits, the fewest that reduce their number to the maximum. That number
    of digits depends only on the values: the counts are the same for any parts, merged in any order.

    Attributes:
        values: Different values, ascending, (v,).
        counts: Rows with each value, (v,).
        dropped: Binary digits of 52 that the values have lost; 0 if they are exact.
    """

    values: NDArray[np.float64] = field(default_factory=_no_values)
    counts: NDArray[np.int64] = field(default_factory=_no_counts)
    dropped: int = 0

    @classmethod
    def of(cls, values: NDArray[np.float64]) -> ValueCounts:
        """The counts of a column.

        Args:
            values: Finite numbers, (n,).
        """
        return _shortened(values, np.ones(len(values), np.int64), 0)

    def merged(self, other: ValueCounts) -> ValueCounts:
        """The counts of both columns together."""
        values = np.concatenate([self.values, other.values])
        counts = np.concatenate([self.counts, other.counts])
        return _shortened(values, counts, max(self.dropped, other.dropped))

    @property
    def is_exact(self) -> bool:
        """Whether no value has lost a digit."""
        return self.dropped == 0

    @property
    def precision(self) -> float:
        """Maximum relative error of a value towards 0; 0 if values are exact."""
        return 2.0 ** (self.dropped - _MANTISSA) if self.dropped else 0.0

    def quantiles(self, at: Sequence[float] = (0.25, 0.5, 0.75)) -> list[float]:
        """Quantiles by linear interpolation (numpy's default, type 7), NaN over no values; see `precision`."""
        if not len(self.values):
            return [nan] * len(at)
        ends = np.cumsum(self.counts)
        places = (int(ends[-1]) - 1) * np.asarray(at, float)
        below = np.floor(places)
        low, high = (
            self.values[np.searchsorted(ends, place, side="right")] for place in (below, np.ceil(places))
        )
        share = places - below
        found = low * (1 - share) + high * share  # the difference of two finite values may be infinite
        return [float(value) for value in found]


def _shortened(values: NDArray[np.float64], counts: NDArray[np.int64], dropped: int) -> ValueCounts:
    """Counted values, with the fewest lost digits that leave at most 16,384 of them, and at least `dropped`."""
    order = np.argsort(values, kind="stable")
    # 0.0 is added, which converts -0.0 to 0.0; as integers, equal values are adjacent before and after losing digits.
    bits = (values[order] + 0.0).view(np.int64)
    ordered = counts[order]
    while True:
        mask = np.int64(-1) << np.int64(dropped)
        starts = np.flatnonzero(np.diff(bits & mask, prepend=~bits[:1] & mask))
        if len(starts) <= MAX_VALUES or dropped == _MANTISSA:
            break
        dropped += 1
    found = (bits[starts] & mask).view(np.float64)
    return ValueCounts(found, np.add.reduceat(ordered, starts) if len(starts) else _no_counts(), dropped)
