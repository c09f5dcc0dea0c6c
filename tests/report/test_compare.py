"""Two graders, or two versions of one, on the same rows: verdicts, labels, words."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from sklearn import metrics

import workbench as wb
from tests.report.test_report import NASTY, make_grades, make_samples
from workbench.analysis.statistics.confusion import accuracy_difference
from workbench.core.errors import ReportError
from workbench.core.grade import Grade
from workbench.report import Report, compare
from workbench.report.selection import within


def two(a, b, **rest):
    return Report(make_samples(len(a)), {"a": make_grades(a), "b": make_grades(b)}, **rest)


def verdicts(counts):
    """Scores of two pass-or-fail graders: numbers of rows accepted by both, only a, only b, neither."""
    return np.repeat([1.0, 1, 0, 0], counts), np.repeat([1.0, 0, 1, 0], counts)


class TestVerdicts:
    def test_table_and_test(self):
        """Who accepts what the other rejects, McNemar's exact p, kappa between the two."""
        a, b = verdicts((20, 4, 31, 45))
        comparison = two(a, b).compare("a", "b")
        told = comparison.verdicts
        assert (told.both, told.only_a, told.only_b, told.neither) == (20, 4, 31, 45)
        assert told.p == pytest.approx(stats.binomtest(4, 35).pvalue)
        assert comparison.kappa.value == pytest.approx(metrics.cohen_kappa_score(a, b))
        assert comparison.verdict == (
            "b accepts 31 rows that a rejects, and rejects 4 that a accepts (McNemar p < 0.00001); "
            "share accepted by b minus a +0.270 (95 % interval +0.154 to +0.381)."
        )
        gap = accuracy_difference(np.ones(100, bool), a == 1, b == 1)
        assert (told.difference.value, told.difference.interval) == (pytest.approx(0.27), gap.interval)

    def test_no_difference_is_not_claimed(self):
        """Four against six is chance."""
        comparison = two(*verdicts((20, 4, 6, 20))).compare("a", "b")
        assert comparison.verdict.startswith("no difference shown: b accepts 6 rows that a rejects")
        assert "p = 0.75" in comparison.verdict

    def test_the_same_verdicts_are_said_to_be(self):
        """Not "no difference": they accept the same rows, here."""
        assert two(*verdicts((5, 0, 0, 5))).compare("a", "b").verdict == (
            "a and b accept the same rows; share accepted by b minus a +0.000 (95 % interval -0.310 to +0.310)."
        )

    def test_prompts_are_not_taken_for_rows(self):
        """Ten completions per prompt with equal differences: the test is by prompt, as stated."""
        gaps = np.repeat([1, 1, 1, 1, 0, 0, 0], 10)
        report = Report(
            make_samples(70, per_prompt=10), {"a": make_grades(np.zeros(70)), "b": make_grades(gaps)}
        )
        comparison = report.compare("a", "b")
        assert "McNemar by prompt p = " in comparison.verdict
        assert comparison.verdicts.p > 0.01 > stats.binomtest(0, 40).pvalue

    def test_the_graders_own_verdict_counts(self):
        """A pass with a low score is accepted."""
        a = make_grades([0.2, 0.2], row0=Grade(0.2, passed=True))
        report = Report(make_samples(2), {"a": a, "b": make_grades([0.9, 0.9])})
        assert report.compare("a", "b").verdicts.only_b == 1


class TestScores:
    def test_a_shown_difference(self):
        """The interval leaves 0 out: higher, or lower from the other side."""
        rng = np.random.default_rng(0)
        a = rng.random(200) * 0.8
        b = a + 0.1 + rng.random(200) * 0.1
        report = two(a, b)
        assert report.compare("a", "b").verdict.startswith("b scores higher than a: +0.1")
        assert report.compare("b", "a").verdict.startswith("a scores lower than b: -0.1")

    def test_no_shown_difference(self):
        """The interval contains 0."""
        a, b = np.random.default_rng(1).random((2, 60))
        comparison = two(a, b).compare("a", "b")
        assert comparison.verdict.startswith("no difference shown: b minus a is ")
        assert comparison.spearman == pytest.approx(stats.spearmanr(a, b).statistic)

    def test_equal_scores(self):
        """Every row the same."""
        a = np.linspace(0, 1, 11)
        assert two(a, a).compare("a", "b").verdict == "a and b give all 11 rows the same score."

    @pytest.mark.parametrize("n", [0, 1, 3])
    def test_few_rows(self, n):
        """No row, or a handful: a sentence without NaN, and no warning."""
        comparison = two(np.full(n, 0.3), np.full(n, 0.6), labels=[True] * n).compare("a", "b")
        assert "nan" not in f"{comparison.verdict} {comparison._repr_html_()}".lower()
        assert comparison.joint.counts.sum() == n


class TestLabels:
    def test_the_closer_one_is_named(self):
        """Right on 90 of 100 rows against 60."""
        labels = np.arange(100) % 2 == 0
        a, b = labels ^ (np.arange(100) < 40), labels ^ (np.arange(100) >= 90)
        report = two(a.astype(float), b.astype(float), labels=labels.tolist())
        comparison = report.compare("a", "b")
        assert comparison.labels.difference.value == pytest.approx(0.3)
        assert "b is right on 90 % of 100 labelled rows and a on 60 %" in comparison.verdict
        assert comparison.verdict.endswith("so b is closer to the labels.")
        assert report.compare("b", "a").verdict.endswith("so b is closer to the labels.")

    def test_only_rows_both_judged_and_labelled_count(self):
        """A failed row and an unknown label are left out."""
        a = make_grades([1.0, 1.0, 0.0, 0.0], row0=Grade.failed("timeout", "slow"))
        report = Report(
            make_samples(4), {"a": a, "b": make_grades([1, 1, 1, 1])}, labels=[True, True, False, None]
        )
        comparison = report.compare("a", "b").labels
        assert comparison.difference.n == 2
        assert (comparison.a.k, comparison.b.k) == (2, 1)
        assert not comparison.difference.is_shown

    def test_without_labels_nothing_is_said(self):
        """No labels, or none on a compared row."""
        for labels in (None, [None, None]):
            comparison = two([1.0, 0.0], [1.0, 1.0], labels=labels).compare("a", "b")
            assert comparison.labels is None
            assert "label" not in f"{comparison} {comparison.verdict}"


class TestJoint:
    @settings(max_examples=40)
    @given(
        st.lists(
            st.tuples(*[st.one_of(st.integers(0, 20).map(lambda k: 0.05 * k), st.floats(-0.3, 1.4))] * 2),
            min_size=1, max_size=30,
        )
    )  # fmt: skip
    def test_every_cell_counts_the_rows_it_opens(self, rows):
        """A cell's count is that of the rows in both bins, edges and all."""
        a, b = np.array(rows).T
        comparison = two(a, b).compare("a", "b").joint
        for i, j in {(0, 0), (10, 10), (19, 19), *zip(*np.nonzero(comparison.counts), strict=True)}:
            inside = within(a, *comparison.a_edges[i : i + 2]) & within(b, *comparison.b_edges[j : j + 2])
            assert comparison.counts[i, j] == inside.sum()
        assert comparison.counts.sum() == len(rows)

    def test_does_not_grow_with_rows(self):
        """400 counts for any number of rows; bins are those of each grader's histogram."""
        a = make_grades(np.random.default_rng(2).random(500) * 3, row0=Grade.skipped())
        report = Report(make_samples(500), {"a": a, "b": make_grades(np.zeros(500))})
        comparison = report.compare("a", "b").joint
        assert comparison.counts.shape == (20, 20)
        assert comparison.counts.sum() == 499
        assert comparison.a_edges.tolist() == report.histograms["a"].edges.tolist()
        assert comparison.counts.sum(1).tolist() == report.histograms["a"].counts.tolist()


class TestVersions:
    def test_before_and_now(self):
        """One grader in two reports over the same samples; second less first."""
        before, now = (
            Report(
                make_samples(40), {"g": make_grades(np.full(40, score)), "other": make_grades(np.ones(40))}
            )
            for score in (0.4, 0.9)
        )
        comparison = compare(before, now, "g")
        assert (comparison.a, comparison.b) == ("g (before)", "g (now)")
        assert comparison.difference == pytest.approx(0.5)
        assert comparison.verdicts.only_b == 40

    def test_one_grader_needs_no_name(self):
        """Several do, and the error lists them."""
        one = Report(make_samples(2), {"g": make_grades([0, 1])})
        assert compare(one, one).difference == 0
        both = two([0.0], [1.0])
        with pytest.raises(ReportError, match="'a' or 'b'"):
            compare(both, both)

    def test_two_graders_of_one_report(self):
        """The same as the report's own method."""
        report = two([0.0, 1.0], [1.0, 1.0])
        assert str(compare(report, "a", "b")) == str(report.compare("a", "b"))
        with pytest.raises(ReportError, match="two graders"):
            compare(report, "a")

    def test_what_is_not_there_is_named(self):
        """A grader missing from either report, or other samples."""
        one, other = (Report(make_samples(1), {name: make_grades([1])}) for name in ("g", "h"))
        with pytest.raises(ReportError, match="in the earlier report"):
            compare(one, other, "h")
        with pytest.raises(ReportError, match="in the later report"):
            compare(one, other, "g")
        with pytest.raises(ReportError):
            compare(one, Report(make_samples(2), {"g": make_grades([1, 1])}), "g")

    def test_labels_of_either_report_count(self):
        """The first's where it has any, else the second's."""
        plain = Report(make_samples(2), {"g": make_grades([0, 1])})
        labelled = Report(make_samples(2), {"g": make_grades([1, 1])}, labels=[True, True])
        assert compare(plain, labelled).labels.b.k == 2


class TestLooks:
    def test_frame_waits_until_it_is_read(self):
        """Texts of all rows are put together on demand, in order of disagreement."""
        comparison = two([0.0, 0.5, 1.0], [0.1, 0.5, 0.2]).compare("a", "b")
        assert "frame" not in vars(comparison)
        assert comparison._repr_html_().count("What is") == 3
        assert "frame" not in vars(comparison)
        assert comparison.frame.index.tolist() == comparison.rows.tolist() == [2, 0, 1]

    def test_names_are_no_markup(self):
        """Neither in the sentences nor in the table."""
        report = Report(
            make_samples(2), {NASTY: make_grades([0, 1]), "b": make_grades([1, 1])}, labels=[True, False]
        )
        html = report.compare(NASTY, "b")._repr_html_()
        assert "<script" not in html
        assert "\u202e" not in html

    def test_symmetry(self):
        """Turned round, differences change sign and the tests stay."""
        rng = np.random.default_rng(3)
        report = two(*rng.random((2, 80)), labels=(rng.random(80) < 0.5).tolist())
        one, other = report.compare("a", "b"), report.compare("b", "a")
        assert one.difference == pytest.approx(-other.difference)
        assert one.verdicts.p == other.verdicts.p
        assert one.kappa.value == pytest.approx(other.kappa.value)
        assert one.spearman == pytest.approx(other.spearman)
        assert one.labels.difference.value == pytest.approx(-other.labels.difference.value)
        assert np.array_equal(one.joint.counts, other.joint.counts.T)
        assert not math.isnan(one.interval.lo)


@pytest.mark.parametrize("asked", [(wb.ExactMatch(), wb.Contains()), ("one", "two"), (None, "one")])
def test_graders_are_no_reports(asked):
    """A common first attempt: the hint states how to run them."""
    with pytest.raises(wb.errors.ReportError, match="compare takes reports, not graders"):
        wb.compare(*asked)


def test_a_grader_is_not_compared_with_itself():
    """Refused by name, with the known ones, and how two versions are compared; None is not a name."""
    report = Report(make_samples(4), {name: make_grades([0.0, 1.0, 1.0, 0.0]) for name in "ab"})
    for asked in (report.compare, lambda a, b: wb.compare(report, a, b)):
        with pytest.raises(ReportError, match="compared with itself") as refused:
            asked("a", "a")
        assert "found: 'a' twice" in str(refused.value)
        assert "expected: 'b'" in str(refused.value)
        assert "wb.compare(before, now, 'name')" in str(refused.value)
    with pytest.raises(ReportError, match="grader None"):
        report.compare(None, "a")


def test_one_row_in_words():
    """Neither "1 rows" nor an interval of NaN."""
    grades = {"a": make_grades([0.25]), "b": make_grades([7.5])}
    said = str(Report(make_samples(1), grades).compare("a", "b"))
    assert said.startswith("On 1 row b scores 7.250 higher than a on average (")
    assert "nan" not in said
    same = Report(make_samples(1), {name: make_grades([0.25]) for name in "ab"}).compare("a", "b")
    assert "score the same on average" in str(same)
    assert same.verdict == "a and b give the one row the same score."
