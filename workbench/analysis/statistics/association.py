"""Whether scores go with another column: rank correlation, AUROC, and differences of means between parts of the rows."""

from __future__ import annotations

import math
from dataclasses import dataclass
from math import hypot, inf, isnan
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.analysis.statistics import (
    Codes,
    Estimate,
    Flags,
    Floats,
    Interval,
    cluster_df,
    compact,
    critical_value,
    dot,
    effective_n,
    level_codes,
)

_BISECTIONS = 50  # leave 2 to the power of -50 of the range, about the precision of a float


def ranks(values: Floats) -> Floats:
    """Ranks from 1 on, (n,); equal values share their mean rank."""
    at, counts = np.unique(values, return_inverse=True, return_counts=True)[1:]
    ends = np.cumsum(counts)
    shared: Floats = (ends - (counts - 1) / 2)[at]
    return shared


def spearman(a: Floats, b: Floats) -> float:
    """Spearman's rank correlation, -1 to 1; NaN if a column does not vary, or below two rows."""
    return correlation_of_ranks(ranks(a), ranks(b)) if len(a) > 1 else math.nan


def correlation_of_ranks(a_ranks: Floats, b_ranks: Floats) -> float:
    """`spearman` of two columns, given their ranks, (n,) each, n above 1."""
    a_ranks, b_ranks = a_ranks - a_ranks.mean(), b_ranks - b_ranks.mean()
    scale = math.sqrt(dot(a_ranks, a_ranks) * dot(b_ranks, b_ranks))
    # Rounding may move a perfect correlation slightly beyond 1.
    return min(1.0, max(-1.0, dot(a_ranks, b_ranks) / scale)) if scale > 0 else math.nan


def auroc(
    scores: Floats, truth: Flags, groups: Codes | None = None, *, confidence: float = 0.95
) -> tuple[float, Interval]:
    """The probability that a good row scores above a bad one, ties counting half, and its interval.

    The interval is a score interval: it contains every area that a test would not reject, by the variance of Hanley
    & McNeil 1982 with both classes of the average size (Newcombe 2006, "Confidence intervals for an effect
    size measure based on the Mann-Whitney statistic", method 5). So it has positive width even if every good row is
    above every bad one. Rows of one prompt count at their effective number.

    Args:
        scores: float64 (n,).
        truth: Which rows are good, bool (n,).
        groups: Integer cluster codes (n,) from 0 on; None if all rows are independent.
        confidence: Two-sided.

    Returns:
        NaN, with a NaN interval, if there is no good row or no bad one.
    """
    good, bad = int(truth.sum()), int((~truth).sum())
    if not good or not bad:
        return math.nan, Interval(math.nan, math.nan)
    area = (float(ranks(scores)[truth].sum()) - good * (good + 1) / 2) / (good * bad)
    cluster_factor = effective_n(_influence(scores, truth, area), groups) / len(scores)
    sizes, critical = (
        (good * cluster_factor, bad * cluster_factor),
        critical_value(confidence, cluster_df(len(scores), groups)),
    )
    # The lower end is 1 minus the upper end of "a bad row scores above a good one".
    return area, Interval(1 - _upper_end(1 - area, sizes, critical), _upper_end(area, sizes, critical))


def _influence(scores: Floats, truth: Flags, area: float) -> Floats:
    """Influence of each row on the area: its share of pairs won, less the area, divided by the share of its class."""
    all_ranks, won = ranks(scores), np.empty(len(scores))
    for rows, other_class in ((truth, ~truth), (~truth, truth)):
        won[rows] = (all_ranks[rows] - ranks(scores[rows])) / other_class.sum()
    won[~truth] = 1 - won[~truth]
    class_share = np.where(truth, truth.mean(), (~truth).mean())
    influence: Floats = (won - area) / class_share
    return influence


def _upper_end(area: float, sizes: tuple[float, float], critical: float) -> float:
    """The upper end of the score interval, by bisection between the area and 1."""
    lo, hi = area, 1.0
    for _ in range(_BISECTIONS):
        middle = (lo + hi) / 2
        is_inside = middle - area <= critical * math.sqrt(_variance(middle, sizes))
        lo, hi = (middle, hi) if is_inside else (lo, middle)
    return hi if area < 1 else 1.0


def _variance(area: float, sizes: tuple[float, float]) -> float:
    good, bad = sizes
    average_others = max((good + bad) / 2 - 1, 0.0)
    alike = 1 + average_others * ((1 - area) / (2 - area) + area / (1 + area))
    return area * (1 - area) / (good * bad) * alike


_MIN_ROWS = 10  # minimum rows; below it Fisher's transformation is not close to normal


def rank_correlation(
    a: Floats, b: Floats, *, given: Floats | None = None, groups: Codes | None = None
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
    scale = math.sqrt(dot(first, first) * dot(second, second))
    if n < _MIN_ROWS or scale <= 1e-9 * n:
        return Estimate(math.nan, n, reason="too few rows, or a column that does not vary")
    value = min(1.0, max(-1.0, dot(first, second) / scale))
    independent = effective_n(first * second, groups)
    if independent <= 4:
        return Estimate(math.nan, n, reason="too few independent rows")
    spread = math.sqrt((1 + value**2 / 2) / (independent - 3))
    return Estimate(value, n, spread, value, spread, cluster_df(n, groups))


def _residual(column: Floats, given: Floats) -> Floats:
    """Residuals of a column after linear regression on `given`."""
    centred = given - given.mean()
    square = dot(centred, centred)
    residual: Floats = (
        column - column.mean() - (dot(centred, column) / square * centred if square > 0 else 0.0)
    )
    return residual


_DIFFERENCES_MIN_ROWS = 8  # minimum rows of one level, of one kind and of all others; this project's choice


def within_levels(scores: Floats, codes: Codes, levels: NDArray[Any], own: Flags) -> Estimate:
    """How much higher some rows score than the others of their level, with Welch's standard error (1947).

    Within each level, then pooled (Cochran's weights, 1954): an effect of the level does not count as a difference.

    Args:
        scores: (m,), from 0 to 1.
        codes: Prompts, (m,).
        levels: Strata, (m,), such as the label.
        own: Which rows, (m,).
    """
    pairs, weights = _compared(levels, own)
    if not pairs:
        return Estimate(np.nan, 0, reason="too few rows of one level")
    value = _pooled(scores, pairs, weights)
    variances = [_variance_of_mean(scores[part], codes[part]) for pair in pairs for part in pair]
    spread = float(np.sqrt(np.repeat(weights, 2) ** 2 @ [variance for variance, _ in variances]))
    fewest = min(independent for _, independent in variances)
    n = sum(len(part) for pair in pairs for part in pair)
    return Estimate(value, n, spread, value, spread, max(fewest - 1, 1.0))


def difference_within_levels(scores: Floats, levels: NDArray[Any], own: Flags) -> float:
    """The value of `within_levels`, without its standard error; NaN if there are too few rows."""
    pairs, weights = _compared(levels, own)
    return _pooled(scores, pairs, weights) if pairs else math.nan


def _compared(levels: NDArray[Any], own: Flags) -> tuple[list[tuple[Codes, Codes]], Floats]:
    """The rows of each level of the own and of the other kind, where both are enough, and the levels' weights."""
    # Rows by level, their own kind first, each in order: one pass for any number of levels.
    kinds = 2 * level_codes(levels) + ~own
    counts = np.bincount(kinds)
    counts = np.append(counts, np.zeros(len(counts) % 2, np.intp))
    ends = np.cumsum(counts)
    order = np.argsort(kinds.astype(np.uint16 if len(counts) <= 2**16 else np.intp), kind="stable")
    parts = [order[end - count : end] for end, count in zip(ends, counts, strict=True)]
    pairs = [
        pair
        for pair in zip(parts[::2], parts[1::2], strict=True)
        if min(map(len, pair)) >= _DIFFERENCES_MIN_ROWS
    ]
    weights = np.array(
        [len(inside) * len(outside) / (len(inside) + len(outside)) for inside, outside in pairs]
    )
    return pairs, weights / weights.sum() if pairs else weights


def _pooled(scores: Floats, pairs: list[tuple[Codes, Codes]], weights: Floats) -> float:
    return float(
        weights @ [float(scores[inside].mean() - scores[outside].mean()) for inside, outside in pairs]
    )


def _variance_of_mean(scores: Floats, codes: Codes) -> tuple[float, float]:
    """Squared standard error of a mean, and its independent rows; two rows at a distance of half a scale are added."""
    independent = effective_n(scores, compact(codes))
    # Equal scores in few rows do not imply certainty.
    return float((scores.var() * independent + 0.5) / (independent + 2) / independent), independent


_CUTS = np.arange(1, 20) / 20  # candidate positions: each twentieth of the rows; this project's choice
_APART = 0.25  # maximum distance, as a share of the rows, of the cuts chosen by the two halves of the prompts


@dataclass(frozen=True)
class Step:
    """A step.

    Attributes:
        at: Index of the first row after it, among the given rows.
        found: How much higher the rows after it score, on 0 to 1.
        explains_more: Whether it explains more of the scores than a linear trend does.
    """

    at: int
    found: Estimate
    explains_more: bool


def find_step(scores: Floats, levels: NDArray[np.int8], groups: Codes) -> Step | None:
    """The largest step in a column of scores, within strata.

    Its size is measured on prompts that were not used for its position: one half of them chooses the position, the other
    half measures the size, and vice versa (cross-fitting). Otherwise the largest of many differences would be reported,
    which is too large. None if the two halves choose distant positions, or there are too few rows.

    Args:
        scores: (n,), from 0 to 1, in order.
        levels: Strata, (n,), such as the label.
        groups: Prompts, integer codes (n,).
    """
    residuals: Floats = scores - _means_by(scores, levels)
    cuts = np.unique((_CUTS * len(scores)).astype(np.intp))
    odd = np.random.default_rng(0).permutation(int(groups.max(initial=-1)) + 1)[groups] % 2 == 1
    if not len(scores) or odd.all() or not odd.any():
        return None
    chosen = [_best(residuals, part, cuts) for part in (odd, ~odd)]
    if abs(chosen[0] - chosen[1]) > _APART * len(scores):
        return None
    measured = [
        within_levels(scores[part], groups[part], levels[part], np.flatnonzero(part) >= cut)
        for part, cut in zip((~odd, odd), chosen, strict=True)
    ]
    if any(isnan(each.value) for each in measured):
        return None
    at = _best(residuals, np.ones(len(scores), bool), cuts)
    return Step(at, _mean_of(*measured), _explained(residuals, at) > _explained_by_line(residuals))


def _mean_of(one: Estimate, other: Estimate) -> Estimate:
    value, spread = (one.value + other.value) / 2, hypot(one.spread, other.spread) / 2
    return Estimate(value, one.n + other.n, spread, value, spread, min(one.df, other.df, inf))


def _means_by(scores: Floats, levels: NDArray[np.int8]) -> Floats:
    """The mean score of each row's level, (n,)."""
    codes = levels - levels.min(initial=0)
    counts = np.bincount(codes)
    means: Floats = np.bincount(codes, weights=scores) / np.maximum(counts, 1)
    of_rows: Floats = means[codes]
    return of_rows


def _best(residuals: Floats, part: Flags, cuts: Codes) -> int:
    """The cut that explains most for some of the rows."""
    sums, counts = np.cumsum(residuals * part), np.cumsum(part)
    before, n_before = sums[cuts - 1], counts[cuts - 1]
    n_after = counts[-1] - n_before
    with np.errstate(divide="ignore", invalid="ignore"):
        between = before**2 / n_before + (sums[-1] - before) ** 2 / n_after
    return int(cuts[np.argmax(np.where((n_before > 0) & (n_after > 0), between, -1.0))])


def _explained(residuals: Floats, at: int) -> float:
    """Sum of squares that a step explains."""
    return sum(float(side.sum()) ** 2 / len(side) for side in (residuals[:at], residuals[at:]) if len(side))


def _explained_by_line(residuals: Floats) -> float:
    """Sum of squares that a linear trend in the order of the rows explains."""
    places = np.arange(len(residuals)) - (len(residuals) - 1) / 2
    return dot(places, residuals) ** 2 / max(dot(places, places), 1.0)
