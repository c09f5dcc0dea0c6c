"""A statistic that is not a plain share of rows, with its interval, p value and the rows it still needs."""

from __future__ import annotations

import math
from dataclasses import dataclass

from workbench.statistics.shares import PLANNING_DF, Interval, critical_value, normal_score

__all__ = ["Estimate"]

_MAX_NEEDED = 100_000  # rows; a larger number is no advice


@dataclass(frozen=True, slots=True)
class Estimate:
    """A statistic with a normal (or, for clusters, Student) interval.

    The interval is not centred on the value: see `workbench.statistics.agreement` for why.

    Attributes:
        value: The statistic; NaN where there is none, and `reason` says why.
        n: Rows it rests on.
        error: Its large-sample standard error, which allows for clusters; NaN without a value.
        centre: Middle of the interval.
        spread: Standard error at the centre.
        df: Clusters minus one; infinite where all rows are independent.
        least: Lowest value the statistic can have.
        reason: Why there is no value; "" where there is one.
    """

    value: float
    n: int
    error: float = math.nan
    centre: float = math.nan
    spread: float = math.nan
    df: float = math.inf
    least: float = -1.0
    reason: str = ""

    def interval(self, confidence: float = 0.95) -> Interval:
        """The two-sided interval, which holds the value; both ends NaN where there is none.

        With three clusters or fewer it is the whole range of the statistic.
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
        if math.isnan(self.value) or self.value >= threshold or self.spread <= 0:
            return 1.0
        score = normal_score((threshold - self.centre) / self.spread, self.df)
        return 0.5 * math.erfc(score / math.sqrt(2))

    def needed(self, threshold: float, confidence: float = 0.95) -> int | None:
        """Rows still needed until the interval excludes `threshold`, if value and clustering stay as they are.

        Estimated as if the interval's half-width shrank with the square root of the rows.

        Returns:
            0 when it is excluded already; None when there is no value, or it is so close to the
            threshold that over 100,000 rows would be needed.
        """
        if math.isnan(self.value):
            return None
        lo, hi = self.interval(confidence)
        if not lo <= threshold <= hi:
            return 0
        distance = abs(threshold - self.value)
        half_width = self.spread * critical_value(confidence, max(self.df, PLANNING_DF))
        growth = (half_width / distance) ** 2 if distance > 0 else math.inf
        more = self.n * (growth - 1)
        return None if more > _MAX_NEEDED else max(1, math.ceil(more))

    def __str__(self) -> str:
        """Such as "0.71 (0.52 to 0.87)", or "- (why not)"."""
        if math.isnan(self.value):
            return f"- ({self.reason})"
        lo, hi = self.interval()
        return f"{self.value:.2f} ({lo:.2f} to {hi:.2f})"
