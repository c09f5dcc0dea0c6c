"""Mixtures of prompts of hidden types that can explain the frequency of each outcome.

Every prompt has a hidden type, such as its pass rate, and one observed outcome, such as 3 passes of 4 completions. The
share of each type is not known; the probability of each outcome under each type is. The shares that explain the outcomes
best are the nonparametric maximum-likelihood estimate (Laird 1978, "Nonparametric maximum likelihood estimation of a mixing
distribution"). Many other shares explain them nearly as well. A quantity that few completions hardly determine, such as
the result of 64 completions when 4 were observed, differs among these. So an interval here is the range of that quantity
over all shares whose log-likelihood is close enough to the best (a profile likelihood interval), which is valid for any
true shares. Its ends, and the best shares themselves, are convex problems, solved by an interior-point method.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from math import lgamma
from typing import NamedTuple

import numpy as np

from workbench.analysis.statistics import Codes, Floats, Interval, critical_value

_BARRIERS = 10.0 ** -np.arange(8)
"""Barrier weights, from far inside the simplex to its edge; the last leaves the ends of an interval exact to 0.0001."""
_STEPS, _HALVINGS = (
    40,
    40,
)  # Newton steps for each barrier weight, and halvings of a step: far more than are used
_SMALL_SAMPLE = 6.0
"""The likelihood's critical value grows by this divided by the prompts: by simulation, so that 30 prompts cover 95 %."""
_MOVES = 3_000  # maximum EM steps from a start towards the best shares; most starts need none


class _Local(NamedTuple):
    """A local quadratic model of a function of the shares, for relative changes: its slope (m,) and negative curvature (m, m)."""

    slope: Floats
    curvature: Floats


@dataclass(frozen=True, eq=False)
class Mixture:
    """Outcomes of prompts whose types are hidden.

    Attributes:
        kernel: Chance of each outcome under each type, (c, m); every outcome has a type under which it can happen.
        counts: Prompts with each outcome, (c,), each above 0.
        confidence: Level of `range_of`, two-sided.
    """

    kernel: Floats
    counts: Floats
    confidence: float = 0.95

    @cached_property
    def total(self) -> float:
        """Number of prompts."""
        return float(self.counts.sum())

    def log_likelihood(self, shares: Floats) -> float:
        """The log-likelihood of shares of types (m,); minus infinity if an observed outcome would be impossible."""
        with np.errstate(divide="ignore"):
            return float(self.counts @ np.log(self.kernel @ shares))

    @cached_property
    def best(self) -> Floats:
        """The shares of types that explain the outcomes best, (m,)."""
        m = self.kernel.shape[1]
        shares = np.full(m, 1 / m)
        for barrier in _BARRIERS * self.total / m:
            shares = _newton(shares, self._value, self._local, float(barrier))
        return shares

    @cached_property
    def least(self) -> float:
        """The minimum log-likelihood of shares that the outcomes do not reject."""
        critical = critical_value(self.confidence, math.inf) ** 2 * (1 + _SMALL_SAMPLE / self.total)
        return self.log_likelihood(self.best) - critical / 2

    def near(self, start: Floats) -> Floats:
        """Shares that the outcomes do not reject, close to a start: EM from there, until the outcomes accept them.

        Args:
            start: The start, (m,), above 0 for every possible type.
        """
        shares = start
        for _ in range(_MOVES):
            if self.log_likelihood(shares) >= self.least:
                break
            shares = shares * (self.kernel.T @ (self.counts / (self.kernel @ shares))) / self.total
        return shares

    def range_of(self, values: Floats) -> Interval:
        """Lowest and highest mean of a quantity over the types, among all shares that the outcomes do not reject.

        Args:
            values: The quantity under each type, (m,).
        """
        span = float(np.ptp(values))
        if span <= 0:
            return Interval(float(values[0]), float(values[0]))
        scaled = (values - values.min()) / span
        low, high = (float(values @ self._furthest(sign * scaled)) for sign in (-1.0, 1.0))
        return Interval(low, high)

    def _furthest(self, values: Floats) -> Floats:
        """The feasible shares with the highest mean of `values`."""

        def value(shares: Floats, barrier: float) -> float:
            room = self.log_likelihood(shares) - self.least
            if not room > 0:
                return -np.inf
            return float(values @ shares + barrier * (np.log(room) + np.log(shares).mean()))

        def local(shares: Floats, barrier: float) -> _Local:
            expected = self.kernel @ shares
            room = float(self.counts @ np.log(expected)) - self.least
            rise = shares * (self.kernel.T @ (self.counts / expected)) / room
            root = self._root(shares, expected)
            curvature = barrier * (
                root.T @ root / room + np.outer(rise, rise) + np.eye(len(shares)) / len(shares)
            )
            return _Local(values * shares + barrier * (rise + 1 / len(shares)), curvature)

        shares = self.best
        for barrier in 0.1 * _BARRIERS:
            shares = _newton(shares, value, local, float(barrier))
        return shares

    def _value(self, shares: Floats, barrier: float) -> float:
        return self.log_likelihood(shares) + barrier * float(np.log(shares).sum())

    def _local(self, shares: Floats, barrier: float) -> _Local:
        expected = self.kernel @ shares
        root = self._root(shares, expected)
        slope = shares * (self.kernel.T @ (self.counts / expected)) + barrier
        return _Local(slope, root.T @ root + barrier * np.eye(len(shares)))

    def _root(self, shares: Floats, expected: Floats) -> Floats:
        """A matrix whose square is the negative curvature of the log-likelihood for relative changes, (c, m)."""
        root: Floats = self.kernel * shares * (np.sqrt(self.counts) / expected)[:, None]
        return root


def _newton(
    shares: Floats,
    value: Callable[[Floats, float], float],
    local: Callable[[Floats, float], _Local],
    barrier: float,
) -> Floats:
    """The shares at which a concave function is highest, by Newton's method from shares inside the simplex."""
    for _ in range(_STEPS):
        slope, curvature = local(shares, barrier)
        solved = np.linalg.solve(curvature, np.stack([slope, shares], axis=1))
        # Relative changes that keep the sum of the shares at 1.
        tilt = float(shares @ solved[:, 0]) / float(shares @ solved[:, 1])
        change: Floats = solved[:, 0] - tilt * solved[:, 1]
        gain = float(change @ curvature @ change)
        moved = _stepped(shares, change, lambda candidate: value(candidate, barrier), gain)
        if moved is None:
            return shares
        shares = moved
        if gain < 1e-3 * barrier:
            return shares
    return shares


def _stepped(shares: Floats, change: Floats, value: Callable[[Floats], float], gain: float) -> Floats | None:
    """The shares after a step that raises the value; None if no step does, up to rounding."""
    lowest, now = float(change.min()), value(shares)
    step = min(1.0, -0.99 / lowest) if lowest < 0 else 1.0
    for _ in range(_HALVINGS):
        moved = shares * (1 + step * change)
        moved /= moved.sum()
        if value(moved) >= now + 1e-4 * step * gain:
            return moved
        step /= 2
    return None


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

    If a report has two scores only, a type is a pass rate, and the outcome of a prompt is its number of passing completions.
    If it has more, whether all of G completions have one score depends, for large G, only on the prompt's most frequent score:
    a type is then the probability of that score, with the rest either one other score or all different, and the outcome of a
    prompt is the number of completions that share a score, if more than half of them do. The probability of such an outcome is
    a sum over the possible scores of the prompt, so that it is exact for these types with any number of scores.

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

    def zero_variance(self, size: int) -> Floats:
        """Probability that `size` completions of a prompt of each type all have one score, (m,)."""
        zero_variance: Floats = (self.chances**size).sum(0)
        return zero_variance

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
    zero_variance, all_differ = len(upper) - 1, len(upper)
    ends = np.repeat(
        np.array([[zero_variance, zero_variance], [all_differ, zero_variance]], np.intp), len(shapes), axis=0
    )
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
