"""Two columns of categories over rows with unequal weights.

Often the rows to label are not drawn uniformly: for example, as many accepted rows as refused ones. Treated as if they had
been drawn uniformly, such labels bias every rate (verification bias: Begg & Greenes 1983, "Assessment of
diagnostic tests when disease verification is subject to selection bias"). Their correction is used here: the weight of
each labelled row is the number of rows it represents, that is the rows of its stratum divided by its labelled ones.

A rate's variance is that of its linearised form under these weights (Kish 1965, "Survey sampling"; Korn & Graubard
1998). That the strata reduce it is ignored, which is conservative. Half a row is first added to each cell of each
stratum: otherwise a stratum that represents many rows and has no mistake in its few labels would have no variance.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from workbench.analysis.statistics.clusters import cluster_df, effective_n
from workbench.analysis.statistics.shares import Share

__all__ = ["Weighted"]

Codes = NDArray[np.intp]
Floats = NDArray[np.float64]
_ADDED_ROWS = 2.0  # rows to each stratum, spread evenly over the cells


@dataclass(frozen=True, eq=False)
class Weighted:
    """Two columns of categories and the weight of each row.

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

    def effective_rows(self, influence: Floats, among: NDArray[np.bool_] | None = None) -> float:
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

    def share(self, hit: NDArray[np.bool_], among: NDArray[np.bool_] | None = None) -> Share:
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
