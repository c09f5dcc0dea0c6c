"""Statistics against their definitions and against scipy and statsmodels."""

from __future__ import annotations

import math
from unittest import mock

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.proportion import proportion_confint

from workbench.analysis.statistics import (
    clopper_pearson,
    critical_value,
    effective_n,
    group_sums,
    growth_needed,
    holm,
    icc_of,
    level_counts,
    levels_of,
    mean,
    normal_score,
    quantiles,
    sample_sd,
    wilson,
)
from workbench.analysis.statistics.means import Share, mean_interval, share


def levels(values):
    return levels_of(level_counts(values).sum(0))


def icc(values, groups):
    return icc_of(group_sums(values, groups).sum(0))


finite = st.floats(0, 1, allow_nan=False)


class TestWilson:
    @given(st.integers(0, 500), st.integers(0, 500))
    def test_matches_statsmodels(self, k, extra):
        """Both ends equal those of statsmodels."""
        n = k + extra
        if n:
            assert wilson(k, n) == pytest.approx(proportion_confint(k, n, method="wilson"), abs=1e-9)

    @given(st.integers(0, 300), st.integers(0, 300), st.floats(0.5, 0.9999))
    def test_lies_within_zero_and_one_and_holds_the_share(self, k, extra, confidence):
        """Whatever the counts, 0 <= lo <= share <= hi <= 1."""
        lo, hi = wilson(k, k + extra, confidence=confidence)
        value = k / (k + extra) if k + extra else 0.5
        assert 0 <= lo <= value + 1e-12
        assert value - 1e-12 <= hi <= 1

    @given(st.integers(0, 200), st.integers(1, 200))
    def test_grows_with_hits(self, k, extra):
        """One hit more of the same n moves both ends up."""
        n = k + extra
        one, two = wilson(k, n), wilson(k + 1, n)
        assert two.lo >= one.lo
        assert two.hi >= one.hi

    def test_knows_nothing_of_no_rows(self):
        """No rows give the whole range."""
        assert wilson(0, 0) == (0, 1)
        assert Share(0, 0, 0.0).interval() == (0, 1)

    @pytest.mark.parametrize(("threshold", "n"), [(0.8, 16), (0.9, 35), (0.95, 73)])
    def test_all_at_the_ceiling_needs_so_many_rows(self, threshold, n):
        """The published minimum: n rows pass the threshold, one fewer does not."""
        assert wilson(n, n).lo > threshold
        assert wilson(n - 1, n - 1).lo <= threshold

    @pytest.mark.parametrize("arguments", [(3, 2), (-1, 2)])
    def test_refuses_impossible_counts(self, arguments):
        """More hits than rows, or fewer than none, are errors."""
        with pytest.raises(ValueError, match="between 0 and n"):
            wilson(*arguments)

    def test_refuses_impossible_confidence(self):
        """A confidence of 1 has no finite bound."""
        with pytest.raises(ValueError, match="confidence"):
            wilson(1, 2, confidence=1.0)


class TestClopperPearson:
    @given(st.integers(0, 300), st.integers(0, 300))
    def test_matches_statsmodels(self, k, extra):
        """Both ends equal those of statsmodels' exact interval."""
        n = k + extra
        if n:
            theirs = proportion_confint(k, n, method="beta")
            assert clopper_pearson(k, n) == pytest.approx(np.nan_to_num(theirs, nan=float(k == n)), abs=1e-9)

    def test_a_share_of_independent_rows_has_it(self):
        """Of three in twenty."""
        assert share(np.arange(20) < 3).interval() == clopper_pearson(3, 20)

    @pytest.mark.parametrize(("threshold", "n"), [(0.8, 17), (0.9, 36), (0.95, 72)])
    def test_all_at_the_ceiling_needs_so_many_rows(self, threshold, n):
        """So many rows pass the threshold, one fewer does not."""
        assert clopper_pearson(n, n).lo > threshold
        assert clopper_pearson(n - 1, n - 1).lo <= threshold

    @pytest.mark.parametrize("arguments", [(3, 2), (-1, 2)])
    def test_refuses_impossible_counts(self, arguments):
        """More hits than rows, or fewer than none, are errors."""
        with pytest.raises(ValueError, match="between 0 and n"):
            clopper_pearson(*arguments)


class TestRowsNeeded:
    @given(st.floats(1e-9, 0.5), st.floats(1e-5, 0.1))
    def test_grow_as_the_tail_shrinks(self, p, tail):
        """A stricter level takes more rows, and no plan is made of an effect that may be nothing."""
        growth, stricter = growth_needed(p, tail), growth_needed(p, tail / 2)
        assert growth is None or growth <= 20
        if stricter is not None:
            assert growth is not None
            assert stricter > growth

    def test_nothing_is_planned_by_a_weak_effect(self):
        """One standard error is what luck alone gives."""
        assert growth_needed(0.16, 0.025) is None
        assert growth_needed(1.0, 0.025) is None
        assert growth_needed(0.03, 0.025) == pytest.approx(((1.2816 + 1.95996) / 0.88079) ** 2, rel=1e-3)

    @pytest.mark.parametrize(("truth", "n"), [(0.2, 20), (0.3, 20), (0.15, 50)])
    def test_the_verdict_then_comes(self, truth, n):
        """With the planned rows a share above 0.05 is shown in nine of ten cases, over all plans made."""
        rng = np.random.default_rng(3)
        plans = [
            (needed, rng.binomial(n + needed, truth))
            for k in rng.binomial(n, truth, 400)
            if (needed := Share(int(k), n, n).needed_above(0.05, 0.99))
        ]
        came = [Share(int(k), n + more, n + more).interval(0.99).lo > 0.05 for more, k in plans]
        assert len(came) > 20
        assert np.mean(came) >= 0.9

    def test_is_none_where_no_number_would_do(self):
        """A share at the threshold never passes it."""
        assert Share(9, 10, 10).needed_above(0.9) is None

    def test_prompts_are_counted_where_rows_share_them(self):
        """Twelve prompts of ten rows: more prompts are asked for, not more rows."""
        flags, groups = np.repeat([1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0], 10) == 1, np.repeat(np.arange(12), 10)
        assert 0 < share(flags, groups).needed_above(0.05, 0.99) <= 19 * 12

    @given(st.lists(st.booleans(), min_size=1, max_size=60), st.floats(0.05, 0.95))
    def test_a_share_needs_none_exactly_when_it_has_passed(self, flags, threshold):
        """`needed_above` is 0 if and only if the lower end is above the threshold."""
        result = share(np.array(flags))
        assert (result.needed_above(threshold) == 0) == (result.interval().lo > threshold)

    @given(st.lists(st.booleans(), min_size=1, max_size=60), st.floats(0.05, 0.95), st.floats(0.8, 0.999))
    def test_p_value_and_bound_agree(self, flags, threshold, confidence):
        """The one-sided p value is small exactly when the bound passes, clustered or not."""
        for groups in (None, np.arange(len(flags)) // 2):
            result = share(np.array(flags), groups)
            p, lo = result.p_above(threshold), result.interval(confidence).lo
            if abs(lo - threshold) > 1e-7:
                assert (p < (1 - confidence) / 2) == (lo > threshold)


class TestClusters:
    def test_rows_alone_are_worth_themselves(self):
        """Groups of one change nothing, to the last bit."""
        flags = np.arange(50) % 3 == 0
        assert share(flags, np.arange(50)) == share(flags)

    def test_copies_are_worth_one_row(self):
        """Ten copies of each row are worth the rows without copies."""
        values = np.random.default_rng(0).random(40)
        worth = effective_n(np.repeat(values, 10), np.repeat(np.arange(40), 10))
        assert worth == pytest.approx(40, rel=0.03)

    def test_worth_by_hand(self):
        """Six rows in three pairs: robust variance 1/12 over plain 1/20 leaves 3.6 rows."""
        values, groups = np.array([1.0, 1, 0, 0, 1, 0]), np.array([0, 0, 1, 1, 2, 2])
        assert effective_n(values, groups) == pytest.approx(3.6)

    def test_constants_are_worth_their_groups(self):
        """Constant rows cannot show how alike their groups are: one row a group is assumed."""
        assert effective_n(np.ones(40), np.repeat(np.arange(8), 5)) == pytest.approx(8)

    def test_one_group_is_one_row(self):
        """Rows of one prompt say as much about other prompts as one row does."""
        interval = share(np.ones(100, bool), np.zeros(100, int)).interval()
        assert interval == pytest.approx(clopper_pearson(1, 1), abs=0.005)

    @given(st.floats(1, 500), st.floats(0.5, 0.9999))
    def test_critical_value_inverts_the_score(self, df, confidence):
        """Bound and p value are each other's inverse."""
        critical = critical_value(confidence, df)
        if math.isfinite(critical):
            assert normal_score(critical, df) == pytest.approx(critical_value(confidence, math.inf))

    @pytest.mark.parametrize("df", [1, 2, 3, 10, 100])
    def test_critical_value_is_students(self, df):
        """Scipy's t quantile, also for few clusters."""
        assert critical_value(0.95, df) == pytest.approx(stats.t.ppf(0.975, df))

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
            aware += share(flags, groups).interval().lo > 0.9
            naive += wilson(flags.sum(), 400).lo > 0.9
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
        assert [fires for fires, _ in holm(p)] == list(rejected)

    def test_one_alone_is_not_corrected(self):
        """One hypothesis is tested at the whole level."""
        assert holm([0.049]) == [(True, 0.05)]

    def test_nothing_gives_nothing(self):
        """No hypotheses, no results."""
        assert holm([]) == []


class TestSpread:
    @given(st.lists(finite, min_size=2, max_size=50))
    def test_sample_sd_divides_by_one_less(self, values):
        """It is numpy's with ddof=1."""
        assert sample_sd(np.array(values)) == pytest.approx(np.std(values, ddof=1), abs=1e-12)

    def test_constant_has_no_sd_at_all(self):
        """Exactly zero, not rounding noise."""
        assert sample_sd(np.full(1000, 0.1)) == 0

    def test_one_value_has_no_sd(self):
        """NaN, without a warning."""
        assert math.isnan(sample_sd(np.ones(1)))

    def test_the_ends_of_floats_overflow_nowhere(self):
        """Mean, interval, sd and quantiles of plus and minus 1e308, without a warning."""
        values = np.array([-1e308, 1e308, 1e308, -1e308] * 10)
        assert mean(values) == 0
        assert mean_interval(values).lo <= 0 <= mean_interval(values).hi
        assert quantiles(values) == [-1e308, 0, 1e308]
        assert sample_sd(values) == pytest.approx(1e308 * np.std([-1, 1] * 20, ddof=1))

    def test_no_values_have_no_quantiles(self):
        """As many NaN as were asked for."""
        assert quantiles(np.array([]), (0.1, 0.9)) == pytest.approx([math.nan] * 2, nan_ok=True)

    def test_quantiles_interpolate(self):
        """Type 7, numpy's default."""
        assert quantiles(np.array([0.0, 1.0])) == [0.25, 0.5, 0.75]

    def test_levels_are_hill_numbers(self):
        """Even use of k levels counts k, but for the small-sample correction."""
        assert levels(np.full(50, 0.3)) == 1
        assert levels(np.tile([0.0, 1.0], 5000)) == pytest.approx(2, abs=0.001)
        assert levels(np.tile(np.arange(21) / 20, 500)) == pytest.approx(21, rel=0.01)

    def test_levels_match_scipy_entropy(self):
        """The exponential of scipy's entropy, plus Miller's term."""
        values = np.random.default_rng(8).choice([0.1, 0.5, 0.9], 400, p=[0.7, 0.2, 0.1])
        counts = level_counts(values).sum(0)
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
