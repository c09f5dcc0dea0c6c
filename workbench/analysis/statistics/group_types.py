"""The hidden types of prompts in a forecast of informative groups.

If a report has two scores only, a type is a pass rate, and the outcome of a prompt is its number of passing completions.
If it has more, whether all of G completions have one score depends, for large G, only on the prompt's most frequent score:
a type is then the probability of that score, with the rest either one other score or all different, and the outcome of a
prompt is the number of completions that share a score, if more than half of them do. The probability of such an outcome is
a sum over the possible scores of the prompt, so that it is exact for these types with any number of scores.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from math import lgamma
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from workbench.analysis.statistics.answer_sets import AnswerSets
from workbench.analysis.statistics.mixtures import Mixture

__all__ = ["GroupTypes", "guess", "outcomes", "tied_types", "two_score_types"]

Floats = NDArray[np.float64]
Codes = NDArray[np.intp]

_RATES = 61
"""Probabilities in the grid, evenly spaced in their angle, arcsin of the root: finest where 64 completions separate rates."""
_FINE = 2_000  # points at which a density is evaluated, between which the grid's cells divide
_MEANS, _STRENGTHS = (
    31,
    14,
)  # Beta distributions of a prior: their means, and from U-shaped (0.1) to narrow (60)
_AT_END = (0.0, 0.03, 0.07, 0.12, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
"""Shares of prompts that always fail, or always pass, in a prior."""
_NONE_AT_END = 0.8  # prior probability that no prompt is at an end


@dataclass(frozen=True, eq=False)
class GroupTypes:
    """Types of prompts, m of them.

    Attributes:
        chances: Probabilities of the first and of the second score of each type, (2, m); 0 if there is none.
        tied: Whether an outcome is the number of completions that share a score, rather than that with the first score.
        shapes: Priors of the shares of types, (s, m), each without its ends.
        ends: The types at the two ends of each prior, (s, 2).
    """

    chances: Floats
    tied: bool
    shapes: Floats
    ends: Codes

    def dead(self, size: int) -> Floats:
        """Probability that `size` completions of a prompt of each type all have one score, (m,)."""
        dead: Floats = (self.chances**size).sum(0)
        return dead

    def kernel(self, seen: Codes) -> Floats:
        """Probability of each outcome under each type, (c, m).

        Args:
            seen: Outcomes, (c, 2): the number of completions, and how many of them count; see `outcomes`.
        """
        return np.array([self._chance(answers, counted) for answers, counted in seen.tolist()])

    def _chance(self, answers: int, counted: int) -> Floats:
        if not self.tied:
            return _binomial(answers, counted, self.chances[0])
        if counted:
            tied: Floats = _binomial(answers, counted, self.chances).sum(0)
            return tied
        some = [_binomial(answers, most, self.chances).sum(0) for most in _majorities(answers)]
        return np.clip(1 - np.sum(some, axis=0), 0.0, 1.0) if some else np.ones(self.chances.shape[1])


def _majorities(answers: int) -> range:
    """The possible numbers of equal completions that are more than half; a single completion is uninformative."""
    return range(answers // 2 + 1, answers + 1) if answers > 1 else range(0)


def _binomial(answers: int, counted: int, chances: Floats) -> Floats:
    # By logarithms: thousands of completions have more combinations than a float can represent.
    choices = lgamma(answers + 1) - lgamma(counted + 1) - lgamma(answers - counted + 1)
    found: Floats = np.exp(
        choices + _times_log(counted, chances) + _times_log(answers - counted, 1 - chances)
    )
    return found


def _times_log(count: int, chances: Floats) -> Floats:
    """The logarithm of a power of each chance; 0 to the power of 0 is 1."""
    with np.errstate(divide="ignore"):
        logs: Floats = count * np.log(chances) if count else np.zeros_like(chances)
    return logs


def outcomes(answers: AnswerSets) -> Codes:
    """The outcome of each prompt, (p, 2): its completions, and those that pass, or share a score if most do, else 0."""
    if answers.ends is not None:
        return np.stack([answers.sizes, answers.successes], axis=1)
    is_majority = (2 * answers.largest > answers.sizes) & answers.several
    return np.stack([answers.sizes, np.where(is_majority, answers.largest, 0)], axis=1)


@cache
def two_score_types() -> GroupTypes:
    """Types by their pass rate, for reports with two scores."""
    rates = _rates()
    shapes = _shapes()
    ends = np.tile(np.array([0, len(rates) - 1], np.intp), (len(shapes), 1))
    return GroupTypes(np.stack([rates, 1 - rates]), tied=False, shapes=shapes, ends=ends)


@cache
def tied_types() -> GroupTypes:
    """Types by the chance of their most frequent score, for reports with more scores than two."""
    rates, shapes = _rates(), _shapes()
    upper = rates[
        _RATES // 2 :
    ]  # with one other score the more frequent one has at least half of the completions
    first = np.concatenate([upper, rates])
    second = np.concatenate([1 - upper, np.zeros(_RATES)])
    folded = np.zeros((_RATES, len(first)))
    folded[np.arange(_RATES), np.abs(np.arange(_RATES) - _RATES // 2)] = 1.0
    spread = np.hstack([np.zeros((_RATES, len(upper))), np.eye(_RATES)])
    dead, all_differ = len(upper) - 1, len(upper)
    ends = np.repeat(np.array([[dead, dead], [all_differ, dead]], np.intp), len(shapes), axis=0)
    return GroupTypes(
        np.stack([first, second]), tied=True, shapes=np.vstack([shapes @ folded, shapes @ spread]), ends=ends
    )


def _rates() -> Floats:
    rates: Floats = np.sin(np.linspace(0.0, np.pi / 2, _RATES)) ** 2
    return rates


@cache
def _shapes() -> Floats:
    """Beta distributions of many means and strengths over the grid, (s, rates)."""
    angles = np.linspace(0.0, np.pi / 2, _FINE + 2)[1:-1]
    cell = np.rint(angles / (np.pi / 2) * (_RATES - 1)).astype(np.intp)
    passes, fails = np.log(np.sin(angles) ** 2), np.log(np.cos(angles) ** 2)
    found = []
    for a, b in _betas():
        # The density of the angle: that of the rate, times the rate's slope.
        logs = (a - 0.5) * passes + (b - 0.5) * fails
        weights = np.bincount(cell, np.exp(logs - logs.max()), _RATES)
        found.append(weights / weights.sum())
    return np.array(found)


def _betas() -> Iterator[tuple[float, float]]:
    means = np.sin(np.linspace(0.0, np.pi / 2, _MEANS + 2)[1:-1]) ** 2
    for mean in means.tolist():
        for strength in np.geomspace(0.1, 60.0, _STRENGTHS).tolist():
            yield mean * strength, (1 - mean) * strength


class _Ends(NamedTuple):
    """Shares of prompts at the two ends, and their prior probability."""

    low: float
    high: float
    prior: float


def _end_shares() -> list[_Ends]:
    priors = [_NONE_AT_END if not share else (1 - _NONE_AT_END) / (len(_AT_END) - 1) for share in _AT_END]
    pairs = [
        _Ends(low, high, at_low * at_high)
        for low, at_low in zip(_AT_END, priors, strict=True)
        for high, at_high in zip(_AT_END, priors, strict=True)
    ]
    return [pair for pair in pairs if pair.low + pair.high < 0.95]


def guess(types: GroupTypes, mixture: Mixture) -> Floats:
    """A smooth prior of the shares of types, (m,): beta-binomial models with prompts at the ends, averaged by Bayes.

    Args:
        types: The types.
        mixture: The outcomes; its kernel is that of these types.
    """
    pairs = _end_shares()
    smooth = types.shapes @ mixture.kernel.T
    at_low, at_high = (mixture.kernel.T[types.ends[:, end]] for end in (0, 1))
    with np.errstate(divide="ignore"):
        logs = np.array(
            [
                np.log((1 - pair.low - pair.high) * smooth + pair.low * at_low + pair.high * at_high)
                @ mixture.counts
                + np.log(pair.prior)
                for pair in pairs
            ]
        )
    chances = np.exp(logs - logs.max())
    chances /= chances.sum()  # of each pair of ends and each shape
    low, high = (np.array([getattr(pair, end) for pair in pairs]) for end in ("low", "high"))
    shares = ((1 - low - high) @ chances) @ types.shapes
    np.add.at(shares, types.ends[:, 0], low @ chances)
    np.add.at(shares, types.ends[:, 1], high @ chances)
    total: Floats = shares / shares.sum()
    return total
