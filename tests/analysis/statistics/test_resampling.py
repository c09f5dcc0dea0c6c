"""The Bayesian bootstrap: draws, ends and p values."""

from __future__ import annotations

import math

import numpy as np
import pytest

from workbench.analysis.statistics import LEVELS, level_counts, levels_of
from workbench.analysis.statistics.resampling import bootstrap


def mean_of(sums):
    return sums[..., 1] / sums[..., 0]


def columns(values):
    return np.column_stack([np.ones_like(values), values])


class TestBootstrap:
    def test_has_the_width_theory_gives(self):
        """The mean of 400 rows, and of 10,000 in bundles."""
        for n in (400, 10_000):
            values = np.random.default_rng(2).beta(2, 5, n)
            lo, hi = bootstrap(columns(values), mean_of).interval()
            assert hi - lo == pytest.approx(2 * 1.96 * values.std() / math.sqrt(n), rel=0.1)

    def test_same_seed_same_draws(self):
        """Two calls agree to the last bit."""
        values = columns(np.random.default_rng(4).random(100))
        assert bootstrap(values, mean_of).interval() == bootstrap(values, mean_of).interval()

    def test_an_unseen_row_gives_equal_rows_a_width(self):
        """Twenty rows on one level may hide a second one; without an unseen row they seem certain."""
        counts = level_counts(np.full(20, 0.5))
        unseen = np.eye(LEVELS)[0]
        assert bootstrap(counts, levels_of, unseen=unseen).interval().hi > 1.4
        assert bootstrap(counts, levels_of).interval().hi < 1.1

    def test_one_cluster_cannot_be_weighted(self):
        """Without an unseen row there is nothing to weigh it against."""
        boot = bootstrap(columns(np.array([0.1, 0.9])), mean_of, groups=np.zeros(2, int))
        assert math.isnan(boot.interval().hi)
        assert boot.p_below(0.9) == boot.p_above(0.1) == 1.0

    @pytest.mark.parametrize("threshold", [0.3, 0.45, 0.6])
    def test_p_values_and_ends_agree(self, threshold):
        """A value is outside exactly when its p value is small enough."""
        boot = bootstrap(columns(np.random.default_rng(1).random(60)), mean_of)
        lo, hi = boot.interval()
        assert (boot.p_below(threshold) <= 0.025) == (hi < threshold)
        assert (boot.p_above(threshold) <= 0.025) == (lo > threshold)
