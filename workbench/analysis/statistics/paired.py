"""Two graders on the same rows: who accepts what the other rejects, and mean differences row by row."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from workbench.analysis.statistics.agreement import kappa
from workbench.analysis.statistics.clusters import compact
from workbench.analysis.statistics.estimate import Estimate
from workbench.analysis.statistics.intervals import Interval
from workbench.analysis.statistics.means import mean_interval
from workbench.analysis.statistics.shares import Share, share
from workbench.analysis.statistics.spread import mean

__all__ = ["Difference", "PairedVerdicts", "accuracy_difference", "mcnemar", "paired_difference"]

Flags = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Difference:
    """A mean difference over rows that both sides have.

    Attributes:
        value: Mean of the second less the first; NaN over no rows.
        interval: Its 95 % interval; both ends NaN if there is none.
        n: Rows.
    """

    value: float
    interval: Interval
    n: int

    @property
    def is_shown(self) -> bool:
        """Whether the interval excludes 0."""
        return self.interval.lo > 0 or self.interval.hi < 0


def mcnemar(only_a: int, only_b: int, *, mid: bool = False) -> float:
    """McNemar's test (1947) in its exact form: two-sided p value of "each accepts as many rows that the other rejects".

    Only rows with different verdicts count: the sign test on these, binomial with one half.

    Args:
        only_a: Rows that only the first accepts.
        only_b: Rows that only the second accepts.
        mid: Count the probability of the observed split by half (mid-p), which is less conservative
            (Fagerland, Lydersen & Laake 2013).

    Returns:
        1.0 if there are no such rows.

    Raises:
        ValueError: A negative count.

    Example:
        >>> round(mcnemar(4, 31), 6), round(mcnemar(4, 31, mid=True), 6)
        (3e-06, 2e-06)
    """
    if min(only_a, only_b) < 0:
        raise ValueError(f"counts of rows cannot be negative: {only_a}, {only_b}")
    n, fewer = only_a + only_b, min(only_a, only_b)
    steps = np.arange(1, fewer + 1)
    # In logs: 2 to the power of n exceeds every float from 1,024 rows on.
    logs = np.concatenate([[0.0], np.cumsum(np.log((n - steps + 1) / steps))]) - n * math.log(2)
    masses = np.exp(logs)
    return min(1.0, float(2 * masses.sum() - mid * masses[-1]))


@dataclass(frozen=True, eq=False)
class PairedVerdicts:
    """Two graders' verdicts over the same rows.

    Attributes:
        a: Which rows the first accepts, bool (n,).
        b: Which rows the second accepts, bool (n,).
        groups: Integer cluster codes (n,) from 0 on; None if all rows are independent.
    """

    a: Flags
    b: Flags
    groups: NDArray[np.intp] | None = None

    def __len__(self) -> int:
        return len(self.a)

    @cached_property
    def both(self) -> int:
        """Rows both accept."""
        return int((self.a & self.b).sum())

    @cached_property
    def only_a(self) -> int:
        """Rows the first accepts and the second rejects."""
        return int((self.a & ~self.b).sum())

    @cached_property
    def only_b(self) -> int:
        """Rows the second accepts and the first rejects."""
        return int((self.b & ~self.a).sum())

    @property
    def neither(self) -> int:
        """Rows both reject."""
        return len(self) - self.both - self.only_a - self.only_b

    @cached_property
    def p(self) -> float:
        """McNemar's p value: exact if all rows are independent.

        If rows share prompts, the test of `bounded` instead: whether the share of rows that only the second accepts,
        among the rows with different verdicts, differs from one half. The exact test would treat each completion as
        independent.
        """
        apart = self._disagreements
        if math.isinf(apart.df):
            return mcnemar(self.only_a, self.only_b)
        larger = apart if 2 * apart.k >= apart.n else apart.complement
        return min(1.0, 2 * larger.p_above(0.5))

    @property
    def is_exact(self) -> bool:
        """Whether `p` is from the exact test."""
        return math.isinf(self._disagreements.df)

    @cached_property
    def _disagreements(self) -> Share:
        differ = self.a != self.b
        return share(self.b[differ], None if self.groups is None else self.groups[differ])

    @cached_property
    def difference(self) -> Difference:
        """How much more often the second accepts, row by row, with its interval."""
        return paired_difference(self.b.astype(float) - self.a, self.groups)

    @cached_property
    def kappa(self) -> Estimate:
        """Cohen's kappa between the two."""
        return kappa(self.a.astype(np.intp), self.b.astype(np.intp), self.groups)


def paired_difference(
    gaps: NDArray[np.float64], groups: NDArray[np.intp] | None = None, *, span: float = 1.0
) -> Difference:
    """The mean of row-by-row differences, with an interval that is valid for few rows and few prompts.

    Equal differences still get an interval with a width, see `mean_interval`.

    Args:
        gaps: Second less first, float64 (n,).
        groups: Integer cluster codes (n,) from 0 on; None if all rows are independent.
        span: The largest possible difference: the highest score of the scale less the lowest.
    """
    codes = None if groups is None else compact(groups)
    return Difference(mean(gaps), mean_interval(gaps, codes, scale=(-span, span)), len(gaps))


def accuracy_difference(
    truth: Flags, a: Flags, b: Flags, groups: NDArray[np.intp] | None = None
) -> Difference:
    """How much more often the second agrees with the labels than the first, over the same rows.

    Args:
        truth: Which rows are good, bool (n,).
        a: Which rows the first accepts, bool (n,).
        b: Which rows the second accepts, bool (n,).
        groups: Integer cluster codes (n,) from 0 on; None if all rows are independent.
    """
    return paired_difference((b == truth).astype(float) - (a == truth), groups)
