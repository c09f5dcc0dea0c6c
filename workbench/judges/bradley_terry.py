"""Strengths from comparisons in pairs: the model of Bradley and Terry with ties, an order effect, and errors clustered by prompt.

The chance that a beats b is 1 / (1 + exp(-(s_a - s_b + d))), where d is the advantage of the one that a judge reads first
(Bradley & Terry 1952; Davidson & Beaver 1977 for the order). A tie counts as half a win: the estimate is that of a quasi-
likelihood (Papke & Wooldridge 1996), right as soon as the expected result has this form, with any share of ties.

Every player also has one tie with an average player. Without it a player that wins every comparison would be infinitely
strong, and with hundreds of comparisons its effect vanishes.

Errors are those of the cluster jackknife (CR3; Bell & McCaffrey 2002), in which all comparisons of one prompt are one
cluster, with Student's quantile: 95 % intervals contain the truth in 93 to 97 % of simulated cases from 10 prompts on
(`benchmarks/verdicts.py`). Two libraries were considered first. choix 0.4.1 has no errors and no ties. evalica 0.4.2 has
neither an order effect nor prompts: with 50 prompts on which strengths differ, its bootstrap of single comparisons contained
the truth in 85 % of the same cases. It is light, and checks the strengths in the tests.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Codes = NDArray[np.intp]

_PRIOR_TIES = 1.0  # with an average player, for each player and for the order effect
_STEPS = 100  # of Newton's method; it takes about six
_TOLERANCE = 1e-9
_BLOCK = 1_000_000  # numbers in one block of clusters: 8 MB


@dataclass(frozen=True, eq=False)
class PairResults:
    """Results of comparisons, m of them; the two orders of a pair are two.

    Attributes:
        a: Player whose result it is, integer codes from 0, (m,).
        b: The other player, (m,).
        results: 1 if a wins, 0.5 for a tie, 0 if b wins, (m,).
        is_first: Whether the judge read a first, (m,).
        clusters: Prompt of each comparison, integer codes from 0, (m,).
        n_players: Number of players.
    """

    a: Codes
    b: Codes
    results: Floats
    is_first: NDArray[np.bool_]
    clusters: Codes
    n_players: int

    @cached_property
    def design(self) -> Floats:
        """One line per comparison: 1 for a, -1 for b, and the order, (m, players + 1)."""
        lines = np.zeros((len(self.a), self.n_players + 1))
        rows = np.arange(len(self.a))
        lines[rows, self.a] += 1
        lines[rows, self.b] -= 1
        lines[:, -1] = np.where(self.is_first, 1.0, -1.0)
        return lines


@dataclass(frozen=True, eq=False)
class BradleyTerryFit:
    """Estimated strengths.

    Attributes:
        strengths: Log-odds against an average player, (players,); they sum to 0.
        order_effect: Log-odds of the one that is read first, between two equal players.
        errors: Standard errors of the strengths, (players,).
        difference_errors: Standard errors of the differences of two strengths, (players, players).
        order_error: Standard error of the order effect.
        clusters: Number of prompts.
    """

    strengths: Floats
    order_effect: float
    errors: Floats
    difference_errors: Floats
    order_error: float
    clusters: int


def fit_strengths(results: PairResults) -> Floats:
    """Strengths and order effect without errors, (players + 1,)."""
    lines = results.design
    estimate = np.zeros(results.n_players + 1)
    for _ in range(_STEPS):
        score, information = _score(lines, results.results, estimate)
        step = np.linalg.solve(information, score)
        # Results are bounded, so that a step of more than 2 can only overshoot.
        estimate = estimate + step * min(1.0, 2.0 / max(float(np.abs(step).max()), 1e-300))
        if np.abs(step).max() < _TOLERANCE:
            break
    return _centred(estimate)


def fit(results: PairResults) -> BradleyTerryFit:
    """Strengths and order effect with their errors."""
    lines, n = results.design, results.n_players
    estimate = fit_strengths(results)
    chances = _chances(lines @ estimate)
    _, information = _score(lines, results.results, estimate)
    inverse = np.linalg.inv(information).astype(np.float64)
    g = int(results.clusters.max()) + 1 if len(results.clusters) else 0
    meat = _jackknife_meat(
        lines, results.results - chances, chances * (1 - chances), results.clusters, inverse, g
    )
    meat += _prior_information(estimate)
    # Strengths are relative to their mean, whose error does not count.
    centring = np.eye(n + 1)
    centring[:n, :n] -= 1 / n
    covariance = centring @ inverse @ meat @ inverse @ centring.T
    variances = np.maximum(np.diag(covariance), 0.0)
    apart = np.add.outer(variances[:n], variances[:n]) - 2 * covariance[:n, :n]
    errors, apart_errors = np.sqrt(variances), np.sqrt(np.maximum(apart, 0.0))
    return BradleyTerryFit(estimate[:n], float(estimate[n]), errors[:n], apart_errors, float(errors[n]), g)


def _chances(log_odds: Floats) -> Floats:
    chances: Floats = 1 / (1 + np.exp(-np.clip(log_odds, -30, 30)))
    return chances


def _score(lines: Floats, results: Floats, estimate: Floats) -> tuple[Floats, Floats]:
    """Gradient and information of the quasi-likelihood, with the prior's ties: one per strength and one of the orders."""
    chances = _chances(lines @ estimate)
    score = lines.T @ (results - chances) + _PRIOR_TIES * (0.5 - _chances(estimate))
    information = lines.T @ (lines * (chances * (1 - chances))[:, None]) + _prior_information(estimate)
    return score, information


def _prior_information(estimate: Floats) -> Floats:
    chances = _chances(estimate)
    return np.diag(_PRIOR_TIES * chances * (1 - chances))


def _jackknife_meat(
    lines: Floats, away: Floats, weights: Floats, clusters: Codes, inverse: Floats, g: int
) -> Floats:
    """Sum over clusters of the squared change of the score equations when the cluster is left out."""
    p = lines.shape[1]
    order = np.argsort(clusters, kind="stable")
    bounds = np.searchsorted(clusters[order], np.arange(g + 1))
    meat = np.zeros((p, p))
    step = max(1, _BLOCK // p**2)
    for first in range(0, g, step):
        last = min(first + step, g)
        rows = order[bounds[first] : bounds[last]]
        place = clusters[rows] - first
        scores = np.zeros((last - first, p))
        np.add.at(scores, place, lines[rows] * away[rows, None])
        own = np.zeros((last - first, p, p))
        np.add.at(own, place, lines[rows, :, None] * (lines[rows] * weights[rows, None])[:, None, :])
        moved = np.linalg.solve(np.eye(p) - own @ inverse, scores[:, :, None])[:, :, 0]
        meat += moved.T @ moved
    return meat * (g - 1) / g if g > 1 else meat


def _centred(estimate: Floats) -> Floats:
    centred = estimate.copy()
    centred[:-1] -= centred[:-1].mean()
    return centred


def ranks_of(strengths: Floats) -> Floats:
    """0 for the weakest, 1 for the strongest; equal ones share the mean of their ranks."""
    below = (strengths[:, None] > strengths[None, :]).sum(1)
    equal = (strengths[:, None] == strengths[None, :]).sum(1) - 1
    ranks: Floats = (below + equal / 2) / (len(strengths) - 1)
    return ranks


def neighbours(order: Sequence[int], compared: set[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Pairs of completions next to each other in the ranking that were not compared yet, each completion once."""
    waiting = list(order)
    while waiting:
        a = waiting.pop(0)
        b = next((b for b in waiting if (a, b) not in compared and (b, a) not in compared), None)
        if b is not None:
            waiting.remove(b)
            yield a, b
