"""Plausible mixtures of known distributions, given the frequency of each outcome.

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
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from workbench.analysis.statistics.intervals import Interval, critical_value

__all__ = ["Mixture"]

Floats = NDArray[np.float64]

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
