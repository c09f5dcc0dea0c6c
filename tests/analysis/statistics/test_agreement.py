"""Kappa, AC1, confusion, ranks and paired tests against scikit-learn, statsmodels and scipy."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from sklearn import metrics
from statsmodels.stats.contingency_tables import mcnemar as their_mcnemar
from statsmodels.stats.inter_rater import cohens_kappa
from statsmodels.stats.proportion import proportion_confint

from workbench.analysis.statistics.agreement import ac1, table, weighted_kappa
from workbench.analysis.statistics.agreement import kappa as kappa_of
from workbench.analysis.statistics.association import auroc, ranks, spearman
from workbench.analysis.statistics.confusion import (
    Confusion,
    PairedVerdicts,
    accuracy_difference,
    corrected_rate,
    mcnemar,
    paired_difference,
)
from workbench.analysis.statistics.means import Share
from workbench.analysis.statistics.resampling import bootstrap

relaxed = settings(max_examples=60)
pairs = st.lists(st.tuples(st.booleans(), st.booleans()), min_size=1, max_size=60)


def columns(drawn):
    a, b = np.array(drawn, dtype=bool).T
    return a, b


def rated(n=200, levels=3, seed=0, same=0.6):
    """Two columns of categories that agree beyond chance."""
    rng = np.random.default_rng(seed)
    a = rng.integers(0, levels, n)
    return a, np.where(rng.random(n) < same, a, rng.integers(0, levels, n))


def binary(n, kappa, base, rng):
    """Two columns of given kappa, both with the same share of ones."""
    both = base * base + kappa * base * (1 - base)
    cells = rng.multinomial(n, [1 - 2 * base + both, base - both, base - both, both])
    return np.repeat([0, 0, 1, 1], cells), np.repeat([0, 1, 0, 1], cells)


def width(interval):
    return interval.hi - interval.lo


class TestKappa:
    @pytest.mark.parametrize("levels", [2, 3, 5])
    def test_value_matches_scikit_learn(self, levels):
        """Plain and quadratically weighted kappa equal cohen_kappa_score."""
        a, b = rated(levels=levels)
        assert kappa_of(a, b, levels=levels).value == pytest.approx(metrics.cohen_kappa_score(a, b))
        theirs = metrics.cohen_kappa_score(a, b, weights="quadratic")
        assert weighted_kappa(a, b, levels=levels).value == pytest.approx(theirs)

    @pytest.mark.parametrize("levels", [2, 3, 5])
    def test_standard_error_matches_statsmodels(self, levels):
        """The error is that of Fleiss, Cohen & Everitt, plain and weighted."""
        a, b = rated(levels=levels)
        plain, weighted = cohens_kappa(table(a, b, levels=levels)), None
        assert kappa_of(a, b, levels=levels).error == pytest.approx(plain.std_kappa)
        weighted = cohens_kappa(table(a, b, levels=levels), wt="quadratic")
        assert weighted_kappa(a, b, levels=levels).error == pytest.approx(weighted.std_kappa)

    def test_interval_is_statsmodels_on_many_rows(self):
        """With 5,000 rows what is added to the table no longer shows."""
        a, b = rated(5_000, levels=2)
        theirs = cohens_kappa(table(a, b))
        assert kappa_of(a, b).interval() == pytest.approx((theirs.kappa_low, theirs.kappa_upp), abs=0.002)

    @pytest.mark.parametrize(("n", "half"), [(30, 0.29), (100, 0.16), (400, 0.08)])
    def test_half_width_at_kappa_point_six(self, n, half):
        """About the published half-widths for planning, at a base rate of one half."""
        cells = np.array([0.4, 0.1, 0.1, 0.4]) * n
        a, b = (np.repeat(codes, cells.astype(int)) for codes in ([0, 0, 1, 1], [0, 1, 0, 1]))
        assert width(kappa_of(a, b).interval()) / 2 == pytest.approx(half, abs=0.015)

    @pytest.mark.parametrize(("kappa", "base"), [(0.3, 0.5), (0.6, 0.8), (0.75, 0.9), (0.9, 0.8)])
    @pytest.mark.parametrize("n", [15, 40, 100])
    def test_coverage_is_near_its_name(self, n, kappa, base):
        """95 % intervals hold the true kappa in 91 % to 100 % of 400 tables, small and lopsided ones too."""
        rng, hits, made = np.random.default_rng(n), 0, 0
        for _ in range(400):
            result = kappa_of(*binary(n, kappa, base, rng))
            if not math.isnan(result.value):
                lo, hi = result.interval()
                hits, made = hits + (lo <= kappa <= hi), made + 1
        assert 0.91 <= hits / made <= 1.0

    def test_coverage_where_rows_share_prompts(self):
        """Eight answers a prompt, labels and mistakes alike within it: 300 intervals keep their name.

        The same rows taken for independent ones miss the truth far more often.
        """
        rng, aware, naive = np.random.default_rng(5), 0, 0
        groups = np.repeat(np.arange(50), 8)
        for _ in range(300):
            truth = np.repeat(rng.integers(0, 2, 50), 8)
            wrong = np.repeat(rng.random(50) < 0.2, 8)
            verdict = np.where(wrong, 1 - truth, truth)
            aware += _holds(kappa_of(truth, verdict, groups), 0.6)
            naive += _holds(kappa_of(truth, verdict), 0.6)
        assert 0.91 <= aware / 300 <= 0.99
        assert naive / 300 < 0.7

    def test_clusters_agree_with_the_cluster_bootstrap(self):
        """The error is what resampling whole prompts gives, within a tenth."""
        rng = np.random.default_rng(6)
        groups = np.repeat(np.arange(80), 5)
        truth = rng.integers(0, 2, 400)
        wrong = rng.random(400) < np.repeat(rng.beta(0.4, 1.6, 80), 5)
        verdict = np.where(wrong, 1 - truth, truth)
        cells = np.eye(4)[truth * 2 + verdict]
        boot = bootstrap(cells, _kappa_of, groups=groups)
        assert kappa_of(truth, verdict, groups).error == pytest.approx(boot.draws.std(), rel=0.1)

    def test_perfect_agreement_is_not_certain(self):
        """Twelve rows without a difference still leave room for some."""
        codes = np.arange(12) % 2
        result = kappa_of(codes, codes)
        assert result.value == 1
        assert result.interval().lo < 0.9
        assert result.interval().hi == 1

    @pytest.mark.parametrize("n", [0, 1, 20])
    def test_one_category_has_no_kappa(self, n):
        """Nothing but ones, or nothing at all: NaN with a reason, no warning."""
        result = kappa_of(np.ones(n, int), np.ones(n, int))
        assert math.isnan(result.value)
        assert math.isnan(result.interval().lo)
        assert result.reason in str(result)
        assert result.p_below(0.6) == 1
        assert result.needed(0.6) is None

    def test_a_constant_verdict_is_worth_nothing(self):
        """Accepting everything is chance: kappa 0, as scikit-learn says, with an interval."""
        result = kappa_of(np.arange(40) % 2, np.ones(40, int))
        assert result.value == pytest.approx(0)
        assert -0.5 < result.interval().lo < 0 < result.interval().hi < 0.5

    @relaxed
    @given(pairs)
    def test_is_symmetric_and_in_range(self, drawn):
        """Either column may come first; -1 <= lo <= kappa <= hi <= 1."""
        a, b = (column.astype(int) for column in columns(drawn))
        for statistic in (kappa_of, ac1):
            one, two = statistic(a, b), statistic(b, a)
            assert one.value == pytest.approx(two.value, nan_ok=True)
            assert one.interval() == pytest.approx(two.interval(), nan_ok=True)
            lo, hi = one.interval()
            assert math.isnan(one.value) or -1 - 1e-9 <= lo <= one.value <= hi <= 1 + 1e-9

    @relaxed
    @given(pairs, st.randoms(use_true_random=False))
    def test_order_of_rows_does_not_matter(self, drawn, random):
        """Shuffled rows give the same number."""
        shuffled = random.sample(drawn, len(drawn))
        one, two = (kappa_of(*(c.astype(int) for c in columns(rows))) for rows in (drawn, shuffled))
        assert one.interval() == pytest.approx(two.interval(), nan_ok=True)

    @relaxed
    @given(pairs, st.integers(2, 6))
    def test_clusters_never_narrow_the_interval(self, drawn, size):
        """Rows said to belong together never say more."""
        a, b = (column.astype(int) for column in columns(drawn))
        groups = np.arange(len(a)) // size
        for statistic in (kappa_of, ac1):
            alone, shared = statistic(a, b), statistic(a, b, groups)
            if not math.isnan(alone.value):
                assert shared.spread >= alone.spread - 1e-9 or shared.df < math.inf
                assert shared.error >= alone.error - 1e-12

    def test_one_prompt_carries_no_bound(self):
        """Rows of one prompt say nothing of other prompts: the whole range."""
        a, b = rated(60, levels=2)
        assert kappa_of(a, b, np.zeros(60, int)).interval() == (-1, 1)

    @relaxed
    @given(st.integers(0, 10_000), st.floats(-0.5, 0.95), st.floats(0.8, 0.999))
    def test_p_value_and_bound_agree(self, seed, threshold, confidence):
        """The p value is small exactly when the upper end lies below the threshold."""
        a, b = rated(80, levels=2, seed=seed)
        for groups in (None, np.arange(80) // 4):
            result = kappa_of(a, b, groups)
            hi = result.interval(confidence).hi
            if abs(hi - threshold) > 1e-9:
                assert (result.p_below(threshold) < (1 - confidence) / 2) == (hi < threshold)

    def test_rows_needed_decide(self):
        """The planned number of rows of the same kind leaves the threshold out, with rows to spare."""
        a, b = rated(100, levels=2, same=0.65)
        threshold = kappa_of(a, b).value + 2.2 * kappa_of(a, b).spread
        needed = kappa_of(a, b).needed(threshold, 0.99)
        assert needed > 100
        times = math.ceil((100 + needed) / 100)
        assert kappa_of(np.tile(a, times), np.tile(b, times)).needed(threshold, 0.99) == 0

    def test_few_prompts_have_students_interval(self):
        """Of three prompts of twenty rows: wider than that of sixty rows by Student's quantile and more."""
        a, b = rated(60, levels=2, same=0.8)
        alone, shared = kappa_of(a, b), kappa_of(a, b, np.arange(60) // 20)
        assert shared.df == 2
        assert -1 < shared.interval().lo < alone.interval().lo

    def test_no_number_of_rows_decides_a_tie(self):
        """A kappa at the threshold asks for nothing."""
        a, b = rated(100, levels=2)
        assert kappa_of(a, b).needed(kappa_of(a, b).value) is None


def _holds(found, truth):
    lo, hi = found.interval()
    return lo <= truth <= hi


def _kappa_of(sums):
    n = sums.sum(-1)
    seen = (sums[..., 0] + sums[..., 3]) / n
    down, across = (sums[..., 2] + sums[..., 3]) / n, (sums[..., 1] + sums[..., 3]) / n
    chance = down * across + (1 - down) * (1 - across)
    return (seen - chance) / (1 - chance)


class TestAc1:
    def test_published_example(self):
        """118 and 0 rows agreed on, 5 and 2 not: AC1 0.941 where kappa is -0.023 (Gwet 2002)."""
        a, b = np.repeat([1, 1, 0], [118, 5, 2]), np.repeat([1, 0, 1], [118, 5, 2])
        assert ac1(a, b).value == pytest.approx(0.9408, abs=5e-5)
        assert kappa_of(a, b).value == pytest.approx(-0.0234, abs=5e-5)

    @pytest.mark.parametrize("levels", [2, 4])
    def test_standard_error_matches_the_jackknife(self, levels):
        """Leaving out one row at a time gives the same error within 2 %."""
        a, b = rated(300, levels=levels)
        left = [ac1(np.delete(a, row), np.delete(b, row), levels=levels).value for row in range(300)]
        jackknife = math.sqrt(299 * np.var(left))
        assert ac1(a, b, levels=levels).error == pytest.approx(jackknife, rel=0.02)

    def test_is_kappa_where_classes_are_even(self):
        """Both columns half ones: chance is one half for either statistic."""
        a = np.repeat([0, 0, 1, 1], [40, 10, 10, 40])
        b = np.repeat([0, 1, 0, 1], [40, 10, 10, 40])
        assert ac1(a, b).value == pytest.approx(kappa_of(a, b).value)

    def test_one_category_agrees(self):
        """Unlike kappa it has a value where all rows are good, and an interval."""
        result = ac1(np.ones(30, int), np.ones(30, int))
        assert result.value == 1
        assert result.interval().lo < 0.97


class TestConfusion:
    @relaxed
    @given(pairs)
    def test_shares_match_scikit_learn(self, drawn):
        """TPR and TNR are the recalls of the two classes; agreement is the accuracy."""
        truth, verdict = columns(drawn)
        result = Confusion(truth, verdict)
        assert result.observed.value == pytest.approx(metrics.accuracy_score(truth, verdict))
        if truth.any():
            recall = metrics.recall_score(truth, verdict, zero_division=0)
            assert result.sensitivity.value == pytest.approx(recall)
            assert result.false_failures.value == pytest.approx(1 - recall)
        if not truth.all():
            recall = metrics.recall_score(~truth, ~verdict, zero_division=0)
            assert result.specificity.value == pytest.approx(recall)
        cells = [result.rejected_bad, result.accepted_bad, result.rejected_good, result.accepted_good]
        assert cells == table(truth.astype(int), verdict.astype(int)).ravel().tolist()

    def test_intervals_match_statsmodels(self):
        """The exact ones, where every row stands alone."""
        truth, verdict = np.repeat([True, False], [50, 30]), np.arange(80) % 5 > 0
        result = Confusion(truth, verdict)
        for one in (result.sensitivity, result.specificity, result.observed, result.base_rate):
            assert one.interval() == pytest.approx(proportion_confint(one.k, one.n, method="beta"))

    def test_prompts_widen_the_shares(self):
        """Mistakes that are alike within prompts count once a prompt."""
        truth = np.ones(200, bool)
        verdict = np.repeat(np.random.default_rng(0).random(25) < 0.7, 8)
        alone = Confusion(truth, verdict).sensitivity.interval()
        shared = Confusion(truth, verdict, np.repeat(np.arange(25), 8)).sensitivity.interval()
        assert width(shared) > 2 * width(alone)

    def test_alignment_is_the_harmonic_mean(self):
        """Of bad answers caught and good answers kept: 0.5 and 0.8 make 0.615."""
        truth = np.repeat([True, False], [10, 10])
        verdict = np.r_[np.arange(10) < 8, np.arange(10) < 5]
        assert Confusion(truth, verdict).alignment == pytest.approx(2 * 0.5 * 0.8 / 1.3)
        assert Confusion(truth, ~truth).alignment == 0

    @pytest.mark.parametrize("truth", [[], [True] * 12, [False] * 12])
    def test_labels_of_one_class_say_so(self, truth):
        """No labels, or labels of one class only: NaN with the reason, and no warning."""
        truth = np.array(truth, dtype=bool)
        result = Confusion(truth, np.arange(len(truth)) % 2 == 0)
        assert math.isnan(result.kappa.value)
        assert result.kappa.reason
        assert math.isnan(result.alignment)
        assert math.isnan(auroc(np.arange(len(truth), dtype=float), truth)[0])


class TestCorrectedRate:
    def test_value_is_rogan_and_gladen(self):
        """A raw rate of 0.83 at TPR 0.9 and TNR 0.8 stands for 0.9."""
        result = corrected_rate(_of(830, 1000), _of(90, 100), _of(80, 100))
        assert result.value == pytest.approx(0.9)
        assert width(result.interval()) / 2 == pytest.approx(0.08, abs=0.01)

    @pytest.mark.parametrize(("rate", "tpr", "tnr", "labels"), [(0.9, 0.9, 0.8, 30), (0.95, 0.98, 0.9, 15)])
    def test_coverage_is_near_its_name(self, rate, tpr, tnr, labels):
        """The interval allows for chance in judged and in labelled rows: 94 % to 100 % of 500 draws."""
        rng, hits = np.random.default_rng(1), 0
        for _ in range(500):
            judged = _of(rng.binomial(1000, rate * tpr + (1 - rate) * (1 - tnr)), 1000)
            result = corrected_rate(
                judged, _of(rng.binomial(labels, tpr), labels), _of(rng.binomial(labels, tnr), labels)
            )
            hits += _holds(result, rate)
        assert 0.94 <= hits / 500 <= 1

    def test_interval_by_hand(self):
        """Lang & Reiczigel's centre and spread, written out: 4 judged rows and 2 labels a class are added."""
        p, tpr, tnr = 832 / 1004, 91 / 102, 81 / 102
        rate, gain = (p + tnr - 1) / (tpr + tnr - 1), tpr + tnr - 1
        good, bad = tpr * (1 - tpr) / 102, tnr * (1 - tnr) / 102
        result = corrected_rate(_of(830, 1000), _of(90, 100), _of(80, 100))
        assert result.centre == pytest.approx(rate + 2 * 4 * (rate * good - (1 - rate) * bad))
        squares = p * (1 - p) / 1004 + rate**2 * good + (1 - rate) ** 2 * bad
        assert result.spread == pytest.approx(math.sqrt(squares) / gain)

    def test_stays_within_zero_and_one(self):
        """More accepted than the mistakes allow for is still at most all."""
        result = corrected_rate(_of(100, 100), _of(45, 50), _of(50, 50))
        assert result.value == 1
        assert 0 <= result.interval().lo <= result.interval().hi == 1

    @pytest.mark.parametrize(
        "shares",
        [
            ((50, 100), (55, 100), (60, 100)),
            ((5, 10), (1, 5), (1, 1)),
            ((0, 0), (9, 10), (9, 10)),
            ((5, 10), (0, 0), (9, 10)),
        ],
    )
    def test_a_grader_that_cannot_tell_is_refused(self, shares):
        """TPR + TNR below 1.2, or no labels of a class: NaN with a reason."""
        result = corrected_rate(*(_of(*one) for one in shares))
        assert math.isnan(result.value)
        assert result.reason


def _of(k, n):
    return Share(int(k), n, n)


class TestRanks:
    @relaxed
    @given(st.lists(st.integers(0, 5), min_size=1, max_size=40))
    def test_ranks_match_scipy(self, values):
        """Ties share the mean of their ranks."""
        assert ranks(np.array(values, float)).tolist() == stats.rankdata(values).tolist()

    def test_spearman_matches_scipy(self):
        """With ties and without."""
        rng = np.random.default_rng(0)
        for digits in (1, 8):
            a = rng.random(100).round(digits)
            b = (a + rng.random(100)).round(digits)
            assert spearman(a, b) == pytest.approx(stats.spearmanr(a, b).statistic)

    @pytest.mark.parametrize("values", [[], [1.0], [0.5] * 9])
    def test_constants_have_no_order(self, values):
        """NaN, without a warning."""
        assert math.isnan(spearman(np.array(values), np.arange(len(values), dtype=float)))

    def test_auroc_matches_scikit_learn(self):
        """With ties and without."""
        rng = np.random.default_rng(1)
        for digits in (1, 8):
            truth = rng.random(80) < 0.4
            scores = (truth * 0.3 + rng.random(80)).round(digits)
            area, (lo, hi) = auroc(scores, truth)
            assert area == pytest.approx(metrics.roc_auc_score(truth, scores))
            assert lo < area < hi

    def test_auroc_can_be_turned_round(self):
        """Scores that run the other way give 1 minus the area, and the interval mirrored."""
        rng = np.random.default_rng(2)
        truth, scores = rng.random(50) < 0.5, rng.random(50)
        area, (lo, hi) = auroc(scores, truth)
        other, (low, high) = auroc(-scores, truth)
        assert (other, low, high) == pytest.approx((1 - area, 1 - hi, 1 - lo))

    def test_a_perfect_order_is_not_certain(self):
        """Five good rows above five bad ones leave room below 1."""
        area, (lo, hi) = auroc(np.arange(10.0), np.arange(10) >= 5)
        assert area == hi == 1
        assert 0.5 < lo < 0.8

    def test_auroc_coverage(self):
        """95 % intervals hold the true area of two normals in 91 % to 99.5 % of 300 draws."""
        rng, hits = np.random.default_rng(3), 0
        truth = np.arange(50) < 20
        shift = math.sqrt(2) * stats.norm.ppf(0.85)
        for _ in range(300):
            lo, hi = auroc(rng.normal(0, 1, 50) + shift * truth, truth)[1]
            hits += lo <= 0.85 <= hi
        assert 0.91 <= hits / 300 <= 0.995

    def test_prompts_widen_the_area(self):
        """Rows copied within prompts narrow nothing."""
        rng = np.random.default_rng(4)
        truth = rng.random(40) < 0.5
        scores = truth * 0.3 + rng.random(40)
        plain = auroc(scores, truth)[1]
        copied = auroc(np.repeat(scores, 5), np.repeat(truth, 5), np.repeat(np.arange(40), 5))[1]
        assert width(copied) == pytest.approx(width(plain), rel=0.15)


class TestMcnemar:
    @relaxed
    @given(st.integers(0, 400), st.integers(0, 400))
    def test_matches_scipy_and_statsmodels(self, b, c):
        """The exact p value is the sign test's, and McNemar's of statsmodels; mid-p is half a mass less."""
        ours = mcnemar(b, c)
        assert ours == pytest.approx(their_mcnemar([[9, b], [c, 9]], exact=True).pvalue)
        if b + c:
            assert ours == pytest.approx(stats.binomtest(b, b + c).pvalue)
            less = stats.binom.pmf(min(b, c), b + c, 0.5)
            assert mcnemar(b, c, mid=True) == pytest.approx(
                min(1, 2 * stats.binom.cdf(min(b, c), b + c, 0.5) - less)
            )
        assert ours == mcnemar(c, b)

    def test_thousands_of_rows_overflow_nowhere(self):
        """2 to the power of 20,000 is no float."""
        assert mcnemar(9_800, 10_200) == pytest.approx(stats.binomtest(9_800, 20_000).pvalue, rel=1e-6)

    def test_negative_counts_are_refused(self):
        """A count below zero is an error."""
        with pytest.raises(ValueError, match="negative"):
            mcnemar(-1, 3)

    def test_verdicts_are_counted(self):
        """Four cells that add up, and the exact test of the two that differ."""
        a, b = (
            np.repeat([True, True, False, False], [5, 4, 31, 7]),
            np.repeat([True, False, True, False], [5, 4, 31, 7]),
        )
        result = PairedVerdicts(a, b)
        assert (result.both, result.only_a, result.only_b, result.neither) == (5, 4, 31, 7)
        assert result.p == mcnemar(4, 31)
        assert result.is_exact
        assert result.kappa.value == pytest.approx(metrics.cohen_kappa_score(a, b))

    def test_false_alarms_stay_rare_where_rows_share_prompts(self):
        """Ten answers a prompt that part alike: at most 5 % of 300 draws have p < 0.05; independent rows far more."""
        rng, aware, naive = np.random.default_rng(2), 0, 0
        groups = np.repeat(np.arange(40), 10)
        for _ in range(300):
            a = np.repeat(rng.random(40) < 0.5, 10)
            b = np.repeat(rng.random(40) < 0.5, 10)
            aware += PairedVerdicts(a, b, groups).p < 0.05
            naive += PairedVerdicts(a, b).p < 0.05
        assert aware / 300 <= 0.05
        assert naive / 300 > 0.3

    @relaxed
    @given(pairs, st.integers(1, 5))
    def test_p_values_are_p_values(self, drawn, size):
        """Within 0 to 1, the same from either side, whatever the prompts."""
        a, b = columns(drawn)
        groups = np.arange(len(a)) // size
        p = PairedVerdicts(a, b, groups).p
        assert 0 <= p <= 1
        assert PairedVerdicts(b, a, groups).p == pytest.approx(p)


class TestPairedDifference:
    def test_matches_scipy(self):
        """Of 400 rows the paired interval is scipy's BCa, but for the scores that were not seen."""
        rng = np.random.default_rng(0)
        a, b = rng.random(400), rng.random(400) * 0.8
        theirs = stats.bootstrap(
            (b - a,), np.mean, n_resamples=9999, method="BCa", rng=np.random.default_rng(1)
        ).confidence_interval
        ours = paired_difference(b - a)
        assert ours.value == pytest.approx(np.mean(b - a))
        assert tuple(ours.interval) == pytest.approx(tuple(theirs), abs=0.01)
        assert ours.interval.lo < theirs.low < theirs.high < ours.interval.hi

    def test_accuracy_of_two_graders(self):
        """One right on 90 of 100, the other on 70 of the same: 0.2 apart, and shown."""
        truth = np.arange(100) % 2 == 0
        a, b = truth ^ (np.arange(100) < 30), truth ^ (np.arange(100) >= 90)
        result = accuracy_difference(truth, a, b)
        assert result.value == pytest.approx(0.2)
        assert result.is_shown
        turned = accuracy_difference(truth, b, a)
        assert turned.value == pytest.approx(-0.2)
        assert turned.is_shown

    def test_equal_rows_are_not_certain(self):
        """No difference on ten rows does not prove that there is none."""
        result = paired_difference(np.zeros(10))
        assert result.interval.lo < -0.1
        assert result.interval.hi > 0.1
        assert not result.is_shown

    def test_nothing_to_compare(self):
        """No rows: NaN, nothing shown, no warning."""
        result = paired_difference(np.empty(0), np.empty(0, int))
        assert math.isnan(result.value)
        assert not result.is_shown
