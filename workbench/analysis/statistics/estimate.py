"""A statistic that is not a plain share of rows, with its interval, p value and the rows it still needs."""

from __future__ import annotations

import math
from dataclasses import dataclass

from scipy.special import stdtr

from workbench.analysis.statistics.intervals import Interval, critical_value, growth_needed

__all__ = ["Estimate"]


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
