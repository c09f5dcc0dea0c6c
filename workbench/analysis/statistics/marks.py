"""Choice of a pass threshold: the one that best separates good rows from bad, with its uncertainty."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from workbench.analysis.statistics.arrays import Codes, Flags, Floats
from workbench.analysis.statistics.intervals import Interval
from workbench.analysis.statistics.means import bundled, cluster_sums

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
