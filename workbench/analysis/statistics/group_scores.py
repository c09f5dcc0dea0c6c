"""The scores of several completions of each of many prompts: which are equal, how much they vary, pass@k, counts of values.

A group of G completions is informative for reinforcement learning with group-relative advantages only if not all of them
have one score; otherwise its variance is zero (DAPO, arXiv 2503.14476). Its update is as large as its standard deviation
(exactly so for scores of 0 and 1: arXiv 2607.00152). In this module sd is the standard deviation with ddof=0.

The share of informative groups is counted over all choices of G completions (unbiased), up to the number of completions
that most prompts have. Beyond, k completions do not determine it: prompts that always fail and prompts that pass one time in
a hundred look the same at k = 4. The estimate is then a smooth prior of how prompts differ (see `GroupTypes`), updated until
the outcomes do not reject it. The interval is the range over all distributions that they do not reject (see `mixtures`),
and is wide if G is many times k. In simulation
(`tests/analysis/statistics/test_informative_groups.py`) it covers the truth for prompts of every shape.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import comb, nan, sqrt

import numpy as np
from numpy.typing import NDArray

from workbench.analysis.statistics import SAME, Codes, Flags, Floats, Interval, group_spans, rescaled
from workbench.analysis.statistics.means import Share, share
from workbench.analysis.statistics.mixtures import (
    GroupTypes,
    Mixture,
    guess,
    tied_types,
    two_score_types,
)

_COUNTED = 0.9  # share of the prompts that must have G completions for G to be counted rather than modelled
_SUBSETS, _DRAWN = 16, 2_000_000
"""Random choices of G completions of each prompt: hundreds of prompts average over them, thousands need fewer."""


@dataclass(frozen=True, eq=False)
class AnswerSets:
    """Scores by prompt.

    Attributes:
        scores: float64 (n,), finite.
        prompts: Prompt of each score as an integer code from 0 on without gaps, (n,).
    """

    scores: Floats
    prompts: Codes

    @cached_property
    def sizes(self) -> Codes:
        """Number of completions of each prompt, (p,)."""
        return np.bincount(self.prompts)

    @cached_property
    def several(self) -> Flags:
        """Which prompts have at least two completions, (p,)."""
        return self.sizes >= 2

    @cached_property
    def _rescaled(self) -> tuple[Floats, float]:
        """The scores scaled so that they can be subtracted and squared, and the factor to multiply results by."""
        return rescaled(self.scores)

    @cached_property
    def means(self) -> Floats:
        """Mean score of each prompt, (p,)."""
        small, factor = self._rescaled
        means: Floats = np.bincount(self.prompts, weights=small) / self.sizes * factor
        return means

    @cached_property
    def sds(self) -> Floats:
        """Sample sd (ddof=1) of each prompt, (p,); NaN below two completions and beyond the largest float."""
        small, factor = self._rescaled
        apart = small - (self.means / factor)[self.prompts]
        squares = np.bincount(self.prompts, weights=apart**2)
        sds: Floats = np.full(len(self.sizes), np.nan)
        with np.errstate(over="ignore"):
            known = np.sqrt(squares[self.several] / (self.sizes[self.several] - 1)) * factor
        sds[self.several] = np.where(np.isinf(known), np.nan, known)
        # A mean is rounded, so that equal scores may seem to differ.
        sds[self.several & (self.largest == self.sizes)] = 0.0
        return sds

    @cached_property
    def _ties(self) -> tuple[Codes, Codes]:
        """For each set of equal scores of a prompt: the prompt, and the size of the set."""
        small, _ = self._rescaled
        order = np.lexsort((small, self.prompts))
        scores, prompts = small[order], self.prompts[order]
        begins = (np.diff(prompts) > 0) | (np.diff(scores) > SAME)
        starts = np.flatnonzero(np.concatenate([[True], begins])) if len(order) else np.empty(0, np.intp)
        return prompts[starts], np.diff(starts, append=len(order))

    @cached_property
    def largest(self) -> Codes:
        """The largest number of completions of each prompt that share a score, (p,)."""
        prompts, counts = self._ties
        largest = np.zeros(len(self.sizes), np.intp)
        np.maximum.at(largest, prompts, counts)
        return largest

    @cached_property
    def ends(self) -> tuple[float, float] | None:
        """The lower and the higher score if there are no others; None if there are more than two."""
        if not len(self.scores):
            return None
        small, _ = self._rescaled
        has_two = ((small - small.min() <= SAME) | (small.max() - small <= SAME)).all()
        return (float(self.scores.min()), float(self.scores.max())) if has_two else None

    @cached_property
    def successes(self) -> Codes:
        """Completions of each prompt with the higher score, (p,), if there are only two scores."""
        small, _ = self._rescaled
        is_high = small - small.min() > SAME
        return np.bincount(self.prompts, weights=is_high).astype(np.intp)

    @cached_property
    def most_counted(self) -> int:
        """The largest group that can be counted: nine of ten prompts with several completions have that many."""
        return int(np.quantile(self.sizes[self.several], 1 - _COUNTED, method="lower"))

    def informative(self, size: int) -> float:
        """Share of informative groups among all choices of `size` completions of a prompt, with equal weight per prompt.

        An unbiased estimate of the share among new completions: a U-statistic, like pass@k (Chen et al. 2021).
        Prompts with fewer completions are excluded.
        """
        prompts, counts = self._ties
        alike = np.ones(len(counts))
        for drawn in range(size):
            alike *= np.maximum(counts - drawn, 0) / np.maximum(self.sizes[prompts] - drawn, 1)
        zero_variance = np.bincount(prompts, weights=alike, minlength=len(self.sizes))
        return float(1 - zero_variance[self.sizes >= size].mean())

    def sd(self, size: int, *, seed: int = 0) -> float:
        """Mean sd of `size` completions (ddof=0) drawn from those of each prompt, with equal weight per prompt."""
        rng = np.random.default_rng(seed)
        enough = np.flatnonzero(self.sizes >= size)
        starts = np.concatenate([[0], np.cumsum(self.sizes)[:-1]])[enough]
        small, factor = self._rescaled
        small = small[np.argsort(self.prompts, kind="stable")]
        # A random choice is the first `size` completions in a random order.
        longest = int(self.sizes.max(initial=1))
        times = max(1, min(_SUBSETS, _DRAWN // max(1, len(enough) * longest)))
        ranks = rng.random((times, len(enough), longest))
        ranks[:, np.arange(ranks.shape[2]) >= self.sizes[enough][:, None]] = 2.0
        chosen = np.argpartition(ranks, size - 1, axis=2)[:, :, :size] if size < ranks.shape[2] else None
        picks = np.arange(size) if chosen is None else chosen
        drawn = small[starts[:, None] + picks]
        return float(np.std(drawn, axis=-1).mean()) * factor

    @property
    def outcomes(self) -> Codes:
        """The outcome of each prompt, (p, 2): its completions, and those that pass, or share a score if most do, else 0."""
        if self.ends is not None:
            return np.stack([self.sizes, self.successes], axis=1)
        is_majority = (2 * self.largest > self.sizes) & self.several
        return np.stack([self.sizes, np.where(is_majority, self.largest, 0)], axis=1)


def zero_variance_share(scores: Floats, groups: Codes, *, least: int = 2) -> Share:
    """The share of prompts with one score for all their completions, among those with at least `least` completions.

    Such a prompt gives reinforcement learning no advantage to learn from: DAPO, arXiv 2503.14476.

    Args:
        scores: float64 (n,).
        groups: Prompt codes (n,) from 0 on, without gaps.
        least: Minimum number of scored completions of a prompt that counts.
    """
    sizes, spans = group_spans(scores, groups)
    return share(spans[sizes >= least] <= SAME)


def pass_at_k(n: int, correct: int, k: int) -> float:
    """The unbiased estimate of the probability that at least one of k attempts passes, 0 to 1.

    1 - C(n - correct, k) / C(n, k): of all ways to draw k of the n attempts made, the share with a pass among
    them. With n < k, where k attempts cannot be drawn, it is 1.0 if any passed, else 0.0.

    Args:
        n: Attempts made, at least 1.
        correct: Those that passed, 0 to n.
        k: Attempts to draw, at least 1.

    Raises:
        ValueError: A count out of its range.

    Source: Chen et al. 2021, "Evaluating Large Language Models Trained on Code", equation 1; Osmosis'
    evaluation report.

    Example:
        >>> pass_at_k(5, 2, 1), round(pass_at_k(10, 3, 5), 4)
        (0.4, 0.9167)
    """
    for name, value, low in (("n", n, 1), ("correct", correct, 0), ("k", k, 1)):
        if isinstance(value, bool) or not isinstance(value, int) or value < low:
            raise ValueError(f"{name} must be a whole number of at least {low}, not {value!r}")
    if correct > n:
        raise ValueError(f"correct must be at most n, not {correct} of {n}")
    if k > n:
        return float(correct > 0)
    return 1 - comb(n - correct, k) / comb(n, k)


def pass_rate(passed: Sequence[bool]) -> float:
    """Share of runs that passed, 0 to 1; 0.0 for none. Umbraco calls it pass@k (see `pass_at_k` for the unbiased one)."""
    return sum(map(bool, passed)) / len(passed) if passed else 0.0


def pass_to_the_k(passed: Sequence[bool]) -> float:
    """1.0 if there were runs and every one passed, else 0.0. Umbraco calls it pass^k."""
    return float(bool(passed) and all(passed))


MAX_VALUES = 16_384
"""Maximum number of different values: more than any rating scale has, and 256 kB of memory."""
_MANTISSA = 52
"""Bits of a float64 after its first digit."""


def _no_values() -> NDArray[np.float64]:
    return np.zeros(0)


def _no_counts() -> NDArray[np.int64]:
    return np.zeros(0, np.int64)


@dataclass(frozen=True, eq=False)
class ValueCounts:
    """How often each value of a column occurs. Exact up to 16,384 different values.

    If there are more, values lose their last binary digits, the fewest that reduce their number to the maximum. That number
    of digits depends only on the values: the counts are the same for any parts, merged in any order.

    Attributes:
        values: Different values, ascending, (v,).
        counts: Rows with each value, (v,).
        dropped: Binary digits of 52 that the values have lost; 0 if they are exact.
    """

    values: NDArray[np.float64] = field(default_factory=_no_values)
    counts: NDArray[np.int64] = field(default_factory=_no_counts)
    dropped: int = 0

    @classmethod
    def of(cls, values: NDArray[np.float64]) -> ValueCounts:
        """The counts of a column.

        Args:
            values: Finite numbers, (n,).
        """
        return _shortened(values, np.ones(len(values), np.int64), 0)

    def merged(self, other: ValueCounts) -> ValueCounts:
        """The counts of both columns together."""
        values = np.concatenate([self.values, other.values])
        counts = np.concatenate([self.counts, other.counts])
        return _shortened(values, counts, max(self.dropped, other.dropped))

    @property
    def is_exact(self) -> bool:
        """Whether no value has lost a digit."""
        return self.dropped == 0

    @property
    def precision(self) -> float:
        """Maximum relative error of a value towards 0; 0 if values are exact."""
        return 2.0 ** (self.dropped - _MANTISSA) if self.dropped else 0.0

    def quantiles(self, at: Sequence[float] = (0.25, 0.5, 0.75)) -> list[float]:
        """Quantiles by linear interpolation (numpy's default, type 7), NaN over no values; see `precision`."""
        if not len(self.values):
            return [nan] * len(at)
        ends = np.cumsum(self.counts)
        places = (int(ends[-1]) - 1) * np.asarray(at, float)
        below = np.floor(places)
        low, high = (
            self.values[np.searchsorted(ends, place, side="right")] for place in (below, np.ceil(places))
        )
        share = places - below
        found = low * (1 - share) + high * share  # the difference of two finite values may be infinite
        return [float(value) for value in found]


def _shortened(values: NDArray[np.float64], counts: NDArray[np.int64], dropped: int) -> ValueCounts:
    """Counted values, with the fewest lost digits that leave at most 16,384 of them, and at least `dropped`."""
    order = np.argsort(values, kind="stable")
    # 0.0 is added, which converts -0.0 to 0.0; as integers, equal values are adjacent before and after losing digits.
    bits = (values[order] + 0.0).view(np.int64)
    ordered = counts[order]
    while True:
        mask = np.int64(-1) << np.int64(dropped)
        starts = np.flatnonzero(np.diff(bits & mask, prepend=~bits[:1] & mask))
        if len(starts) <= MAX_VALUES or dropped == _MANTISSA:
            break
        dropped += 1
    found = (bits[starts] & mask).view(np.float64)
    return ValueCounts(found, np.add.reduceat(ordered, starts) if len(starts) else _no_counts(), dropped)


@dataclass(frozen=True, slots=True)
class InformativeShare:
    """A share of groups.

    Attributes:
        value: The estimate.
        interval: Its 95 % interval.
    """

    value: float
    interval: Interval


@dataclass(frozen=True, eq=False)
class InformativeGroups:
    """Forecast for groups of any size of these prompts.

    Attributes:
        answers: Scores by prompt; at least one prompt has two.
    """

    answers: AnswerSets

    @cached_property
    def types(self) -> GroupTypes:
        """The types of prompts, m of them."""
        return tied_types() if self.answers.ends is None else two_score_types()

    @cached_property
    def _outcomes(self) -> tuple[Codes, Codes]:
        """The different outcomes, (c, 2), and the outcome of each prompt, (p,)."""
        seen, which = np.unique(self.answers.outcomes, axis=0, return_inverse=True)
        return seen, which.ravel()  # only numpy 2.0 returns two axes

    @cached_property
    def mixture(self) -> Mixture:
        """The outcomes with their probabilities under each type."""
        seen, which = self._outcomes
        return Mixture(self.types.kernel(seen), np.bincount(which).astype(np.float64))

    @cached_property
    def shares(self) -> Floats:
        """The estimated share of each type, (m,)."""
        return self.mixture.near(guess(self.types, self.mixture))

    def informative(self, size: int) -> InformativeShare:
        """Share of informative groups among groups of `size` new completions of such prompts."""
        value = self._estimate(size)
        low, high = self.mixture.range_of(1 - self.types.zero_variance(size))
        return InformativeShare(value, Interval(min(low, value), max(high, value)))

    def _estimate(self, size: int) -> float:
        counted = self.answers.informative(min(size, self.answers.most_counted))
        if size <= self.answers.most_counted:
            return counted
        # A larger group is never less informative.
        return max(counted, float((1 - self.types.zero_variance(size)) @ self.shares))

    def chances(self, size: int) -> Floats:
        """Probability per prompt that `size` new completions form an informative group, (p,), given its completions so far."""
        _, which = self._outcomes
        joint = self.mixture.kernel * self.shares
        chances: Floats = (joint @ (1 - self.types.zero_variance(size)) / joint.sum(1))[which]
        return chances

    def informative_among(self, size: int, chosen: Flags) -> InformativeShare:
        """Share of informative groups among those of chosen prompts; NaN if none is chosen.

        The interval is that of the ratio, informative groups of such prompts to all their groups, by its linear form.

        Args:
            size: Completions in a group.
            chosen: Which prompts, (p,); of prompts with one outcome all or none.
        """
        if not chosen.any():
            return InformativeShare(nan, Interval(nan, nan))
        seen, which = self._outcomes
        is_chosen = np.zeros(len(seen), bool)
        is_chosen[which[chosen]] = True
        value = float(self.chances(size)[chosen].mean())
        away = self._chosen_chance(seen, is_chosen) * (1 - self.types.zero_variance(size) - value)
        low, high = (value + end / float(chosen.mean()) for end in self.mixture.range_of(away))
        return InformativeShare(value, Interval(max(0.0, min(low, value)), min(1.0, max(high, value))))

    def _chosen_chance(self, seen: Codes, is_chosen: Flags) -> Floats:
        """Probability under each type that a prompt's outcome is a chosen one, (m,): prompts differ in size."""
        answers = seen[:, 0]
        weight = np.bincount(answers, self.mixture.counts) / self.mixture.total
        chance: Floats = (weight[answers] * is_chosen) @ self.mixture.kernel
        return chance

    def sd(self, size: int) -> float:
        """Mean sd of a group of `size` completions (ddof=0), including zero-variance groups with 0, on the scores' scale.

        NaN beyond the countable sizes if only one score was ever seen: the distance to other scores is unknown.
        """
        ends = self.answers.ends
        if ends is not None and ends[0] == ends[1]:
            return 0.0 if size <= self.answers.most_counted else nan
        if ends is not None:
            # Halved first: the difference of two finite scores may be infinite, half of it never is.
            half = ends[1] / 2 - ends[0] / 2
            return half * (2 * float(_sd_of_passes(size, self.types.chances[0]) @ self.shares))
        if size <= self.answers.most_counted:
            return self.answers.sd(size)
        return self._modelled_sd(size)

    def _modelled_sd(self, size: int) -> float:
        """The sd beyond the countable sizes, from the share of informative groups and the variance within prompts.

        The mean variance of a group is known at any size. The mean sd is less than its root, and less than the root of
        its product with the share of informative groups by the inequality of Cauchy and Schwarz; how much less is taken
        from the largest group that can be counted.
        """
        counted = self.answers.most_counted
        most = [sqrt(self._estimate(each) * (1 - 1 / each)) for each in (counted, size)]
        return self.answers.sd(counted) * most[1] / most[0] if most[0] > 0 else 0.0


def _sd_of_passes(size: int, rates: Floats) -> Floats:
    """Mean sd of `size` scores of 0 and 1 at each pass rate, (m,)."""
    passes = np.arange(1, size)
    chances = np.array([comb(size, count) for count in passes.tolist()], float)[:, None] * (
        rates ** passes[:, None] * (1 - rates) ** (size - passes[:, None])
    )
    sds: Floats = np.sqrt(passes * (size - passes)) / size @ chances
    return sds
