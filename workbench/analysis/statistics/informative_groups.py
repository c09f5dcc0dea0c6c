"""Share of groups of G completions that would be informative: counted for observed G, modelled beyond.

Informative means that the G completions of a prompt do not all have one score. Up to the number of completions that most
prompts have, it is counted over all choices of G of them (unbiased). Beyond, k completions do not determine it: prompts
that always fail and prompts that pass one time in a hundred look the same at k = 4. The estimate is then a smooth prior of
how prompts differ (see `GroupTypes`), updated until the outcomes do not reject it. The interval is the range over all
distributions that they do not reject (see `mixtures`), and is wide if G is many times k. In simulation
(`tests/analysis/statistics/test_informative_groups.py`) it covers the truth for prompts of every shape.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import comb, nan, sqrt

import numpy as np

from workbench.analysis.statistics import Codes, Flags, Floats, Interval
from workbench.analysis.statistics.group_scores import AnswerSets
from workbench.analysis.statistics.mixtures import (
    GroupTypes,
    Mixture,
    guess,
    outcomes,
    tied_types,
    two_score_types,
)


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
        seen, which = np.unique(outcomes(self.answers), axis=0, return_inverse=True)
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
