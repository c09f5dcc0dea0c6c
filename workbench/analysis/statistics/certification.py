"""Decisions about a rate and its limit, the rows that they take, the difference of two shares, and the mean of all labels.

A rate is shown to reach its limit if the lower end of its interval does, and to miss it if the upper end does. Both are
tests at one tail, 2.5 % by default: that of the 95 % intervals that are displayed. The tests are exact for independent rows
(Clopper & Pearson 1934), so that their error is at most their level at every number of rows.

The mean label of all rows comes from labels of some and a grader's scores of all: prediction-powered inference, cross-fitted.
The scores of all rows predict the labels, and the labelled rows correct the prediction (Angelopoulos 2023, "Prediction-powered
inference"; with the best linear prediction it is PPI++, arXiv 2311.01453). The prediction is fitted on other prompts than those it
corrects (cross-fitting: Zrnic & Candes 2024, arXiv 2309.16598). For verdicts, pass or fail, it equals an average of the share of good
rows among accepted and among rejected ones, so that it remains valid if labels were drawn by verdict.

Own code rather than the package ppi-python (0.2.3): its normal intervals contain the truth in 54 to 84 % of cases with 20 labels,
in 86 to 90 % with 50 and in 91 to 93 % with 200, for the designs of `benchmarks/certifying.py`, and it installs half a gigabyte (numba,
statsmodels, scikit-learn). Its point estimates are the oracle of the tests. cje-eval (0.9.3) needs 20 prompts and scikit-learn.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np

from workbench.analysis.statistics import (
    Codes,
    Estimate,
    Floats,
    Interval,
    clusters,
    compact,
    critical_value,
    effective_n,
)
from workbench.analysis.statistics.means import BoundedMean, Share, bounded_mean

LEVEL = 0.025
"""One-sided level of a first look: the tail of a 95 % interval."""
POWER = 0.9
"""Probability with which a verdict is reached at the planned rows, as in all plans of the workbench."""
SUPPOSED = 0.95
"""Rate that is supposed before anything is known of a judge: at 0.80 it takes 55 rows of a class."""
MAX_ROWS = 1_000
"""Maximum planned rows of one class: more are not worth labelling for one certificate."""
_STEADY = 15  # consecutive numbers of rows that need the power: it has steps, since hits are whole numbers
_CAUTION = 0.6
"""Standard errors by which a plan assumes the rate to be closer to the limit than it is estimated."""


def level_of_look(number: int) -> float:
    """The one-sided level of the look with this number, from 1 on: 2.5 %, 0.83 %, 0.42 %, ...

    2 * 2.5 % / (j (j + 1)) for look j. The sum over all looks is 5 %: a judge whose rate is exactly at the limit is certified with
    a probability of at most 5 %, however often more rows are labelled.

    Example:
        >>> [round(level_of_look(number), 4) for number in (1, 2, 3)]
        [0.025, 0.0083, 0.0042]
    """
    return 2 * LEVEL / (number * (number + 1))


@lru_cache(maxsize=64)
def hits_needed(limit: float, level: float = LEVEL) -> Floats:
    """The fewest hits in 0, 1, ... rows with which a rate is shown to reach the limit, by number of rows; n + 1 if none does."""
    from scipy.special import ndtri

    n = np.arange(float(2 * MAX_ROWS))
    # From the normal approximation to the exact number, in a few steps.
    spread = np.sqrt(n * limit * (1 - limit))
    hits = np.clip(np.floor(n * limit - ndtri(level) * spread), 0, n + 1)
    while (high := (hits <= n) & (_tail(hits, n, limit) > level)).any():
        hits = np.where(high, hits + 1, hits)
    while (low := (hits > 0) & (_tail(hits - 1, n, limit) <= level)).any():
        hits = np.where(low, hits - 1, hits)
    found: Floats = np.asarray(hits, np.float64)
    found.setflags(write=False)
    return found


def _tail(hits: Floats, n: Floats, rate: float) -> Floats:
    """The chance of this number of hits or more."""
    from scipy.special import betainc

    inside = np.clip(hits, 1, np.maximum(n, 1))
    chances = np.where(hits <= 0, 1.0, betainc(inside, np.maximum(n - inside + 1, 1e-9), rate))
    found: Floats = np.where(hits > n, 0.0, chances)
    return found


def most_hits_below(limit: float, level: float = LEVEL) -> Floats:
    """The most hits in 0, 1, ... rows with which a rate is shown to miss the limit, by number of rows; -1 if none does."""
    hits: Floats = np.arange(float(2 * MAX_ROWS)) - hits_needed(1 - limit, level)
    return hits


def rows_needed(
    rate: float, limit: float, *, level: float = LEVEL, power: float = POWER, most: int = MAX_ROWS
) -> int | None:
    """Rows with which a rate of this size is shown to reach its limit, with this power; None if there are too many.

    Args:
        rate: The supposed rate.
        limit: Its limit.
        level: One-sided.
        power: Probability that it is shown.
        most: Maximum number of rows.

    Example:
        >>> rows_needed(0.95, 0.8), rows_needed(0.9, 0.8)
        (55, 149)
    """
    if rate <= limit:
        return None
    n = np.arange(1.0, most + _STEADY)
    return _first_steady(_tail(hits_needed(limit, level)[1 : len(n) + 1], n, rate), power)


def supposed_rate(limit: float) -> float:
    """The rate that is supposed of an unknown judge: 0.95, or half-way from a higher limit to 1."""
    return max(SUPPOSED, (1 + limit) / 2)


def more_rows(
    hits: float, n: float, limit: float, *, level: float = LEVEL, power: float = POWER, most: int = MAX_ROWS
) -> int | None:
    """Further rows with which it is decided on which side of its limit a rate is; None if it cannot be planned.

    The current rows count, too. The rate is assumed to be 0.6 standard errors closer to the limit than its estimate (plans
    are made if the result is not yet clear, and estimates that look clear are often so by chance); if that is beyond the
    limit, to be its estimate.

    Args:
        hits: Current hits; may be a fraction, for effective counts.
        n: Current rows.
        limit: The rate's limit.
        level: One-sided, of the next look.
        power: Probability that it is decided.
        most: Maximum number of further rows.
    """
    if n < 1:
        return rows_needed(supposed_rate(limit), limit, level=level, power=power, most=most)
    smoothed = (hits + 1) / (n + 2)
    caution = _CAUTION * math.sqrt(smoothed * (1 - smoothed) / (n + 2))
    is_above, estimate = hits / n > limit, min(hits / n, 1.0)
    rates = (estimate - caution, estimate) if is_above else (estimate + caution, estimate)
    rate = next((rate for rate in rates if (rate > limit) == is_above and rate != limit), limit)
    more = np.arange(1.0, most + _STEADY)
    first = min(math.floor(n), MAX_ROWS) + 1
    total = slice(first, first + len(more))
    if is_above:
        chances = _tail(
            hits_needed(limit, level)[total] - math.floor(hits), more[: 2 * MAX_ROWS - first], rate
        )
    else:
        most_hits = most_hits_below(limit, level)[total] - math.ceil(hits)
        chances = 1 - _tail(most_hits + 1, more[: 2 * MAX_ROWS - first], rate)
    return _first_steady(chances, power)


def _first_steady(chances: Floats, power: float) -> int | None:
    """The first number of rows from which on the next ones have the power, too."""
    enough = np.convolve(chances >= power, np.ones(_STEADY), "valid") == _STEADY
    return int(np.argmax(enough)) + 1 if enough.any() else None


def reaches(rate: Share, limit: float, level: float = LEVEL) -> bool:
    """Whether a rate is shown to be at the limit or above it."""
    return rate.n > 0 and rate.p_above(limit) <= level


def p_reaches(rate: Share, limit: float) -> float:
    """One-sided p value of "the rate is at least the limit"; 1.0 without rows."""
    return rate.complement.p_above(1 - limit) if rate.n else 1.0


def lower_bound(rate: Share, level: float = LEVEL) -> float:
    """The one-sided lower bound of a rate; 0 without rows."""
    return rate.interval(1 - 2 * level).lo


@dataclass(frozen=True, eq=False)
class ShareGap:
    """The difference of the shares of two separate sets of rows, first less second.

    The interval is that of Zou & Donner 2008 ("Construction of confidence limits about effect measures", the method of variance
    estimates recovery; Newcombe 1998 for shares), made from the exact interval of each share rather than from Wilson's: it has
    a positive width if no row, or every row, is a hit. `benchmarks/certifying.py` has its coverage.

    Attributes:
        first: One share.
        second: The other.
    """

    first: Share
    second: Share

    @property
    def value(self) -> float:
        """NaN if there are no rows on one side."""
        return self.first.value - self.second.value

    def interval(self, confidence: float = 0.95) -> Interval:
        """The two-sided interval; -1 to 1 if there are no rows on one side."""
        if not (self.first.n and self.second.n):
            return Interval(-1.0, 1.0)
        a, b = self.first.interval(confidence), self.second.interval(confidence)
        p, q = self.first.value, self.second.value
        low = self.value - math.hypot(p - a.lo, b.hi - q)
        return Interval(max(-1.0, low), min(1.0, self.value + math.hypot(a.hi - p, q - b.lo)))

    def p_above(self, margin: float) -> float:
        """One-sided p value of "the difference is at most the margin"; 1.0 if it is above 5 %, where no test uses its size."""
        if not (self.first.n and self.second.n) or self.value <= margin or self.interval(0.9).lo <= margin:
            return 1.0
        low, high = 1e-9, 0.05
        for _ in range(20):
            middle = math.sqrt(low * high)
            low, high = (low, middle) if self.interval(1 - 2 * middle).lo > margin else (middle, high)
        return high

    def is_within(self, margin: float, level: float = 0.05) -> bool:
        """Whether the difference is shown to be at most the margin (one-sided)."""
        return bool(self.first.n and self.second.n) and self.interval(1 - 2 * level).hi <= margin


MIN_LABELS = 10
"""Minimum labelled prompts: with fewer there are fewer than two per fold to correct the prediction."""
_FOLDS = 5


@dataclass(frozen=True, slots=True)
class PredictedMean(Estimate):
    """A mean label from predictions, with the interval of the correction and that of the predictions combined.

    The correction is a mean of numbers from -1 to 1, whose interval is Gaffke's (see `BoundedMean`), valid at any number of labels;
    that of the predictions is Student's, over many rows. The two are joined as in `ShareGap`. By simulation it covers the truth in
    94 to 99 % of cases with 20, 50 and 200 labels.

    Attributes:
        correction: Mean label less the prediction on labelled rows; None without a value.
        predicted_error: Standard error of the mean prediction.
        predicted_df: Its degrees of freedom.
    """

    correction: BoundedMean | None = field(default=None, repr=False)
    predicted_error: float = 0.0
    predicted_df: float = math.inf

    def interval(self, confidence: float = 0.95) -> Interval:
        """The two-sided interval, within 0 to 1; both ends NaN without a value."""
        correction = self.correction
        if math.isnan(self.value) or correction is None:
            return Interval(math.nan, math.nan)
        half = critical_value(confidence, self.predicted_df) * self.predicted_error
        lo, hi = correction.interval(confidence)
        return Interval(
            max(0.0, self.value - math.hypot(correction.value - lo, half)),
            min(1.0, self.value + math.hypot(hi - correction.value, half)),
        )


def predicted_mean(
    scores: Floats, labels: Floats, groups: Codes | None = None, *, seed: int = 0
) -> PredictedMean:
    """The mean label of all rows, of which some are labelled.

    Args:
        scores: The grader's scores or verdicts of all rows, float64 (n,), from 0 to 1.
        labels: 1 good, 0 bad, or a number between; NaN for an unlabelled row, (n,). Labelled rows are drawn at random, or by verdict.
        groups: Prompt of each row, integer codes (n,); None if all rows are independent.
        seed: Of the folds.

    Returns:
        NaN with a reason if fewer than 10 prompts are labelled.
    """
    known = ~np.isnan(labels)
    codes = np.arange(len(scores)) if groups is None else compact(groups)
    own = compact(codes[known])
    count = clusters(len(own), own) if len(own) else 0
    if count < MIN_LABELS:
        reason = f"{count} labelled prompts; at least {MIN_LABELS} are required"
        return PredictedMean(math.nan, int(known.sum()), reason=reason)
    folds = (np.random.default_rng(seed).permutation(count) % _FOLDS)[own]
    left, predicted = np.empty(len(own)), np.zeros(len(scores))
    truth, seen = labels[known], scores[known]
    for fold in range(_FOLDS):
        inside = folds == fold
        slope, base = _line(seen[~inside], truth[~inside])
        left[inside] = truth[inside] - np.clip(base + slope * seen[inside], 0, 1)
        predicted += np.clip(base + slope * scores, 0, 1) * float(inside.mean())
    correction = bounded_mean(left, own, low=-1.0, high=1.0)
    value = min(max(float(predicted.mean()) + correction.value, 0.0), 1.0)
    independent = max(effective_n(predicted, codes), 2.0)
    spread = float(predicted.std(ddof=1)) / math.sqrt(independent)
    return PredictedMean(
        value, int(known.sum()), least=0.0, correction=correction, predicted_error=spread,
        predicted_df=max(independent - 1, 1.0),
    )  # fmt: skip


def _line(scores: Floats, labels: Floats) -> tuple[float, float]:
    """Slope and intercept of the least squares line; a slope of 0 if the scores do not vary."""
    middle = scores.mean()
    away = scores - middle
    square = float(away @ away)
    slope = float(away @ labels) / square if square > 1e-12 else 0.0
    return slope, float(labels.mean() - slope * middle)
