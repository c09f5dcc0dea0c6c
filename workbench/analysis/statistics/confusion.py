"""Verdicts against labels, and of two graders: the two-by-two table, its shares, paired differences, and pass thresholds."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from workbench.analysis.statistics import Codes, Estimate, Flags, Floats, Interval, compact, mean
from workbench.analysis.statistics.agreement import Weighted, ac1, kappa
from workbench.analysis.statistics.means import Share, bundled, cluster_sums, mean_interval, share

_MIN_RATES = (
    1.2  # TPR + TNR, 1 by guessing: closer to it, the corrected rate is mostly noise (this project's limit)
)
_MIN_PADDED_RATES = 1.1  # the same after padding, which pulls both rates towards a half
# Cells of the table: bad and good rows down, rejected and accepted ones across.
_GOOD = np.array([[False, False], [True, True]])
_ACCEPTED = np.array([[False, True], [False, True]])


@dataclass(frozen=True, eq=False)
class Confusion:
    """Two columns of yes and no over the same rows; the first is taken for the truth.

    Attributes:
        truth: Which rows are good, bool (n,).
        verdict: Which rows are accepted, bool (n,).
        groups: Integer cluster codes (n,) from 0 on; None if all rows are independent.
        weights: How many rows each represents, (n,), see `Weighted`; None if all have equal weight.
    """

    truth: Flags
    verdict: Flags
    groups: Codes | None = None
    weights: Floats | None = None

    def __len__(self) -> int:
        return len(self.truth)

    @cached_property
    def accepted_good(self) -> int:
        """Good rows accepted: true positives."""
        return int((self.truth & self.verdict).sum())

    @cached_property
    def accepted_bad(self) -> int:
        """Bad rows accepted: false positives."""
        return int((~self.truth & self.verdict).sum())

    @cached_property
    def rejected_good(self) -> int:
        """Good rows rejected: false negatives."""
        return int((self.truth & ~self.verdict).sum())

    @cached_property
    def rejected_bad(self) -> int:
        """Bad rows rejected: true negatives."""
        return int((~self.truth & ~self.verdict).sum())

    @cached_property
    def sensitivity(self) -> Share:
        """Share of good rows that are accepted: TPR."""
        return self._among(_ACCEPTED, _GOOD)

    @cached_property
    def specificity(self) -> Share:
        """Share of bad rows that are rejected: TNR, which EvalGen calls coverage."""
        return self._among(~_ACCEPTED, ~_GOOD)

    @cached_property
    def false_failures(self) -> Share:
        """Share of good rows that are rejected: EvalGen's false failure rate (Shankar 2024)."""
        return self._among(~_ACCEPTED, _GOOD)

    @cached_property
    def observed(self) -> Share:
        """Share of rows whose verdict agrees with the truth."""
        return self._among(_GOOD == _ACCEPTED)

    @cached_property
    def base_rate(self) -> Share:
        """Share of rows that are good."""
        return self._among(_GOOD)

    @property
    def alignment(self) -> float:
        """Harmonic mean of coverage and 1 - false failure rate (Shankar 2024), NaN without both classes."""
        tnr, tpr = self.specificity.value, self.sensitivity.value
        return 0.0 if tnr + tpr == 0 else 2 * tnr * tpr / (tnr + tpr)

    @cached_property
    def kappa(self) -> Estimate:
        """Cohen's kappa; NaN if the labels have one class only, since no verdict could then do better than 0."""
        return self._one_class or kappa(*self._codes, self.groups, weights=self.weights)

    @cached_property
    def ac1(self) -> Estimate:
        """Gwet's AC1, to be read together with kappa if the base rate is outside 0.2 to 0.8."""
        return ac1(*self._codes, self.groups, weights=self.weights)

    @cached_property
    def youden(self) -> Estimate:
        """TPR - FPR (Youden 1950), -1 to 1, 0 for random verdicts; NaN if the labels have one class only.

        The interval is that of Agresti & Caffo (2000, "Simple and effective confidence intervals for proportions and
        differences of proportions"): one hit and one miss are added to each class.
        """
        tpr, fpr = self.sensitivity, self.specificity.complement
        if not tpr.n or not fpr.n:
            return Estimate(math.nan, len(self), reason="requires good labels and bad labels")
        (good, n_good), (bad, n_bad) = _padded(tpr, 2.0), _padded(fpr, 2.0)
        spread = math.sqrt(good * (1 - good) / n_good + bad * (1 - bad) / n_bad)
        value = tpr.value - fpr.value
        return Estimate(value, len(self), spread, good - bad, spread, min(tpr.df, fpr.df))

    @property
    def _one_class(self) -> Estimate | None:
        good, n = int(self.truth.sum()), len(self)
        if not n or 0 < good < n:
            return None
        return Estimate(math.nan, n, reason=f"all {n:,} labels are {'good' if good else 'bad'}")

    @property
    def _codes(self) -> tuple[Codes, Codes]:
        return self.truth.astype(np.intp), self.verdict.astype(np.intp)

    def _among(self, hit: Flags, among: Flags | None = None) -> Share:
        """Share of the rows in the cells `among` (all by default) that are in the cells `hit`, both bool (2, 2)."""
        truth, verdict = self._codes
        if self.weights is not None and len(self):
            return Weighted(truth, verdict, self.weights, self.groups).share(hit, among)
        rows = np.ones(len(self), bool) if among is None else among[truth, verdict]
        return share(hit[truth, verdict][rows], None if self.groups is None else self.groups[rows])


def corrected_rate(accepted: Share, sensitivity: Share, specificity: Share) -> Estimate:
    """The share of good rows, given the share of accepted ones and the grader's error rates.

    (p + TNR - 1) / (TPR + TNR - 1), from Rogan & Gladen 1978, clipped to 0 to 1. The interval is the closed
    form of Lang & Reiczigel 2014 ("Confidence limits for prevalence of disease adjusted for estimated
    sensitivity and specificity", also in Lee 2025, arXiv 2511.21140): it allows for chance in both the judged
    and the labelled rows, even if no mistake was seen.

    Args:
        accepted: Share of the judged rows that the grader accepts.
        sensitivity: TPR on labelled rows.
        specificity: TNR on labelled rows.

    Returns:
        NaN with a reason if there are no good or no bad labels, or TPR + TNR is below 1.2: verdicts that
        hardly separate good from bad carry no information on the share of good rows.
    """
    if not (accepted.n and sensitivity.n and specificity.n):
        return Estimate(math.nan, 0, least=0.0, reason="requires judged rows, good labels and bad labels")
    # 4 and 2 added rows are those of the paper: half of them hits, as in Agresti & Coull 1998.
    p, p_n = _padded(accepted, 4.0)
    (tpr, good_n), (tnr, bad_n) = _padded(sensitivity, 2.0), _padded(specificity, 2.0)
    if sensitivity.value + specificity.value < _MIN_RATES or tpr + tnr <= _MIN_PADDED_RATES:
        reason = f"TPR + TNR is {sensitivity.value + specificity.value:.2f}, too low for a correction"
        return Estimate(math.nan, accepted.n, least=0.0, reason=reason)
    gain = tpr + tnr - 1
    rate = (p + tnr - 1) / gain
    of_good, of_bad = tpr * (1 - tpr) / good_n, tnr * (1 - tnr) / bad_n
    spread = math.sqrt(p * (1 - p) / p_n + (1 - rate) ** 2 * of_bad + rate**2 * of_good) / gain
    shift = 8 * (rate * of_good - (1 - rate) * of_bad)  # 2 z^2 (...) in the paper, with z = 2 for 95 %
    # The value is that of the plain shares; the added rows are used only for the interval.
    raw = (accepted.value + specificity.value - 1) / (sensitivity.value + specificity.value - 1)
    df = min(accepted.df, sensitivity.df, specificity.df)
    return Estimate(min(max(raw, 0.0), 1.0), accepted.n, spread, rate + shift, spread, df, least=0.0)


def _padded(part: Share, rows: float) -> tuple[float, float]:
    """The share and its effective number of rows after adding `rows`, half of them hits."""
    return (part.value * part.effective + rows / 2) / (part.effective + rows), part.effective + rows


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
    groups: Codes | None = None

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

        If rows share prompts, the test of `BoundedMean` instead: whether the share of rows that only the second accepts,
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


def paired_difference(gaps: Floats, groups: Codes | None = None, *, span: float = 1.0) -> Difference:
    """The mean of row-by-row differences, with an interval that is valid for few rows and few prompts.

    Equal differences still get an interval with a width, see `mean_interval`.

    Args:
        gaps: Second less first, float64 (n,).
        groups: Integer cluster codes (n,) from 0 on; None if all rows are independent.
        span: The largest possible difference: the highest score of the scale less the lowest.
    """
    codes = None if groups is None else compact(groups)
    return Difference(mean(gaps), mean_interval(gaps, codes, scale=(-span, span)), len(gaps))


def accuracy_difference(truth: Flags, a: Flags, b: Flags, groups: Codes | None = None) -> Difference:
    """How much more often the second agrees with the labels than the first, over the same rows.

    Args:
        truth: Which rows are good, bool (n,).
        a: Which rows the first accepts, bool (n,).
        b: Which rows the second accepts, bool (n,).
        groups: Integer cluster codes (n,) from 0 on; None if all rows are independent.
    """
    return paired_difference((b == truth).astype(float) - (a == truth), groups)


_MAX_MARKS = 64  # maximum thresholds to test: more distinct scores are thinned to their quantiles
_DRAWS = 400  # Bayesian bootstrap draws of the best threshold: ten beyond each end at 95 %


@dataclass(frozen=True, eq=False)
class Marks:
    """Pass thresholds over scores with known labels; a score at or above the threshold passes.

    Attributes:
        scores: float64 (n,).
        good: Which rows are good, bool (n,); both kinds are present.
        groups: Integer cluster codes (n,) from 0 on, without gaps.
    """

    scores: Floats
    good: Flags
    groups: Codes

    @cached_property
    def candidates(self) -> Floats:
        """Thresholds half-way between neighbouring scores, (t,); at most 64."""
        levels = np.unique(self.scores)
        middles = (levels[:-1] + levels[1:]) / 2
        if len(middles) > _MAX_MARKS:
            middles = np.unique(np.quantile(self.scores, np.linspace(0, 1, _MAX_MARKS + 2)[1:-1]))
        return np.asarray(middles, np.float64)

    @cached_property
    def _passing(self) -> Flags:
        """Whether each row passes at each threshold, (n, t)."""
        return self.scores[:, None] >= self.candidates

    def _accuracies(self, part: Flags) -> Floats:
        """Balanced accuracy of each threshold over part of the rows, (t,); 0 if one kind is missing."""
        passing, good = self._passing[part], self.good[part]
        if not good.any() or good.all():
            return np.zeros(len(self.candidates))
        accuracies: Floats = (passing[good].mean(0) + 1 - passing[~good].mean(0)) / 2
        return accuracies

    @cached_property
    def _everywhere(self) -> Floats:
        return self._accuracies(np.ones(len(self.scores), bool))

    @property
    def best(self) -> float:
        """The threshold of the highest balanced accuracy."""
        return float(self.candidates[int(self._everywhere.argmax())])

    @property
    def accuracy(self) -> float:
        """Its balanced accuracy, on the rows by which it was chosen."""
        return float(self._everywhere.max())

    def crossed_verdicts(self) -> Flags:
        """Verdicts of each half of the prompts by the best threshold of the other half, (n,)."""
        half = self._first_half
        verdicts = np.empty(len(self.scores), bool)
        for part in (half, ~half):
            verdicts[part] = self._passing[part, int(self._accuracies(~part).argmax())]
        return verdicts

    @cached_property
    def _first_half(self) -> Flags:
        """Rows of every second prompt, in random order within prompts of equally many good rows: both halves have both."""
        share_good = np.bincount(self.groups, weights=self.good) / np.bincount(self.groups)
        shuffled = np.random.default_rng(0).permutation(len(share_good))
        order = shuffled[np.argsort(share_good[shuffled], kind="stable")]
        first = np.empty(len(order), bool)
        first[order] = np.arange(len(order)) % 2 == 0
        return first[self.groups]

    def written(self, in_units: Callable[[float], float]) -> str:
        """The best threshold with the fewest digits that keep it between its two neighbouring scores.

        Args:
            in_units: Function that converts a score to the user's units.
        """
        low = in_units(float(self.scores[self.scores < self.best].max()))
        high = in_units(float(self.scores[self.scores >= self.best].min()))
        short = (f"{in_units(self.best):.{digits}g}" for digits in range(1, 17))
        return next((text for text in short if low < float(text) <= high), repr(high))

    def interval(self, confidence: float = 0.95, *, seed: int = 0) -> Interval:
        """Range of the best threshold, by the Bayesian bootstrap over clusters; its ends are scores, which no threshold separates."""
        good, bad = self.good[:, None], ~self.good[:, None]
        columns = np.hstack([good, bad, self._passing & good, self._passing & bad]).astype(np.float64)
        sums = bundled(cluster_sums(columns, self.groups), seed)
        drawn = np.random.default_rng(seed).standard_exponential((_DRAWS, len(sums))) @ sums
        t = len(self.candidates)
        with np.errstate(divide="ignore", invalid="ignore"):
            accuracies = drawn[:, 2 : 2 + t] / drawn[:, :1] - drawn[:, 2 + t :] / drawn[:, 1:2]
        places = self.candidates[accuracies.argmax(1)]
        lo, hi = np.quantile(places, [(1 - confidence) / 2, (1 + confidence) / 2])
        below, above = self.scores[self.scores < lo], self.scores[self.scores >= hi]
        return Interval(float(below.max()), float(above.min()))
