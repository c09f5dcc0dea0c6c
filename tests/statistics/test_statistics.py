"""Statistics against their definitions and against scipy and statsmodels."""

from __future__ import annotations

import math
from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.proportion import proportion_confint

from workbench import statistics as ws
from workbench.statistics import spread
from workbench.statistics.means import sd_bootstrap
from workbench.statistics.resampling import _sd
from workbench.statistics.intervals import critical_value, normal_score
from workbench.statistics.shares import Share


def levels(values):
    return spread.levels_of(spread.level_counts(values).sum(0))


def icc(values, groups):
    return spread.icc_of(spread.group_sums(values, groups).sum(0))


finite = st.floats(0, 1, allow_nan=False)


class TestWilson:
    @given(st.integers(0, 500), st.integers(0, 500))
    def test_matches_statsmodels(self, k, extra):
        """Both ends equal those of statsmodels."""
        n = k + extra
        if n:
            assert ws.wilson(k, n) == pytest.approx(proportion_confint(k, n, method="wilson"), abs=1e-9)

    @given(st.integers(0, 300), st.integers(0, 300), st.floats(0.5, 0.9999))
    def test_lies_within_zero_and_one_and_holds_the_share(self, k, extra, confidence):
        """Whatever the counts, 0 <= lo <= share <= hi <= 1."""
        lo, hi = ws.wilson(k, k + extra, confidence=confidence)
        value = k / (k + extra) if k + extra else 0.5
        assert 0 <= lo <= value + 1e-12
        assert value - 1e-12 <= hi <= 1

    @given(st.integers(0, 200), st.integers(1, 200))
    def test_grows_with_hits(self, k, extra):
        """One hit more of the same n moves both ends up."""
        n = k + extra
        one, two = ws.wilson(k, n), ws.wilson(k + 1, n)
        assert two.lo >= one.lo
        assert two.hi >= one.hi

    def test_knows_nothing_of_no_rows(self):
        """No rows give the whole range."""
        assert ws.wilson(0, 0) == (0, 1)
        assert Share(0, 0, 0.0).interval() == (0, 1)

    @pytest.mark.parametrize(("threshold", "n"), [(0.8, 16), (0.9, 35), (0.95, 73)])
    def test_all_at_the_ceiling_needs_so_many_rows(self, threshold, n):
        """The published minimum: n rows pass the threshold, one fewer does not."""
        assert ws.wilson(n, n).lo > threshold
        assert ws.wilson(n - 1, n - 1).lo <= threshold

    @pytest.mark.parametrize("arguments", [(3, 2), (-1, 2)])
    def test_refuses_impossible_counts(self, arguments):
        """More hits than rows, or fewer than none, are errors."""
        with pytest.raises(ValueError, match="between 0 and n"):
            ws.wilson(*arguments)

    def test_refuses_impossible_confidence(self):
        """A confidence of 1 has no finite bound."""
        with pytest.raises(ValueError, match="confidence"):
            ws.wilson(1, 2, confidence=1.0)


class TestRowsNeeded:
    @settings(max_examples=200)
    @given(st.data(), st.floats(0.02, 0.95), st.integers(1, 400), st.floats(0.8, 0.999))
    def test_is_the_smallest_number_that_decides(self, data, threshold, n, confidence):
        """With so many rows more the bound passes; with one fewer it does not."""
        result = ws.Share(data.draw(st.integers(0, n)), n, n)
        needed, value = result.needed_above(threshold, confidence), result.value
        if needed is None:
            assert value <= threshold
        elif value > threshold + 0.01:
            total = n + needed
            assert ws.wilson(value * total, total, confidence=confidence).lo > threshold - 1e-12
            if needed > 1:
                assert (
                    ws.wilson(value * (total - 1), total - 1, confidence=confidence).lo <= threshold + 1e-12
                )

    def test_is_none_where_no_number_would_do(self):
        """A share at the threshold never passes it."""
        assert ws.Share(9, 10, 10).needed_above(0.9) is None

    @given(st.lists(st.booleans(), min_size=1, max_size=60), st.floats(0.05, 0.95))
    def test_a_share_needs_none_exactly_when_it_has_passed(self, flags, threshold):
        """`needed_above` is 0 if and only if the lower end is above the threshold."""
        result = ws.share(np.array(flags))
        assert (result.needed_above(threshold) == 0) == (result.interval().lo > threshold)

    @given(st.lists(st.booleans(), min_size=1, max_size=60), st.floats(0.05, 0.95), st.floats(0.8, 0.999))
    def test_p_value_and_bound_agree(self, flags, threshold, confidence):
        """The one-sided p value is small exactly when the bound passes, clustered or not."""
        for groups in (None, np.arange(len(flags)) // 2):
            result = ws.share(np.array(flags), groups)
            p, lo = result.p_above(threshold), result.interval(confidence).lo
            if abs(lo - threshold) > 1e-9:
                assert (p < (1 - confidence) / 2) == (lo > threshold)


class TestClusters:
    def test_rows_alone_are_worth_themselves(self):
        """Groups of one change nothing, to the last bit."""
        flags = np.arange(50) % 3 == 0
        assert ws.share(flags, np.arange(50)) == ws.share(flags)

    def test_copies_are_worth_one_row(self):
        """Ten copies of each row are worth the rows without copies."""
        values = np.random.default_rng(0).random(40)
        worth = ws.effective_n(np.repeat(values, 10), np.repeat(np.arange(40), 10))
        assert worth == pytest.approx(40, rel=0.03)

    def test_worth_by_hand(self):
        """Six rows in three pairs: robust variance 1/12 over plain 1/20 leaves 3.6 rows."""
        values, groups = np.array([1.0, 1, 0, 0, 1, 0]), np.array([0, 0, 1, 1, 2, 2])
        assert ws.effective_n(values, groups) == pytest.approx(3.6)

    def test_constants_are_worth_their_groups(self):
        """Constant rows cannot show how alike their groups are: one row a group is assumed."""
        assert ws.effective_n(np.ones(40), np.repeat(np.arange(8), 5)) == pytest.approx(8)

    def test_one_group_carries_no_bound(self):
        """Rows of one prompt say nothing about other prompts."""
        assert ws.share(np.ones(100, bool), np.zeros(100, int)).interval() == (0, 1)

    @given(st.floats(4, 500), st.floats(0.5, 0.9999))
    def test_critical_value_inverts_the_score(self, df, confidence):
        """Bound and p value use one approximation, in both directions."""
        critical = critical_value(confidence, df)
        if math.isfinite(critical):
            assert normal_score(critical, df) == pytest.approx(critical_value(confidence, math.inf))

    @pytest.mark.parametrize("df", [10, 20, 40, 100])
    def test_critical_value_is_close_to_students(self, df):
        """Within 1 % of scipy's t quantile from 10 degrees on, and never below it."""
        exact = stats.t.ppf(0.975, df)
        assert exact <= critical_value(0.95, df) <= 1.011 * exact

    @pytest.mark.parametrize("likeness", [0.0, 0.3, 1.0])
    def test_false_alarms_stay_rare_at_the_threshold(self, likeness):
        """At a true share of exactly 0.9, in clusters of 10, at most 5 % of draws pass 0.9.

        The same rows taken as independent ones pass far more often where clusters are alike.
        """
        rng = np.random.default_rng(1)
        groups = np.repeat(np.arange(40), 10)
        aware = naive = 0
        for _ in range(300):
            copies = rng.random(400) < likeness
            flags = np.where(copies, np.repeat(rng.random(40), 10), rng.random(400)) < 0.9
            aware += ws.share(flags, groups).interval().lo > 0.9
            naive += ws.wilson(flags.sum(), 400).lo > 0.9
        assert aware / 300 <= 0.05
        assert likeness < 1 or naive / 300 > 0.15


class TestHolm:
    @given(st.lists(st.floats(0, 1), min_size=1, max_size=12))
    def test_matches_statsmodels(self, p):
        """The same hypotheses fall."""
        with mock.patch(
            "gc.collect"
        ):  # statsmodels collects garbage at every call, which is most of its time
            rejected = multipletests(p, alpha=0.05, method="holm")[0]
        assert [fires for fires, _ in ws.holm(p)] == list(rejected)

    def test_one_alone_is_not_corrected(self):
        """One hypothesis is tested at the whole level."""
        assert ws.holm([0.049]) == [(True, 0.05)]

    def test_nothing_gives_nothing(self):
        """No hypotheses, no results."""
        assert ws.holm([]) == []


class TestBootstrap:
    def test_percentile_matches_scipy(self):
        """The mean's percentile interval is scipy's within its own noise."""
        values = np.random.default_rng(2).beta(2, 5, 800)
        ours = ws.mean_interval(values)
        theirs = stats.bootstrap(
            (values,),
            np.mean,
            n_resamples=2000,
            method="percentile",
            vectorized=True,
            rng=np.random.default_rng(0),
        ).confidence_interval
        assert ours == pytest.approx(theirs, abs=0.002)

    def test_bca_matches_scipy(self):
        """Below 500 rows the interval is BCa, as scipy's is."""
        values = np.random.default_rng(3).exponential(0.1, 60)
        ours = ws.mean_interval(values)
        theirs = stats.bootstrap(
            (values,), np.mean, n_resamples=9999, method="BCa", vectorized=True, rng=np.random.default_rng(0)
        ).confidence_interval
        assert ours == pytest.approx(theirs, abs=0.004)

    def test_same_seed_same_interval(self):
        """Two calls agree to the last bit."""
        values = np.random.default_rng(4).random(100)
        assert ws.mean_interval(values) == ws.mean_interval(values)

    def test_clusters_widen_the_interval(self):
        """Copies of rows do not narrow the interval of a mean."""
        values = np.random.default_rng(5).random(60)
        plain = ws.mean_interval(values)
        copied = ws.mean_interval(np.repeat(values, 10), np.repeat(np.arange(60), 10))
        assert np.subtract(*copied) == pytest.approx(np.subtract(*plain), rel=0.1)

    def test_bundles_keep_the_variance(self):
        """Beyond 4,096 clusters the interval still has the width theory gives it."""
        values = np.random.default_rng(6).random(20_000)
        lo, hi = ws.mean_interval(values)
        assert hi - lo == pytest.approx(2 * 1.96 * values.std() / math.sqrt(20_000), rel=0.08)

    def test_coverage_is_near_its_name(self):
        """95 % intervals of clustered means hold the truth in 90 % to 99 % of 200 draws."""
        rng = np.random.default_rng(7)
        groups = np.repeat(np.arange(40), 5)
        hits = 0
        for _ in range(200):
            values = np.repeat(rng.normal(0.5, 0.1, 40), 5) + rng.normal(0, 0.05, 200)
            lo, hi = ws.mean_interval(values, groups)
            hits += lo <= 0.5 <= hi
        assert 0.90 <= hits / 200 <= 0.99

    def test_pass_or_fail_scores_get_wilson(self):
        """A mean of zeros and ones is a share."""
        assert ws.mean_interval(np.ones(10)) == ws.wilson(10, 10)

    @pytest.mark.parametrize("groups", [None, np.zeros(8, int)])
    def test_constants_are_not_certain(self, groups):
        """Equal scores, or scores of one prompt, still leave room for what was not seen."""
        lo, hi = ws.mean_interval(np.full(8, 0.7), groups)
        assert lo < 0.6
        assert hi > 0.75

    def test_constants_off_the_scale_have_no_interval(self):
        """Without ends of a scale nothing bounds the unseen."""
        assert all(map(math.isnan, ws.mean_interval(np.full(8, 70.0))))

    def test_no_values_have_no_interval(self):
        """An empty column gives NaN, not a warning."""
        assert all(map(math.isnan, ws.mean_interval(np.empty(0))))

    def test_sd_bound_of_constants_is_zero(self):
        """Nothing varies in any draw."""
        assert sd_bootstrap(np.full(30, 0.7)).interval(bca=False).hi == 0

    def test_a_draws_sd_divides_by_one_less(self):
        """Out of a draw's sums comes numpy's sd with ddof=1; of one row there is none."""
        rows = np.array([0.1, 0.4, 0.9])
        sums = np.array([[3, rows.sum(), (rows**2).sum()], [1, 0.4, 0.16]])
        assert _sd(sums) == pytest.approx([np.std(rows, ddof=1), math.nan], nan_ok=True)

    def test_sd_bound_needs_two_clusters(self):
        """One cluster cannot be resampled."""
        assert math.isnan(sd_bootstrap(np.array([0.1, 0.9]), np.zeros(2, int)).interval(bca=False).hi)

    @given(st.lists(finite, min_size=3, max_size=40), st.floats(0.01, 0.6), st.floats(0.8, 0.999))
    @settings(max_examples=60)
    def test_p_value_and_bound_agree(self, scores, threshold, confidence):
        """The p value is small exactly when the percentile bound lies below the threshold."""
        boot = sd_bootstrap(np.array(scores))
        tail = (1 - confidence) / 2
        crossing = (boot.draws >= threshold).sum()
        if len(boot.draws) and crossing and abs((1 + crossing) / 2001 - tail) > 1e-9:
            assert (boot.p_below(threshold) <= tail) == (boot.interval(confidence, bca=False).hi < threshold)


class TestSpread:
    @given(st.lists(finite, min_size=2, max_size=50))
    def test_sample_sd_divides_by_one_less(self, values):
        """It is numpy's with ddof=1."""
        assert ws.sample_sd(np.array(values)) == pytest.approx(np.std(values, ddof=1), abs=1e-12)

    def test_constant_has_no_sd_at_all(self):
        """Exactly zero, not rounding noise."""
        assert ws.sample_sd(np.full(1000, 0.1)) == 0

    def test_one_value_has_no_sd(self):
        """NaN, without a warning."""
        assert math.isnan(ws.sample_sd(np.ones(1)))

    def test_the_ends_of_floats_overflow_nowhere(self):
        """Mean, interval, sd and quantiles of plus and minus 1e308, without a warning."""
        values = np.array([-1e308, 1e308, 1e308, -1e308])
        assert ws.mean(values) == 0
        assert ws.mean_interval(values).lo <= 0 <= ws.mean_interval(values).hi
        assert ws.quantiles(values) == [-1e308, 0, 1e308]
        assert ws.sample_sd(values) == pytest.approx(1e308 * np.std([-1, 1, 1, -1], ddof=1))

    def test_no_values_have_no_quantiles(self):
        """As many NaN as were asked for."""
        assert ws.quantiles(np.array([]), (0.1, 0.9)) == pytest.approx([math.nan] * 2, nan_ok=True)

    def test_quantiles_interpolate(self):
        """Type 7, numpy's default."""
        assert ws.quantiles(np.array([0.0, 1.0])) == [0.25, 0.5, 0.75]

    def test_levels_are_hill_numbers(self):
        """Even use of k levels counts k, but for the small-sample correction."""
        assert levels(np.full(50, 0.3)) == 1
        assert levels(np.tile([0.0, 1.0], 5000)) == pytest.approx(2, abs=0.001)
        assert levels(np.tile(np.arange(21) / 20, 500)) == pytest.approx(21, rel=0.01)

    def test_levels_match_scipy_entropy(self):
        """The exponential of scipy's entropy, plus Miller's term."""
        values = np.random.default_rng(8).choice([0.1, 0.5, 0.9], 400, p=[0.7, 0.2, 0.1])
        counts = spread.level_counts(values).sum(0)
        assert levels(values) == pytest.approx(math.exp(stats.entropy(counts) + 2 / 800))

    def test_icc_matches_the_analysis_of_variance(self):
        """ICC(1) out of scipy's F: (F - 1) / (F - 1 + k) for equal groups."""
        rng = np.random.default_rng(9)
        table = rng.random((30, 1)) + 0.5 * rng.random((30, 4))
        f = stats.f_oneway(*table).statistic
        assert icc(table.ravel(), np.repeat(np.arange(30), 4)) == pytest.approx((f - 1) / (f - 1 + 4))

    def test_icc_with_unequal_groups(self):
        """A worked case: groups (1, 2, 3) and (5, 7), by hand."""
        values, groups = np.array([1.0, 2, 3, 5, 7]), np.array([0, 0, 0, 1, 1])
        msb, msw, k = 19.2, 4 / 3, 5 - 13 / 5
        assert icc(values, groups) == pytest.approx((msb - msw) / (msb + (k - 1) * msw))

    @pytest.mark.parametrize("groups", [[0, 0, 0, 0], [0, 1, 2, 3]])
    def test_icc_is_unknown_without_groups_to_compare(self, groups):
        """One group, or groups of one, give NaN."""
        assert math.isnan(icc(np.array([0.1, 0.4, 0.2, 0.9]), np.array(groups)))

    def test_icc_of_constants_is_unknown(self):
        """Nothing varies, so nothing can be shared out."""
        assert math.isnan(icc(np.ones(8), np.repeat([0, 1], 4)))
