"""Summaries of parts add up to the summary of all."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from workbench.analysis.case import Case
from workbench.analysis.statistics import compact, sample_sd
from workbench.analysis.statistics.means import mean_interval, share
from workbench.core.grade import ErrorKind, Grade, GradeError
from workbench.core.grades import Grades
from workbench.report.selection import histogram
from workbench.run.overview import BUNDLES, GraderSummary, Moments

SCORES = st.one_of(st.sampled_from([0.0, 0.5, 1.0]), st.floats(-2, 7), st.sampled_from(["failed", "skipped"]))
ROWS = st.lists(st.tuples(SCORES, st.integers(-1, 1), st.integers(0, 40)), max_size=50)


def grades_of(rows):
    grades = Grades.empty(len(rows))
    for at, (score, *_) in enumerate(rows):
        if score == "failed":
            grades.put(at, Grade(error=GradeError(ErrorKind.RUNTIME, f"row {at}"), seconds=1.0))
        elif score == "skipped":
            grades.put(at, Grade())
        else:
            grades.put(at, Grade(score=score, seconds=0.5))
    return grades


def summary_of(rows):
    labels = np.array([label for _, label, _ in rows], np.int8)
    prompts = np.array([prompt for *_, prompt in rows], np.intp)
    return GraderSummary.of(Case("g", grades_of(rows), prompts, labels), prompts)


@settings(max_examples=60)
@given(ROWS, st.integers(0, 50))
def test_two_parts_are_the_whole(rows, cut):
    """Counts to the letter, sums but for rounding."""
    whole, parts = summary_of(rows), summary_of(rows[:cut]).merged(summary_of(rows[cut:]))
    for name in ("rows", "failed", "skipped", "scored", "counts", "errors", "isolation"):
        assert getattr(parts, name) == getattr(whole, name), name
    np.testing.assert_array_equal(parts.histogram.counts, whole.histogram.counts)
    np.testing.assert_allclose(parts.mean_interval(), whole.mean_interval(), atol=1e-6)
    assert parts.moments.mean == pytest.approx(whole.moments.mean)
    assert parts.moments.sd == pytest.approx(whole.moments.sd, nan_ok=True, abs=1e-9)
    assert parts.spent == pytest.approx(whole.spent, nan_ok=True)


@settings(max_examples=60)
@given(ROWS)
def test_the_whole_is_what_a_report_says(rows):
    """Of up to 4,096 prompts each is a bundle, and then the interval is that of `mean_interval`."""
    grades, whole = grades_of(rows), summary_of(rows)
    scored = grades.codes == 1
    scores, prompts = grades.scores[scored], np.array([prompt for *_, prompt in rows], np.intp)[scored]
    assert whole.rows == len(rows)
    assert whole.moments.mean == pytest.approx(scores.mean() if len(scores) else 0.0)
    assert whole.moments.sd == pytest.approx(sample_sd(scores), nan_ok=True, abs=1e-9)
    np.testing.assert_array_equal(whole.histogram.counts, histogram(grades).counts)
    np.testing.assert_array_equal(whole.histogram.edges, histogram(grades).edges)
    is_clustered = 0 < len(np.unique(prompts)) < len(prompts)
    if is_clustered:
        expected = mean_interval(scores, compact(prompts))
        np.testing.assert_allclose(whole.mean_interval(), expected, atol=1e-6)


def test_labels_over_bundles():
    """The share of bad rows that are accepted has the interval of a share over clusters."""
    draws = np.random.default_rng(1)
    rows = [
        (float(draws.random() < 0.3), int(draws.integers(0, 2)), int(draws.integers(0, 60)))
        for _ in range(400)
    ]
    bad = np.array([(score, prompt) for score, label, prompt in rows if label == 0])
    found, expected = (
        summary_of(rows).accepted_share(0),
        share(bad[:, 0] == 1, compact(bad[:, 1].astype(np.intp))),
    )
    assert found.value == pytest.approx(expected.value)
    np.testing.assert_allclose(found.interval(), expected.interval(), atol=1e-6)


def test_the_interval_of_many_prompts_is_as_wide_as_that_of_their_rows():
    """Bundles are a random division: their interval is that of `mean_interval` but for chance."""
    draws = np.random.default_rng(2)
    prompts = np.repeat(np.arange(20_000), 3)
    scores = (draws.random(60_000) < 0.2 + 0.5 * draws.random(20_000)[prompts]).astype(float)
    grades = Grades.empty(60_000)
    grades.scores[:], grades.codes[:] = scores, 1
    case = Case("g", grades, prompts, np.full(60_000, -1, np.int8))
    found = GraderSummary.of(case, prompts % BUNDLES).mean_interval()
    expected = mean_interval(scores, prompts)
    np.testing.assert_allclose(found, expected, atol=3e-4)
    assert (found.hi - found.lo) / (expected.hi - expected.lo) == pytest.approx(1, abs=0.05)


def test_scores_too_large_to_be_summed():
    """No interval and no sd, and no warning."""
    rows = [(1.7e308, -1, 0), (1.7e308, -1, 0), (-1.7e308, -1, 1)]
    found = summary_of(rows)
    assert np.isnan(found.mean_interval()).all()
    assert np.isnan(found.moments.sd)
    assert found.moments.high == 1.7e308
    assert Moments.of(np.zeros(0)).merged(found.moments) == found.moments


def test_an_example_of_each_error():
    """The first one."""
    found = summary_of([("failed", -1, 0), ("failed", -1, 1), (1.0, -1, 2)])
    assert found.errors == {"runtime": 2}
    assert found.examples == {"runtime": "row 0"}
