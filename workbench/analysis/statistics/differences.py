"""Differences of means between some rows and the others of their level, such as those with the same label."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.analysis.statistics.clusters import compact, effective_n
from workbench.analysis.statistics.estimate import Estimate

__all__ = ["within_levels"]

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
_MIN_ROWS = 8  # minimum rows of one level, of one kind and of all others; this project's choice


def within_levels(scores: Floats, codes: NDArray[np.intp], levels: NDArray[Any], own: Flags) -> Estimate:
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


def _variance_of_mean(scores: Floats, codes: NDArray[np.intp]) -> tuple[float, float]:
    """Squared standard error of a mean, and its independent rows; two rows at a distance of half a scale are added."""
    independent = effective_n(scores, compact(codes))
    # Equal scores in few rows do not imply certainty.
    return float((scores.var() * independent + 0.5) / (independent + 2) / independent), independent
