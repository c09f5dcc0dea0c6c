"""Agreement of a grader with labels, and of people with each other: numbers, verdict, words, looks."""

from __future__ import annotations

import math
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn import metrics

from tests.report.test_report import NASTY, make_grades, make_samples
from workbench.analysis.diagnostics import diagnose
from workbench.analysis.statistics import clopper_pearson
from workbench.core.errors import ReportError
from workbench.core.grade import Grade
from workbench.report import Report
from workbench.report.agreement import Agreement, agreement

CELLS = (25, 5, 2, 18)  # accepted good, rejected good, accepted bad, rejected bad


def against(counts=CELLS, **rest):
    """A report of one pass-or-fail grader with these numbers of rows in each cell."""
    labels = np.repeat([True, True, False, False], counts).tolist()
    scores = np.repeat([0.9, 0.1, 0.8, 0.0], counts)
    return Report(make_samples(sum(counts)), {"g": make_grades(scores)}, labels=labels, **rest)


class TestNumbers:
    def test_cells_and_shares(self):
        """Counts of the four cells, and the shares of either class with Wilson's interval."""
        result = against().agreement()
        cells = (result.accepted_good, result.rejected_good, result.accepted_bad, result.rejected_bad)
        assert cells == CELLS
        assert (result.n, result.unlabelled, result.unscored) == (50, 0, 0)
        assert result.sensitivity.interval() == pytest.approx(clopper_pearson(25, 30))
        assert result.coverage.interval() == pytest.approx(clopper_pearson(18, 20))
        assert result.false_failure_rate.interval() == pytest.approx(clopper_pearson(5, 30))
        assert result.alignment == pytest.approx(2 * 0.9 * (25 / 30) / (0.9 + 25 / 30))
        assert result.kappa.value == pytest.approx(43 / 50 * 2 - 1, abs=0.02)

    def test_matches_scikit_learn(self):
        """Kappa of verdicts, AUROC of scores."""
        rng = np.random.default_rng(0)
        labels, scores = rng.random(90) < 0.6, rng.random(90).round(1)
        report = Report(make_samples(90), {"g": make_grades(scores)}, labels=labels.tolist())
        result = report.agreement("g")
        assert result.kappa.value == pytest.approx(metrics.cohen_kappa_score(labels, scores >= 0.5))
        assert result.auroc == pytest.approx(metrics.roc_auc_score(labels, scores))
        assert result.auroc_interval.lo < result.auroc < result.auroc_interval.hi

    def test_only_rows_with_both_count(self):
        """A failed row has no verdict and an unknown label is not a label; both are counted separately."""
        grades = make_grades([1.0, 1.0, 0.0, 1.0], row0=Grade.failed("timeout", "slow"))
        report = Report(make_samples(4), {"g": grades}, labels=[True, True, False, None])
        result = report.agreement()
        assert (result.n, result.unlabelled, result.unscored) == (2, 1, 1)
        assert (result.accepted.k, result.accepted.n) == (2, 3)

    def test_the_graders_own_verdict_goes_before_its_score(self):
        """A row with a low score that the grader passes is accepted."""
        grades = make_grades([0.2, 0.2], row0=Grade(0.2, passed=True))
        report = Report(make_samples(2), {"g": grades}, labels=[True, False])
        assert report.agreement().observed.value == 1

    def test_the_pass_mark_is_the_reports(self):
        """On a scale of 1 to 5 with the mark at 4."""
        report = Report(
            make_samples(4), {"g": make_grades([5, 4, 3, 1])}, labels=[True, True, False, False],
            scale=(1, 5), pass_threshold=4.0,
        )  # fmt: skip
        assert report.agreement().observed.value == 1

    def test_prompts_widen_every_interval(self):
        """Completions of one prompt that are right or wrong together are one cluster."""
        rng = np.random.default_rng(1)
        labels = np.repeat(rng.random(40) < 0.5, 10)
        scores = np.where(np.repeat(rng.random(40) < 0.2, 10), ~labels, labels).astype(float)
        alone, shared = (
            Report(
                make_samples(400, per_prompt=size), {"g": make_grades(scores)}, labels=labels.tolist()
            ).agreement()
            for size in (1, 10)
        )
        assert shared.kappa.spread > 2 * alone.kappa.spread
        for name in ("observed", "sensitivity", "specificity"):
            one, two = (getattr(result, name).interval() for result in (alone, shared))
            assert two.hi - two.lo > 2 * (one.hi - one.lo)

    def test_the_pass_rate_is_corrected(self):
        """Of 1,000 rows accepted according to its error rates, 60 % are actually good."""
        labels = np.repeat([True, True, False, False], [54, 6, 8, 32]).tolist()
        scores = np.repeat([1.0, 0.0, 1.0, 0.0], [54, 6, 8, 32])
        many = Report(
            make_samples(1000), {"g": make_grades(np.tile(scores, 10))}, labels=labels + [None] * 900
        )
        result = many.agreement()
        assert result.accepted.value == pytest.approx(0.62)
        assert result.corrected.value == pytest.approx(0.6)
        assert result.corrected.interval().hi - result.corrected.interval().lo > 0.1


class TestVerdict:
    @pytest.mark.parametrize(
        ("counts", "verdict"),
        [
            ((50, 2, 2, 50), "agrees"),
            ((40, 30, 30, 40), "poor"),
            ((48, 9, 9, 48), "undecided: the interval of kappa contains 0.6"),
            ((25, 1, 1, 23), "undecided: about 50 more labels"),
            ((80, 20, 20, 80), "undecided: the interval of kappa contains 0.6"),
            ((81, 19, 20, 80), "undecided: the interval of kappa contains 0.6"),
            ((18, 2, 0, 0), "undecided: all 20 labels are good, and it takes some bad ones too"),
            ((0, 0, 2, 18), "undecided: all 20 labels are bad, and it takes some good ones too"),
            ((0, 0, 0, 0), "undecided: about 100 more labels"),
        ],
    )
    def test_needs_a_bound_and_a_hundred_labels(self, counts, verdict):
        """Agrees or poor only by a bound, from 100 labels; otherwise it states what is missing."""
        result = against(counts).agreement()
        assert result.verdict == verdict
        assert (result.needed == 0) == (verdict in {"agrees", "poor"})

    def test_poor_is_what_the_finding_says(self):
        """The finding about labels and this verdict read the same bound."""
        report = against((185, 12, 2, 3))
        assert report.agreement().verdict == "poor"
        kinds = {f.kind for f in diagnose(report, labels=report.labels) if f.severity == "warning"}
        assert "disagrees-with-labels" in kinds

    @settings(max_examples=60)
    @given(st.tuples(*[st.integers(0, 60)] * 4))
    def test_any_table_can_be_told(self, counts):
        """No table, however lopsided, crashes, warns or shows a NaN."""
        result = against(counts).agreement()
        said = f"{result} {result!r} {result.verdict} {result.lines} {result.table} {result._repr_html_()}"
        assert "nan" not in said.replace("NaN", "nan").lower()
        assert all(len(pair) == 2 and all(pair) for pair in result.lines + result.table)


class TestWords:
    def test_lines_are_short(self):
        """What the label panel shows, in order."""
        assert against().agreement().lines == [
            ("agreement", "0.86 of 50"),
            ("kappa", "0.72 (0.49 to 0.89)"),
            ("bad rejected", "18 of 20, 0.68 to 0.99"),
            ("good accepted", "25 of 30, 0.65 to 0.94"),
            ("needs", "50 more labels"),
        ]

    def test_lines_name_ac1_where_labels_are_lopsided(self):
        """Nearly all good: kappa is not shown alone."""
        assert [name for name, _ in against((160, 12, 8, 8)).agreement().lines] == [
            "agreement", "kappa", "AC1", "bad rejected", "good accepted", "verdict",
        ]  # fmt: skip

    def test_reads_as_sentences(self):
        """Who with whom, how far, what it means, and the two kinds of mistakes."""
        assert str(against().agreement(labeller="Ann")) == (
            "g agrees with Ann on 43 of 50 rows (95 % interval 73.3 % to 94.2 %), kappa 0.72 (0.49 to 0.89); "
            "undecided: about 50 more labels. Bad rows rejected: 18 of 20; good rows accepted: 25 of 30."
        )

    def test_says_that_there_are_no_labels(self):
        """Missing labels are not an error: a panel starts there."""
        result = Report(make_samples(3), {"g": make_grades([1, 0, 1])}).agreement()
        assert str(result) == "g and labels share no row with a verdict of both."
        assert result.lines[-1] == ("needs", "100 more labels")
        assert dict(result.lines)["agreement"] == "- of 0"

    def test_repr_is_short(self):
        """One line for a terminal."""
        assert repr(against().agreement()) == (
            "Agreement('g' with 'labels', n=50, kappa 0.72, undecided: about 50 more labels)"
        )

    def test_html_is_escaped_and_small(self):
        """Names are not markup, and the table does not grow with rows."""
        labels = [True, False] * 500
        report = Report(make_samples(1000), {NASTY: make_grades([1.0, 0.0] * 500)}, labels=labels)
        result = report.agreement(labeller="<img src=x onerror=alert(1)>")
        html = result._repr_html_()
        assert "<script" not in html
        assert "<img" not in html
        assert "\u202e" not in html
        assert len(re.sub(r"<style>.*?</style>", "", html, flags=re.DOTALL)) < 3_000
        html.encode()


class TestArguments:
    def test_one_grader_needs_no_name(self):
        """Several do, and the error lists them."""
        report = Report(make_samples(1), {"a": make_grades([1]), "b": make_grades([0])}, labels=[True])
        with pytest.raises(ReportError, match="'a' or 'b'"):
            report.agreement()
        assert report.agreement("b").grader == "b"

    def test_other_labels_may_be_given(self):
        """In any form the report takes; they go before its own."""
        report = Report(make_samples(2), {"g": make_grades([1, 0])}, labels=[True, False])
        assert report.agreement(labels=["bad", "good"]).observed.value == 0
        assert report.agreement().observed.value == 1

    def test_labels_may_be_a_column(self):
        """By its name in the samples."""
        with pytest.raises(ReportError, match="column 'sim'"):
            against().agreement(labels="sim")

    def test_wrong_labels_are_refused(self):
        """Not one a row, or no label at all."""
        with pytest.raises(ReportError, match="one entry per row"):
            against().agreement(labels=[True])


class TestWeights:
    """Rows with unequal weights: verification bias and its correction."""

    def half_and_half(self):
        """90 accepted and 10 rejected rows; all rejected and 10 accepted ones are labelled, 2 of each wrongly judged."""
        truth = np.repeat([True, False, True, False], [8, 2, 2, 8])
        labels = truth.tolist() + [None] * 80
        scores = np.repeat([1.0, 0.0, 1.0], [10, 10, 80])
        weights = np.repeat([9.0, 1.0, math.nan], [10, 10, 80])
        return Report(make_samples(100), {"g": make_grades(scores)}, labels=labels), weights

    def test_each_row_counts_for_what_it_stands_for(self):
        """Begg & Greenes by hand: 72 and 18 accepted rows, 2 and 8 rejected ones."""
        report, weights = self.half_and_half()
        result = report.agreement(weights=weights)
        assert result.is_weighted
        assert result.sensitivity.value == pytest.approx(72 / 74)
        assert result.specificity.value == pytest.approx(8 / 26)
        assert result.false_failure_rate.value == pytest.approx(2 / 74)
        assert result.base_rate.value == pytest.approx(0.74)
        assert result.observed.value == pytest.approx(0.8)
        truth, verdict = np.repeat([1, 0, 1, 0], [72, 18, 2, 8]), np.repeat([1, 1, 0, 0], [72, 18, 2, 8])
        assert result.kappa.value == pytest.approx(metrics.cohen_kappa_score(truth, verdict))
        assert result.corrected.value == pytest.approx(0.74)
        assert (result.n, result.accepted_good, math.isnan(result.auroc)) == (20, 8, True)
        assert "80 % of rows, by 20 labels weighted by how their rows were drawn" in str(result)
        assert "Bad rows rejected: 30.8 %; good rows accepted: 97.3 %." in str(result)
        assert dict(result.lines)["good accepted"].startswith("0.97 (")
        assert not report.agreement().is_weighted

    @pytest.mark.parametrize("weight", [1, 0.25, 7])
    def test_equal_weights_change_nothing(self, weight):
        """To the last digit, for any scale of the weights."""
        report = against()
        one, two = report.agreement(), report.agreement(weights=[weight] * 50)
        assert (one.lines, one.table, str(one)) == (two.lines, two.table, str(two))

    def test_a_stratum_without_a_mistake_is_not_taken_for_certain(self):
        """Zero good rows among 20 rejected ones that represent 900 still allow many."""
        truth, scores = np.repeat([True, False], [20, 20]), np.repeat([1.0, 0.0], [20, 20])
        report = Report(make_samples(40), {"g": make_grades(scores)}, labels=truth.tolist())
        result = report.agreement(weights=np.repeat([5.0, 45.0], 20))
        lo, hi = result.sensitivity.interval()
        assert (result.sensitivity.value, hi) == (1.0, 1.0)
        assert lo < 0.5 < report.agreement().sensitivity.interval().lo

    def test_prompts_count(self):
        """Rows of one prompt widen weighted intervals as they widen others."""
        rng = np.random.default_rng(1)
        labels = np.repeat(rng.random(40) < 0.5, 10)
        scores = np.where(np.repeat(rng.random(40) < 0.2, 10), ~labels, labels).astype(float)
        weights = np.where(scores == 1, 3.0, 1.0)
        alone, shared = (
            Report(
                make_samples(400, per_prompt=size), {"g": make_grades(scores)}, labels=labels.tolist()
            ).agreement(weights=weights)
            for size in (1, 10)
        )
        assert shared.kappa.spread > 2 * alone.kappa.spread
        assert shared.sensitivity.effective < alone.sensitivity.effective / 3

    @pytest.mark.parametrize(
        "weights", [[1.0], [0.0] * 50, [math.nan] * 50, [-1.0] * 50, [math.inf] * 50, ["x"] * 50, 3]
    )
    def test_wrong_weights_are_refused(self, weights):
        """One a row, each a number above 0 where there is a label."""
        with pytest.raises(ReportError, match="weight"):
            against().agreement(weights=weights)

    @settings(max_examples=60)
    @given(
        st.tuples(*[st.integers(0, 20)] * 4),
        st.lists(st.sampled_from([0.1, 1.0, 40.0]), min_size=80, max_size=80),
    )
    def test_any_weighted_table_can_be_told(self, counts, weights):
        """No table crashes, warns or shows a NaN, and every interval contains its value."""
        result = against(counts).agreement(weights=weights[: sum(counts)])
        said = f"{result} {result!r} {result.verdict} {result.lines} {result.table} {result._repr_html_()}"
        assert "nan" not in said.lower()
        for one in (result.sensitivity, result.specificity, result.observed, result.kappa, result.ac1):
            lo, hi = one.interval()
            assert math.isnan(one.value) or lo - 1e-9 <= one.value <= hi + 1e-9


class TestPeople:
    def test_two_columns(self):
        """Labels of two people, with gaps on either side."""
        a = ["good", "bad", None, True, 0, "", 1]
        b = [True, False, True, "bad", 0, None, "yes"]
        result = agreement(a, b, names=("Ann", "Ben"))
        assert isinstance(result, Agreement)
        assert (result.grader, result.other, result.n) == ("Ann", "Ben", 5)
        assert (result.unlabelled, result.unscored) == (0, 1)
        assert result.observed.k == 4
        assert math.isnan(result.auroc)

    def test_groups_widen(self):
        """Prompts count, also between people."""
        rng = np.random.default_rng(3)
        a = np.repeat(rng.random(30) < 0.5, 10)
        b = a ^ np.repeat(rng.random(30) < 0.2, 10)
        alone, shared = agreement(a, b), agreement(a, b, groups=np.repeat(np.arange(30), 10))
        assert shared.kappa.spread > 2 * alone.kappa.spread

    @settings(max_examples=40)
    @given(st.lists(st.tuples(*[st.sampled_from([True, False, None])] * 2), max_size=30))
    def test_kappa_is_the_same_from_either_side(self, rows):
        """Who comes first decides what is called the truth, not the agreement."""
        a, b = ([row[at] for row in rows] for at in (0, 1))
        one, two = agreement(a, b), agreement(b, a)
        assert (one.n, one.observed) == (two.n, two.observed)
        if not math.isnan(one.kappa.value + two.kappa.value):
            assert one.kappa.value == pytest.approx(two.kappa.value)

    def test_columns_must_be_equally_long(self):
        """Rows are matched by place."""
        with pytest.raises(ReportError, match="same length"):
            agreement([True], [True, False])
