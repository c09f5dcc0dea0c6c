"""Agreement of columns of categories beyond chance: kappa, weighted kappa, AC1, and the human ceiling.

The standard error is the large-sample one of each statistic (delta method), which for kappa is that of
Fleiss, Cohen & Everitt (1969, "Large sample standard errors of kappa and weighted kappa"). Rows of one
prompt enter it at their effective number, see `effective_n`.

The interval is not the value plus and minus a number of standard errors. If two columns agree on every row, that
error is zero, and at 30 labels such "95 %" intervals contain a true kappa of 0.9 in only 41 to 79 of
100 cases. So half a row is first added to each cell of the table (Haldane 1956 does so for odds ratios; in a larger table
two rows are spread over all cells). By simulation this raises the coverage to 92 to 99 % from 10 rows on; with many
rows its effect vanishes.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from math import inf, nan, sqrt

import numpy as np
from numpy.typing import NDArray

from workbench.analysis.statistics import Codes, Estimate, Flags, Floats, LabelCodes, cluster_df, effective_n
from workbench.analysis.statistics.means import Share, cluster_sums

_ADDED_ROWS = 2.0  # rows to each stratum, spread evenly over the cells


@dataclass(frozen=True, eq=False)
class Weighted:
    """Two columns of categories and the weight of each row.

    Often the rows to label are not drawn uniformly: for example, as many accepted rows as refused ones. Treated as if they had
    been drawn uniformly, such labels bias every rate (verification bias: Begg & Greenes 1983, "Assessment of
    diagnostic tests when disease verification is subject to selection bias"). Their correction is used here: the weight of
    each labelled row is the number of rows it represents, that is the rows of its stratum divided by its labelled ones.

    A rate's variance is that of its linearised form under these weights (Kish 1965, "Survey sampling"; Korn & Graubard
    1998). That the strata reduce it is ignored, which is conservative. Half a row is first added to each cell of each
    stratum: otherwise a stratum that represents many rows and has no mistake in its few labels would have no variance.

    Attributes:
        a: Category codes from 0 on, (n,).
        b: Category codes from 0 on, (n,).
        weights: How many rows each represents, on any scale, above 0, (n,); one value per stratum.
        groups: Integer cluster codes (n,) from 0 on; None if all rows are independent.
        levels: Number of categories.
    """

    a: Codes
    b: Codes
    weights: Floats
    groups: Codes | None = None
    levels: int = 2

    @cached_property
    def shares(self) -> Floats:
        """Share of all rows in each cell, (levels, levels)."""
        cells = np.bincount(self.a * self.levels + self.b, self.weights, self.levels**2)
        shares: Floats = cells.reshape(self.levels, self.levels) / self.weights.sum()
        return shares

    @cached_property
    def _strata(self) -> tuple[Floats, Floats]:
        """Weight of each stratum, (s, 1, 1), and its rows by cell with the added ones, (s, levels, levels)."""
        # Rows of one stratum have one weight, so that strata of equal weight are merged.
        values, stratum = np.unique(self.weights, return_inverse=True)
        cells = self.levels**2
        rows_by_cell = np.bincount(
            stratum * cells + self.a * self.levels + self.b, minlength=cells * len(values)
        )
        counts: Floats = rows_by_cell.reshape(len(values), self.levels, self.levels) + np.float64(
            _ADDED_ROWS / cells
        )
        return values[:, None, None], counts

    @cached_property
    def smoothed(self) -> Floats:
        """`shares` with the added rows."""
        weights, counts = self._strata
        shares: Floats = (weights * counts).sum(0) / (weights * counts).sum()
        return shares

    def effective_rows(self, influence: Floats, among: Flags | None = None) -> float:
        """Number of independent rows of equal weight with the same information.

        Args:
            influence: Influence of a row in each cell on the statistic, (levels, levels).
            among: Cells whose rows the statistic uses; all by default.
        """
        weights, counts = self._strata
        inside = np.ones_like(influence) if among is None else among.astype(float)
        counts, rows = counts * inside, inside[self.a, self.b] > 0
        total, square = (weights * counts).sum(), influence**2
        plain = float((weights * counts * square).sum() / total)
        spread = float((weights**2 * counts * square).sum() / total**2)
        n = int(rows.sum())
        if not n or spread <= 0:
            return float(n)
        row_influence = (self.weights * influence[self.a, self.b])[rows]
        cluster_factor = effective_n(row_influence, None if self.groups is None else self.groups[rows]) / n
        return plain / spread * n / float(counts.sum()) * cluster_factor

    def share(self, hit: Flags, among: Flags | None = None) -> Share:
        """The weighted share of the rows in the cells `among` that are in the cells `hit`.

        Args:
            hit: Cells, (levels, levels).
            among: Cells, (levels, levels); all by default.
        """
        inside = np.ones_like(hit) if among is None else among
        rows, total = inside[self.a, self.b], float(self.shares[inside].sum())
        k, n = int(hit[self.a, self.b][rows].sum()), int(rows.sum())
        if not n:
            return Share(0, 0, 0.0)
        smoothed_rate = float(self.smoothed[inside & hit].sum() / self.smoothed[inside].sum())
        groups = None if self.groups is None else self.groups[rows]
        rate = min(1.0, float(self.shares[inside & hit].sum()) / total)
        return Share(
            k,
            n,
            self.effective_rows(hit.astype(np.float64) - smoothed_rate, inside),
            cluster_df(n, groups),
            rate,
        )


# From cell shares (k, k) and agreement weights (k, k) to the statistic and its influence function (how far a row in
# each cell moves it), whose variance over the rows is n times that of the statistic.
Formula = Callable[[Floats, Floats], tuple[float, Floats]]


def table(a: Codes, b: Codes, *, levels: int = 2) -> NDArray[np.int64]:
    """Rows in each cell, int64 (levels, levels): `a` down, `b` across.

    Args:
        a: Category codes from 0 on, (n,).
        b: Category codes from 0 on, (n,).
        levels: How many categories there are.
    """
    counts = np.bincount(a * levels + b, minlength=levels * levels)
    return counts.reshape(levels, levels).astype(np.int64)


def kappa(
    a: Codes, b: Codes, groups: Codes | None = None, *, levels: int = 2, weights: Floats | None = None
) -> Estimate:
    """Cohen's kappa (1960): agreement beyond what the two columns' own shares give by chance, -1 to 1.

    NaN if both columns consist of the same single category: chance then agrees on every row.

    Args:
        a: Category codes from 0 on, (n,).
        b: Category codes from 0 on, (n,).
        groups: Integer cluster codes (n,) from 0 on; None if all rows are independent.
        levels: Number of categories.
        weights: Weight of each row, (n,), see `Weighted`; None if all are equal.

    Example:
        >>> import numpy as np
        >>> counts = [20, 5, 10, 15]
        >>> print(kappa(np.repeat([1, 1, 0, 0], counts), np.repeat([1, 0, 1, 0], counts)))
        0.40 (0.14 to 0.63)
    """
    return _delta_estimate(_Table(a, b, groups, np.eye(levels), weights), _kappa)


def weighted_kappa(a: Codes, b: Codes, groups: Codes | None = None, *, levels: int) -> Estimate:
    """Kappa with quadratic weights (Cohen 1968), for ordered categories: near misses count in part.

    Args:
        a: Category codes in order from 0 on, (n,).
        b: Category codes in order from 0 on, (n,).
        groups: Integer cluster codes (n,) from 0 on; None if all rows are independent.
        levels: How many categories there are, at least 2.
    """
    steps = np.subtract.outer(np.arange(levels), np.arange(levels)) / (levels - 1)
    return _delta_estimate(_Table(a, b, groups, 1.0 - steps**2), _kappa)


def ac1(
    a: Codes, b: Codes, groups: Codes | None = None, *, levels: int = 2, weights: Floats | None = None
) -> Estimate:
    """Gwet's AC1 (2008): agreement beyond chance that does not collapse if one category is rare.

    "Computing inter-rater reliability and its variance in the presence of high agreement". Kappa falls to
    0 on columns that agree on 95 of 100 rows if nearly all rows are good; AC1 does not. NaN without rows.

    Args:
        a: Category codes from 0 on, (n,).
        b: Category codes from 0 on, (n,).
        groups: Integer cluster codes (n,) from 0 on; None if all rows are independent.
        levels: Number of categories, at least 2.
        weights: As in `kappa`.
    """
    return _delta_estimate(_Table(a, b, groups, np.eye(levels), weights), _ac1)


@dataclass(frozen=True, eq=False)
class _Table:
    """Two columns of codes, their clusters, the agreement of each pair of categories (0 to 1), and row weights."""

    a: Codes
    b: Codes
    groups: Codes | None
    agreement_weights: Floats
    weights: Floats | None = None

    @cached_property
    def weighted(self) -> Weighted | None:
        """The rows with their weights if these are unequal; None if all are equal."""
        if self.weights is None or not len(self.a):
            return None
        return Weighted(self.a, self.b, self.weights, self.groups, len(self.agreement_weights))

    @property
    def shares(self) -> Floats:
        """Share of the rows in each cell."""
        if self.weighted is not None:
            return self.weighted.shares
        return table(self.a, self.b, levels=len(self.agreement_weights)).astype(float) / len(self.a)

    def effective_rows(self, influence: Floats, formula: Formula) -> float:
        """Number of independent rows of equal weight with the same information."""
        if self.weighted is None:
            return effective_n(influence[self.a, self.b], self.groups)
        return self.weighted.effective_rows(formula(self.weighted.smoothed, self.agreement_weights)[1])


def _delta_estimate(rows: _Table, formula: Formula) -> Estimate:
    n = len(rows.a)
    if not n:
        return Estimate(math.nan, 0, reason="there are no rows to compare")
    cell_shares = rows.shares
    value, influence = formula(cell_shares, rows.agreement_weights)
    if math.isnan(value):
        return Estimate(math.nan, n, reason="both have one category only")
    effective = rows.effective_rows(influence, formula)
    error = math.sqrt(float((cell_shares * influence**2).sum()) / effective)
    smoothed = cell_shares * effective + _ADDED_ROWS / cell_shares.size
    shares = smoothed / smoothed.sum()
    centre, centre_influence = formula(shares, rows.agreement_weights)
    spread = math.sqrt(float((shares * centre_influence**2).sum() / smoothed.sum()))
    return Estimate(value, n, error, centre, spread, cluster_df(n, rows.groups))


def _kappa(shares: Floats, weights: Floats) -> tuple[float, Floats]:
    down, across = shares.sum(1), shares.sum(0)
    observed, chance = float((weights * shares).sum()), float(down @ weights @ across)
    if chance >= 1 - 1e-12:  # only one category, up to rounding
        return math.nan, np.zeros_like(shares)
    # A row changes the agreement by chance through the shares of both columns.
    chance_change = np.add.outer(weights @ across, down @ weights) - 2 * chance
    influence = ((weights - observed) * (1 - chance) - (1 - observed) * chance_change) / (1 - chance) ** 2
    return (observed - chance) / (1 - chance), influence


def _ac1(shares: Floats, weights: Floats) -> tuple[float, Floats]:
    pooled = (shares.sum(0) + shares.sum(1)) / 2
    free = len(pooled) - 1
    observed, chance = float((weights * shares).sum()), float(pooled @ (1 - pooled)) / free
    slope = (1 - 2 * pooled) / free
    chance_change = np.add.outer(slope, slope) / 2 - float(slope @ pooled)
    influence = ((weights - observed) * (1 - chance) - (1 - observed) * chance_change) / (1 - chance) ** 2
    return (observed - chance) / (1 - chance), influence


Statistic = Callable[[Floats], float]

_MIN_ROWS = 8  # minimum rows that two annotators have both labelled; this project's choice
_ADDED = 0.5  # rows, to each cell
_FREE = 3  # free shares of a two-by-two table: this many prompts give no information about the variance
_STEP = 1e-4  # of a row: derivatives are numerical, over cells with at least half a row


def among_raters(votes: LabelCodes, groups: Codes) -> Estimate:
    """Mean kappa of all pairs of raters over the rows that both labelled; NaN if no two share 8 rows.

    Light 1971, "Measures of response agreement for qualitative data". Pairs are weighted by the rows that both labelled. A grader
    cannot be shown to agree with annotators better than they agree with each other (the human ceiling), so both are
    measured alike, see `with_raters` and `ceiling_gap`.

    Standard errors are those of the infinitesimal jackknife over prompts (Efron 1982), which accounts for pairs that share rows
    and annotators, times g / (g - 3) for g prompts since a table of two by two has three free shares, with Student's quantile.
    As for a single kappa half a row is added to each cell first: even for equal columns, the interval has positive width. By
    simulation it covers the truth in 93 to 99 % of cases from 30 rows on.

    Args:
        votes: 1 good, 0 bad, -1 no label, (n, m).
        groups: Prompt of each row, integer codes (n,) from 0 on.
    """
    return _jackknife_estimate(_tables(_pairs(votes)), groups, _mean_kappa, least=-1.0)


def with_raters(verdicts: LabelCodes, votes: LabelCodes, groups: Codes) -> Estimate:
    """Mean kappa of one column of verdicts with each rater; see `among_raters`.

    Args:
        verdicts: 1 good, 0 bad, -1 none, (n,).
        votes: As in `among_raters`.
        groups: Prompt of each row, integer codes (n,) from 0 on.
    """
    return _jackknife_estimate(
        _tables([(verdicts, rater) for rater in votes.T]), groups, _mean_kappa, least=-1.0
    )


def ceiling_gap(verdicts: LabelCodes, votes: LabelCodes, groups: Codes) -> Estimate:
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
    return _jackknife_estimate(np.concatenate([pairs, own], axis=1), groups, gap, least=-2.0)


def _pairs(votes: LabelCodes) -> list[tuple[LabelCodes, LabelCodes]]:
    return list(combinations(votes.T, 2))


def _tables(columns: list[tuple[LabelCodes, LabelCodes]]) -> Floats:
    """Cell of each row in each pair's two-by-two table, (n, pairs, 4); pairs that share few rows are excluded."""
    tables = [_table(*pair) for pair in columns]
    kept = [table for table in tables if table.sum() >= _MIN_ROWS]
    n = len(columns[0][0]) if columns else 0
    return np.stack(kept, axis=1) if kept else np.empty((n, 0, 4))


def _table(a: LabelCodes, b: LabelCodes) -> Floats:
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


def _jackknife_estimate(tables: Floats, groups: Codes, statistic: Statistic, *, least: float) -> Estimate:
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
