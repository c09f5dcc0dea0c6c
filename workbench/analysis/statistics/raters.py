"""Agreement among annotators of the same rows, and of a grader with one of them: the human ceiling.

A grader cannot be shown to agree with annotators better than they agree with each other, so both are measured alike: the
mean kappa of all pairs of annotators (Light 1971, "Measures of response agreement for qualitative data"), and the mean
kappa of the grader with each of them. Pairs are weighted by the rows that both labelled.

Standard errors are those of the infinitesimal jackknife over prompts (Efron 1982), which accounts for pairs that share rows
and annotators, times g / (g - 3) for g prompts since a table of two by two has three free shares, with Student's quantile.
As for a single kappa (see `agreement`) half a row is added to each cell first: even for equal columns, the interval has
positive width. By simulation it covers the truth in 93 to 99 % of cases from 30 rows on.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations
from math import inf, nan, sqrt

import numpy as np
from numpy.typing import NDArray

from workbench.analysis.statistics.bounded import cluster_sums
from workbench.analysis.statistics.estimate import Estimate

__all__ = ["among_raters", "ceiling_gap", "with_raters"]

Codes = NDArray[np.int8]
Floats = NDArray[np.float64]
Statistic = Callable[[Floats], float]

_MIN_ROWS = 8  # minimum rows that two annotators have both labelled; this project's choice
_ADDED = 0.5  # rows, to each cell
_FREE = 3  # free shares of a two-by-two table: this many prompts give no information about the variance
_STEP = 1e-4  # of a row: derivatives are numerical, over cells with at least half a row


def among_raters(votes: Codes, groups: NDArray[np.intp]) -> Estimate:
    """Mean kappa of all pairs of raters over the rows that both labelled; NaN if no two share 8 rows.

    Args:
        votes: 1 good, 0 bad, -1 no label, (n, m).
        groups: Prompt of each row, integer codes (n,) from 0 on.
    """
    return _estimate(_tables(_pairs(votes)), groups, _mean_kappa, least=-1.0)


def with_raters(verdicts: Codes, votes: Codes, groups: NDArray[np.intp]) -> Estimate:
    """Mean kappa of one column of verdicts with each rater; see `among_raters`.

    Args:
        verdicts: 1 good, 0 bad, -1 none, (n,).
        votes: As in `among_raters`.
        groups: Prompt of each row, integer codes (n,) from 0 on.
    """
    return _estimate(_tables([(verdicts, rater) for rater in votes.T]), groups, _mean_kappa, least=-1.0)


def ceiling_gap(verdicts: Codes, votes: Codes, groups: NDArray[np.intp]) -> Estimate:
    """How much better a column of verdicts agrees with annotators than they do with each other, by mean kappa, -2 to 1.

    Args:
        verdicts: 1 good, 0 bad, -1 none, (n,).
        votes: As in `among_raters`.
        groups: Prompt of each row, integer codes (n,) from 0 on.
    """
    pairs, own = _tables(_pairs(votes)), _tables([(verdicts, rater) for rater in votes.T])
    split = pairs.shape[1]

    def gap(cells: Floats) -> float:
        return _mean_kappa(cells[split:]) - _mean_kappa(cells[:split])

    if not split or not own.shape[1]:
        return Estimate(nan, 0, reason="no two annotators labelled enough of the same rows")
    return _estimate(np.concatenate([pairs, own], axis=1), groups, gap, least=-2.0)


def _pairs(votes: Codes) -> list[tuple[Codes, Codes]]:
    return list(combinations(votes.T, 2))


def _tables(columns: list[tuple[Codes, Codes]]) -> Floats:
    """Cell of each row in each pair's two-by-two table, (n, pairs, 4); pairs that share few rows are excluded."""
    tables = [_table(*pair) for pair in columns]
    kept = [table for table in tables if table.sum() >= _MIN_ROWS]
    n = len(columns[0][0]) if columns else 0
    return np.stack(kept, axis=1) if kept else np.empty((n, 0, 4))


def _table(a: Codes, b: Codes) -> Floats:
    """Cell of each row in the two-by-two table, (n, 4); none for a row that one of them did not label."""
    at = np.where((a >= 0) & (b >= 0), 2 * a + b, -1)
    cells: Floats = (at[:, None] == np.arange(4)).astype(float)
    return cells


def _mean_kappa(cells: Floats) -> float:
    """Mean kappa of pairs weighted by their rows; (pairs, 4). A pair with only one category agrees by chance alone."""
    rows = cells.sum(1)
    neither, only_b, only_a, both = (cells / rows[:, None]).T
    first, second = only_a + both, only_b + both
    chance = first * second + (1 - first) * (1 - second)
    kappas = np.where(chance < 1, (neither + both - chance) / np.where(chance < 1, 1 - chance, 1.0), 0.0)
    return float(kappas @ rows / rows.sum())


def _estimate(tables: Floats, groups: NDArray[np.intp], statistic: Statistic, *, least: float) -> Estimate:
    n = int(tables.any((1, 2)).sum())
    if not tables.shape[1]:
        return Estimate(nan, n, reason="no two annotators labelled enough of the same rows")
    sums = cluster_sums(tables.reshape(len(tables), -1), groups)
    shape = tables.shape[1:]

    def of(cells: Floats) -> float:
        return statistic(cells.reshape(shape))

    total = sums.sum(0)
    slopes = _slopes(of, total + _ADDED)
    g = len(sums)
    # Influence of each prompt, and of each added half row, on the statistic.
    moved = float(((sums @ slopes) ** 2).sum())
    square = (g / (g - _FREE) if g > _FREE else inf) * moved + _ADDED * float(slopes @ slopes)
    return Estimate(of(total), n, sqrt(square), of(total + _ADDED), sqrt(square), g - 1.0, least)


def _slopes(of: Statistic, cells: Floats) -> Floats:
    """Derivative of a statistic by each cell."""
    moves = _STEP * np.eye(len(cells))
    return np.array([(of(cells + move) - of(cells - move)) / (2 * _STEP) for move in moves])
