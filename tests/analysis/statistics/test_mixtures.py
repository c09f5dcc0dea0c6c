"""Mixtures of known distributions: the best shares of types, and how far others may lie without being refuted."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import optimize, stats

from workbench.analysis.statistics.mixtures import Mixture

RATES = np.linspace(0, 1, 21)


def mixture(counts):
    """Prompts by passes among their k answers; outcomes nobody showed are left out."""
    k, seen = len(counts) - 1, np.flatnonzero(counts)
    return Mixture(stats.binom.pmf(seen[:, None], k, RATES), np.array(counts, float)[seen])


@settings(max_examples=15)
@given(st.lists(st.integers(0, 40), min_size=4, max_size=7).filter(lambda counts: sum(counts) >= 10))
def test_the_best_shares_are_the_most_likely(counts):
    """No other shares explain the outcomes better: the gradient is at most one a prompt for every type (Laird 1978)."""
    found = mixture(counts)
    gradient = found.kernel.T @ (found.counts / (found.kernel @ found.best)) / found.total
    assert found.best.sum() == pytest.approx(1)
    assert gradient.max() < 1 + 1e-3


def test_ends_are_those_of_a_general_solver():
    """The lowest and highest mean are what scipy finds under the same constraints."""
    found = mixture([30, 12, 10, 8, 40])
    values = 1 - RATES**8 - (1 - RATES) ** 8
    bounds = found.range_of(values)
    room = {"type": "ineq", "fun": lambda w: found.log_likelihood(np.maximum(w, 1e-15)) - found.least}
    sums = {"type": "eq", "fun": lambda w: w.sum() - 1}
    for sign, end in ((1, bounds.lo), (-1, bounds.hi)):
        solved = optimize.minimize(
            lambda w, sign=sign: sign * (values @ w),
            found.best,
            method="SLSQP",
            bounds=[(0, 1)] * len(RATES),
            constraints=[room, sums],
            options={"maxiter": 500},
        )
        assert end == pytest.approx(values @ solved.x, abs=2e-3)


def test_a_number_that_all_types_share_is_certain():
    """Nothing can move what does not depend on the type."""
    assert mixture([3, 4, 5]).range_of(np.full(21, 0.3)) == (0.3, 0.3)


def test_a_guess_that_is_not_refuted_stays():
    """A start that the outcomes allow is returned as it is; another is moved until they do."""
    found = mixture([10, 20, 30, 20, 10])
    even = np.full(21, 1 / 21)
    for start in (found.best, even):
        assert found.log_likelihood(found.near(start)) >= found.least
    assert found.near(found.best) is found.best
    wrong = np.where(RATES > 0.9, 1.0, 1e-6)
    assert (
        found.log_likelihood(wrong / wrong.sum())
        < found.least
        <= found.log_likelihood(found.near(wrong / wrong.sum()))
    )


def test_more_prompts_narrow_the_range():
    """Ten times the prompts with the same outcomes: a range inside the first, but no point, since k answers leave much open."""
    values = 1 - RATES**64 - (1 - RATES) ** 64
    few, many = (mixture(np.array([30, 12, 10, 8, 40]) * times).range_of(values) for times in (1, 10))
    assert few.lo < many.lo < many.hi - 0.05
    assert many.hi <= few.hi
