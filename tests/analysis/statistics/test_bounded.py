"""Means within known ends: exact where theory is, and right often enough where it is not."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from workbench.analysis.statistics import clopper_pearson
from workbench.analysis.statistics.means import (
    bounded_mean,
    chance_below_zero,
    likely_scale,
    mean_interval,
)
from workbench.analysis.statistics.noise import sd_interval

scores = st.lists(st.floats(0, 1, allow_nan=False), min_size=1, max_size=40)


class TestChance:
    @given(st.integers(1, 60), st.integers(0, 60), st.floats(0.01, 0.99))
    def test_is_the_binomial_tail_for_pass_or_fail(self, k, misses, threshold):
        """Within a tenth of scipy's tail, from one half down to the smallest."""
        mean = bounded_mean(np.r_[np.ones(k), np.zeros(misses)])
        exact = stats.binom.sf(k - 1, k + misses, threshold)
        assert mean.p_above(threshold) == pytest.approx(exact, rel=0.1, abs=1e-12)

    def test_is_that_of_a_simulation(self):
        """Uneven factors and shapes, against 400,000 draws."""
        rng = np.random.default_rng(0)
        factors, shapes = np.array([-1.0, -0.3, 0.2, 0.5]), np.array([2.0, 5.0, 3.0, 1.0])
        drawn = (rng.gamma(shapes, size=(400_000, 4)) @ factors <= 0).mean()
        assert chance_below_zero(factors, shapes) == pytest.approx(drawn, rel=0.01)

    def test_is_certain_where_all_signs_agree(self):
        """Nothing to weigh against."""
        assert chance_below_zero(np.array([0.1, 0.2]), np.ones(2)) == 0
        assert chance_below_zero(np.array([-0.1, 0.0]), np.ones(2)) == 1
        assert chance_below_zero(np.zeros(3), np.ones(3)) == 1


class TestInterval:
    @given(scores, st.floats(0.5, 0.999))
    @settings(max_examples=60)
    def test_holds_the_mean_within_the_ends(self, values, confidence):
        """Whatever the scores, 0 <= lo <= mean <= hi <= 1, and it has a width."""
        lo, hi = bounded_mean(np.array(values)).interval(confidence)
        assert 0 <= lo <= np.mean(values) + 1e-9
        assert np.mean(values) - 1e-9 <= hi <= 1
        assert hi > lo

    @given(scores)
    @settings(max_examples=40)
    def test_turned_round_is_turned_round(self, values):
        """The interval of 1 minus each score is 1 minus the interval."""
        mean = bounded_mean(np.array(values))
        lo, hi = mean.complement.interval()
        assert mean.interval() == pytest.approx((1 - hi, 1 - lo), abs=1e-6)

    @pytest.mark.parametrize("groups", [None, np.zeros(8, int)])
    def test_equal_scores_are_not_certain(self, groups):
        """Equal scores, or scores of one prompt, still leave room for what was not seen."""
        lo, hi = mean_interval(np.full(8, 0.7), groups)
        assert lo < 0.6
        assert hi > 0.75

    def test_many_rows_get_the_usual_interval(self):
        """With 20,000 rows it is the normal one, though they are weighted in bundles."""
        values = np.random.default_rng(6).random(20_000)
        lo, hi = mean_interval(values)
        assert hi - lo == pytest.approx(2 * 1.96 * values.std() / math.sqrt(20_000), rel=0.08)
        assert mean_interval(values) == mean_interval(values)

    def test_copies_are_worth_one_row(self):
        """Ten copies of each row do not narrow the interval."""
        values = np.random.default_rng(5).random(60)
        copied = mean_interval(np.repeat(values, 10), np.repeat(np.arange(60), 10))
        assert copied == pytest.approx(mean_interval(values), abs=1e-6)

    @pytest.mark.parametrize("n", [2, 5, 10, 30])
    @pytest.mark.parametrize("name", ["skewed", "rare zero", "rubric"])
    def test_covers_at_few_rows_and_few_prompts(self, n, name):
        """At least 94 % of 300 intervals hold the mean, of n rows and of n prompts of four (less what 300 runs may miss by)."""
        make = {
            "skewed": lambda rng, size: rng.beta(20, 1, size),
            "rare zero": lambda rng, size: np.where(rng.random(size) < 0.05, 0.0, 0.85),
            "rubric": lambda rng, size: rng.choice(
                [0, 0.25, 0.5, 0.75, 1], size, p=[0.02, 0.03, 0.1, 0.25, 0.6]
            ),
        }[name]
        rng = np.random.default_rng(n)
        truth = make(rng, 400_000).mean()
        groups, held = np.repeat(np.arange(n), 4), {"rows": 0, "prompts": 0}
        for _ in range(300):
            alike = np.where(rng.random(4 * n) < 0.5, make(rng, n)[groups], make(rng, 4 * n))
            for design, interval in (
                ("rows", mean_interval(make(rng, n))),
                ("prompts", mean_interval(alike, groups)),
            ):
                held[design] += interval.lo <= truth <= interval.hi
        assert min(held.values()) / 300 >= 0.92


class TestScales:
    def test_scores_of_a_common_scale_are_read_on_it(self):
        """1 to 5 is a scale; the interval does not leave it."""
        lo, hi = mean_interval(np.array([4.0, 5.0, 5.0, 4.0, 5.0]))
        assert 1 <= lo < 4.6 < hi <= 5

    def test_pass_or_fail_on_another_scale(self):
        """Scores that are all 0 or 100 are a share."""
        lo, hi = mean_interval(np.array([0.0, 100.0] * 10), scale=(0, 100))
        exact = clopper_pearson(10, 20)
        assert (lo, hi) == pytest.approx((100 * exact.lo, 100 * exact.hi))

    def test_few_scores_without_a_scale_have_no_interval(self):
        """Nothing bounds what was not seen; 30 rows are enough to go by."""
        values = np.random.default_rng(1).normal(0, 300, 60)
        assert all(map(math.isnan, mean_interval(values[:29])))
        assert mean_interval(values).lo < values.mean() < mean_interval(values).hi
        assert all(map(math.isnan, mean_interval(np.full(8, 700.0))))

    def test_no_values_have_no_interval(self):
        """An empty column gives NaN, not a warning."""
        assert all(map(math.isnan, mean_interval(np.empty(0))))

    def test_likely_scales(self):
        """The narrowest in use; none for scores beyond them all."""
        assert likely_scale(np.array([1.0, 4.5])) == (1, 5)
        assert likely_scale(np.array([0.0, 4.5])) == (0, 5)
        assert likely_scale(np.array([-0.5, 1.0])) == (-1, 1)
        assert likely_scale(np.array([3.0, 72.0])) == (0, 100)
        assert likely_scale(np.array([1e6])) is None
        assert likely_scale(np.empty(0)) is None


class TestSd:
    def test_equal_scores_have_a_width(self):
        """20 times 0.85 do not show an sd of 0."""
        lo, hi = sd_interval(np.full(20, 0.85))
        assert lo == 0
        assert hi > 0.2

    @pytest.mark.parametrize("rate", [0.9, 0.95])
    def test_covers_rare_misses(self, rate):
        """At least 93 % of 300 intervals at 30 rows hold the sd of a grader that passes nearly all."""
        rng, truth = np.random.default_rng(2), math.sqrt(rate * (1 - rate))
        intervals = [sd_interval((rng.random(30) < rate) * 1.0) for _ in range(300)]
        assert np.mean([lo <= truth <= hi for lo, hi in intervals]) >= 0.93


@pytest.mark.parametrize("seed", range(30))
def test_an_end_has_exactly_its_chance(seed):
    """At any number of rows, level and shape of scores, as without the first guess of where it is."""
    rng = np.random.default_rng(seed)
    n = int(rng.choice([2, 5, 30, 300, 3_000]))
    values = [rng.random(n), (rng.random(n) < 0.1).astype(float), np.round(rng.random(n) * 4) / 4][seed % 3]
    mean = bounded_mean(values, np.arange(n) // 3 if seed % 2 else None)
    for tail in (0.1, 0.025, 0.0005):
        for end, chance, limit in (
            (mean.lower(tail), mean.p_above, 0.0),
            (mean.upper(tail), mean.p_below, 1.0),
        ):
            if end not in (limit, mean.value):
                assert chance(end) == pytest.approx(tail, rel=1e-4)
