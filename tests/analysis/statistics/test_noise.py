"""How far repeats of the same rows agree: ICC with its interval, flips, spread, noise floor."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from workbench.analysis.statistics.noise import (
    flip_share,
    noise_floor,
    reliability,
    row_ranges,
    row_sds,
    within_sd,
)

SHROUT_FLEISS = np.array(
    [[9, 2, 5, 8], [6, 1, 3, 2], [8, 4, 6, 8], [7, 1, 2, 6], [10, 5, 6, 9], [6, 2, 4, 7]], float
)
"""Table 2 of Shrout & Fleiss 1979, whose ICC(1,1) is 0.17: pingouin.intraclass_corr says 0.165742."""


def of_anova(scores):
    """ICC(1,1) by scipy's analysis of variance."""
    f = stats.f_oneway(*scores).statistic
    return (f - 1) / (f + scores.shape[1] - 1)


class TestReliability:
    def test_a_published_table(self):
        """The value of the paper, and of the library that is known for it."""
        assert reliability(SHROUT_FLEISS).value == pytest.approx(0.165742, abs=1e-6)

    def test_it_is_analysis_of_variance(self):
        """For any full table the value is that of the F statistic."""
        scores = np.random.default_rng(0).normal(size=(40, 3)) + np.arange(40)[:, None] / 20
        assert reliability(scores).value == pytest.approx(of_anova(scores))

    def test_missing_repeats_are_left_out(self):
        """A row with one score says nothing; other rows need not all have the same number."""
        scores = SHROUT_FLEISS / 10
        scores[0, 1] = np.nan
        extra = np.full((1, 4), np.nan)
        extra[0, 2] = 0.5
        assert reliability(np.vstack([scores, extra])) == reliability(scores)
        assert reliability(scores).n == 6

    @pytest.mark.parametrize(
        ("scores", "reason"),
        [
            (np.empty((0, 3)), "fewer than two rows"),
            (np.ones((1, 3)), "fewer than two rows"),
            (np.array([[1.0, np.nan], [0.0, np.nan]]), "fewer than two rows"),
            (np.ones((30, 3)), "do not vary"),
        ],
    )
    def test_where_there_is_no_value(self, scores, reason):
        """NaN with a reason, no interval, and no verdict."""
        result = reliability(scores)
        assert math.isnan(result.value)
        assert reason in result.reason
        assert all(map(math.isnan, result.interval()))
        assert (result.p_below(0.75), result.needed(0.75)) == (1.0, None)

    def test_perfect_repeats_still_have_an_interval(self):
        """Thirty rows that never wavered leave room for some that would; three hundred for fewer."""
        few, many = (reliability(np.tile([[0.0], [1.0]], (n // 2, 3))) for n in (30, 300))
        assert few.value == many.value == 1.0
        assert 0.5 < few.interval().lo < 0.9 < many.interval().lo < 1.0
        assert few.interval().hi == 1.0
        assert few.p_below(0.75) == 1.0

    def test_one_mean_for_all_rows_says_nothing_sure(self):
        """Rows that all flip alike: the lowest value, and an interval that excludes nothing."""
        result = reliability(np.tile([[0.0, 1.0], [1.0, 0.0]], (20, 1)))
        assert result.value == pytest.approx(-1.0)
        assert tuple(result.interval()) == (-1.0, 1.0)
        assert result.p_below(0.75) >= 0.5

    def test_interval_and_p_value_agree(self):
        """The upper end is below a threshold exactly where the p value is below half of 5 %."""
        rng = np.random.default_rng(1)
        for _ in range(200):
            result = reliability(rng.normal(size=(30, 1)) * rng.random() * 3 + rng.normal(size=(30, 3)))
            assert (result.interval().hi < 0.75) == (2 * result.p_below(0.75) < 0.05)

    def test_rows_of_one_prompt_count_less(self):
        """The same rows eight times over are no more evidence than once."""
        rng = np.random.default_rng(2)
        scores = rng.normal(size=(20, 1)) + 0.4 * rng.normal(size=(20, 3))
        once, groups = reliability(scores), np.repeat(np.arange(20), 8)
        eightfold = reliability(np.repeat(scores, 8, axis=0), groups)
        naive = reliability(np.repeat(scores, 8, axis=0))
        width = {
            name: np.ptp(result.interval())
            for name, result in [("once", once), ("8", eightfold), ("naive", naive)]
        }
        assert width["naive"] < 0.7 * width["8"]
        assert width["8"] > 0.8 * width["once"]

    @pytest.mark.parametrize(("n", "least"), [(30, 0.93), (100, 0.93)])
    @pytest.mark.parametrize("kind", ["normal", "wavering", "shares"])
    def test_interval_holds_the_truth(self, kind, n, least):
        """At least as often as it says, within chance, also for verdicts of which a few rows waver."""
        rng = np.random.default_rng(3)
        truth = reliability(drawn(rng, kind, 60_000)).value
        held = [
            lo <= truth <= hi for lo, hi in (reliability(drawn(rng, kind, n)).interval() for _ in range(400))
        ]
        assert np.mean(held) >= least

    def test_needed_rows_are_a_plan(self):
        """None are needed where it is decided, and no plan is made of a threshold within one standard error."""
        rng = np.random.default_rng(4)
        result = reliability(rng.normal(size=(40, 1)) + rng.normal(size=(40, 3)))
        assert result.needed(0.99) == 0
        assert result.needed(result.interval(0.96).hi, 0.99) > 0
        assert result.needed(result.value + 0.02) is None

    @settings(max_examples=60, deadline=None)
    @given(
        st.lists(
            st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=3, max_size=3), max_size=12
        )
    )
    def test_any_scores_give_a_sound_result(self, rows):
        """No overflow, no warning; value within the interval, both within -1 and 1."""
        scores = np.array(rows, float).reshape(-1, 3)
        result = reliability(scores)
        if not math.isnan(result.value):
            lo, hi = result.interval()
            assert -1 <= lo <= result.value + 1e-9
            assert result.value - 1e-9 <= hi <= 1
        assert np.isfinite(row_sds(scores)).all()
        assert np.isfinite(row_ranges(scores)).all()


def drawn(rng, kind, n):
    if kind == "normal":
        return 2 * rng.normal(size=(n, 1)) + rng.normal(size=(n, 3))
    if kind == "shares":
        return (rng.random((n, 3)) < rng.beta(2, 1, n)[:, None]) * 1.0
    accepted = np.where(rng.random(n) < 0.1, 0.5, rng.random(n) < 0.6)
    return (rng.random((n, 3)) < accepted[:, None]) * 1.0


def test_a_row_flips_where_its_verdicts_are_not_unanimous():
    """Rows with fewer than two verdicts do not count; a missing verdict is no other one."""
    verdicts = np.array([[1, 1, 1], [1, 0, 1], [-1, 0, 0], [-1, 1, -1], [0, 1, -1]], np.int8)
    flips, which = flip_share(verdicts)
    assert (flips.k, flips.n) == (2, 4)
    assert list(which) == [False, True, False, False, True]


def test_flips_know_prompts():
    """Eight rows of one prompt that flip together are no eight rows."""
    verdicts = np.repeat(np.array([[1, 0, 1], [1, 1, 1], [0, 0, 0], [0, 1, 0]] * 5, np.int8), 8, axis=0)
    alone, _ = flip_share(verdicts)
    clustered, _ = flip_share(verdicts, np.repeat(np.arange(20), 8))
    assert np.ptp(clustered.interval()) > 1.5 * np.ptp(alone.interval())


def test_spread_of_a_row():
    """Sample sd and range of its repeats; NaN below two."""
    scores = np.array([[0.2, 0.4, 0.6], [0.5, np.nan, np.nan], [1.0, 1.0, np.nan]])
    np.testing.assert_allclose(row_sds(scores), [0.2, np.nan, 0.0])
    np.testing.assert_allclose(row_ranges(scores), [0.4, np.nan, 0.0])
    assert within_sd(scores) == pytest.approx(math.sqrt(0.08 / 3))
    assert math.isnan(within_sd(scores[1:2]))


def test_noise_floor_is_the_repeatability_of_a_mean():
    """1.96 times the root of both variances over n; two runs of one grader stay below it in 95 %."""
    assert noise_floor(0.3, 0.4, 100) == pytest.approx(1.959964 * 0.05)
    assert math.isnan(noise_floor(0.3, 0.4, 0))
    rng = np.random.default_rng(5)
    runs = rng.normal(0, 0.3, (2_000, 2, 50)).mean(axis=2)
    below = np.abs(runs[:, 0] - runs[:, 1]) < noise_floor(0.3, 0.3, 50)
    assert 0.93 < below.mean() < 0.97
