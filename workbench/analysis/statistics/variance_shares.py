"""Contributions to a weighted total: the share of its variance that is due to each part, with a bootstrap over prompts.

share_i = w_i cov(s_i, T) / var(T) for a total T = sum of w_i s_i. The shares sum to 1. One exceeds its weight if the
part's scores vary more than the others', or correlate with them; it may be below 0, or above 1.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from workbench.analysis.statistics.intervals import critical_value
from workbench.analysis.statistics.ranks import ranks
from workbench.analysis.statistics.resampling import Bootstrap, bootstrap
from workbench.analysis.statistics.spread import SAME, rescaled

__all__ = ["rank_correlation", "variance_share", "variance_shares"]

Floats = NDArray[np.float64]
Codes = NDArray[np.intp]

_MAX_WIDENING = (
    3.0  # with three or four clusters Student's quantile is useless; no verdict is based on so few
)


def variance_shares(parts: Floats, total: Floats) -> Floats:
    """Share of the variance of the total that is due to each part, (k,); NaN if the total does not vary.

    Args:
        parts: Scores times weights, (n, k).
        total: Their sum, (n,).
    """
    (small, factor), away = rescaled(total), _centred(parts)
    spread = small - small.mean() if len(small) else small
    variance = float(spread @ spread)
    if not variance > len(total) * SAME**2:
        return np.full(parts.shape[1], np.nan)
    shares: Floats = (away / factor).T @ spread / variance
    return shares


def variance_share(part: Floats, total: Floats, groups: Codes | None = None, *, seed: int = 0) -> Bootstrap:
    """The bootstrap of one part's share of the total's variance; see `variance_shares`.

    Args:
        part: Scores times weight, (n,).
        total: The sum over all parts, (n,).
        groups: Integer cluster codes (n,) from 0 on; None if all rows are independent.
        seed: Same seed, same draws.
    """
    small, factor = rescaled(total)
    x, y = _centred((part / factor)[:, None])[:, 0], _centred(small[:, None])[:, 0]
    columns = np.column_stack([np.ones_like(x), x, y, x * y, y * y])
    return _widened(bootstrap(columns, _share, groups=groups, seed=seed))


def _share(sums: Floats) -> Floats:
    n, x, y, xy, yy = np.moveaxis(sums, -1, 0)
    variance = yy - y * y / n
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(variance > n * SAME**2, (xy - x * y / n) / variance, np.nan)


def rank_correlation(a: Floats, b: Floats, groups: Codes | None = None, *, seed: int = 0) -> Bootstrap:
    """The bootstrap of Spearman's correlation of two columns, with the sign changed so that it is positive.

    Ranks are those among all rows in every draw; NaN, and no draws, if a column does not vary.

    Args:
        a: float64 (n,).
        b: float64 (n,).
        groups: Integer cluster codes (n,) from 0 on; None if all rows are independent.
        seed: Same seed, same draws.
    """
    x, y = (_centred(ranks(column)[:, None])[:, 0] / max(len(column), 1) for column in (a, b))
    y = y if x @ y >= 0 else -y
    columns = np.column_stack([np.ones_like(x), x, y, x * y, x * x, y * y])
    return _widened(bootstrap(columns, _correlation, groups=groups, seed=seed), most=1.0)


def _widened(boot: Bootstrap, most: float = math.inf) -> Bootstrap:
    """Draws widened as Student's quantile requires for few clusters: a percentile interval of 12 covers 91 %."""
    if boot.units < 3:
        return replace(boot, draws=np.empty(0), widened=np.empty(0))
    df = boot.units - 1
    factor = critical_value(0.95, df) / critical_value(0.95, math.inf) * math.sqrt(boot.units / df)
    draws = np.minimum(boot.value + (boot.draws - boot.value) * min(factor, _MAX_WIDENING), most)
    return replace(boot, draws=draws, widened=draws)


def _correlation(sums: Floats) -> Floats:
    n, x, y, xy, xx, yy = np.moveaxis(sums, -1, 0)
    spread = (xx - x * x / n) * (yy - y * y / n)
    with np.errstate(divide="ignore", invalid="ignore"):
        # Rounding may move a perfect correlation slightly beyond 1.
        return np.where(
            spread > (n * SAME**2) ** 2, np.minimum((xy - x * y / n) / np.sqrt(spread), 1.0), np.nan
        )


def _centred(columns: Floats) -> Floats:
    centred: Floats = columns - columns.mean(0) if len(columns) else columns
    return centred
