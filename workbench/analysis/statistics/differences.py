"""Differences of mean scores within levels: between some rows and the others, and before and after a step."""

from __future__ import annotations

from dataclasses import dataclass
from math import hypot, inf, isnan
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.analysis.statistics.arrays import Codes, Flags, Floats
from workbench.analysis.statistics.intervals import Estimate, compact, effective_n

_MIN_ROWS = 8  # minimum rows of one level, of one kind and of all others; this project's choice


def within_levels(scores: Floats, codes: Codes, levels: NDArray[Any], own: Flags) -> Estimate:
    """How much higher some rows score than the others of their level, with Welch's standard error (1947).

    Within each level, then pooled (Cochran's weights, 1954): an effect of the level does not count as a difference.

    Args:
        scores: (m,), from 0 to 1.
        codes: Prompts, (m,).
        levels: Strata, (m,), such as the label.
        own: Which rows, (m,).
    """
    pairs = [(own & (levels == level), ~own & (levels == level)) for level in np.unique(levels)]
    sizes = [(int(inside.sum()), int(outside.sum())) for inside, outside in pairs]
    used = [at for at, size in enumerate(sizes) if min(size) >= _MIN_ROWS]
    if not used:
        return Estimate(np.nan, 0, reason="too few rows of one level")
    weights = np.array([sizes[at][0] * sizes[at][1] / sum(sizes[at]) for at in used])
    weights = weights / weights.sum()
    gaps = [float(scores[pairs[at][0]].mean() - scores[pairs[at][1]].mean()) for at in used]
    variances = [_variance_of_mean(scores[part], codes[part]) for at in used for part in pairs[at]]
    spread = float(np.sqrt(np.repeat(weights, 2) ** 2 @ [variance for variance, _ in variances]))
    value = float(weights @ gaps)
    fewest = min(independent for _, independent in variances)
    return Estimate(
        value, int(sum(map(sum, (sizes[at] for at in used)))), spread, value, spread, max(fewest - 1, 1.0)
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
    return float(places @ residuals) ** 2 / max(float(places @ places), 1.0)
