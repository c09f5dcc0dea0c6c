"""Findings on graders that do not agree with themselves, and on code that keeps state or draws by chance."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from workbench.analysis.diagnostics import diagnose
from workbench.core.grade import ErrorKind, GradeError
from workbench.graders.repeats import reduce_repeats


@pytest.fixture
def repeated(graded):
    """Makes `Grades` with repeats out of scores (r, n)."""
    return lambda scores: reduce_repeats([graded(line) for line in scores])


def kinds(grades, **settings):
    return {finding.kind: finding for finding in diagnose(grades, **settings)}


def judge(rng, n, flipping, repeats=3):
    """Verdicts of a judge that wavers on a share of the rows."""
    accepted = np.where(rng.random(n) < flipping, 0.5, rng.random(n) < 0.6)
    return (rng.random((repeats, n)) < accepted) * 1.0


def test_a_judge_that_wavers_is_inconsistent(repeated):
    """The share of rows that flip, with its interval; these rows are the evidence and no others."""
    scores = judge(np.random.default_rng(0), 200, 0.3)
    found = kinds(repeated(scores))["inconsistent"]
    flips = np.flatnonzero(np.ptp(scores, axis=0))
    assert (found.severity, found.value) == ("warning", pytest.approx(len(flips) / 200))
    assert found.interval.lo > 0.05
    assert sorted(found.rows) == list(flips)
    assert "get another verdict when they are graded 3 times" in str(found)


def test_scores_of_noise_are_inconsistent_although_no_verdict_flips(repeated):
    """All rows pass every time, but their order is drawn anew: the ICC tells, widest spread first."""
    scores = np.random.default_rng(1).uniform(0.6, 0.9, (3, 60))
    found = kinds(repeated(scores))["inconsistent"]
    assert found.statistic == "ICC"
    assert found.interval.hi < 0.75
    spans = np.ptp(scores, axis=0)
    assert found.rows[0] == np.argmax(spans)


@pytest.mark.parametrize("flipping", [0.0, 0.02])
def test_steady_graders_are_left_alone(repeated, flipping):
    """At most one of forty judges that waver on one row of fifty, or on none, gets a verdict."""
    rng = np.random.default_rng(2)
    alarms = sum(
        any(
            one.kind == "inconsistent" and one.severity != "note"
            for one in diagnose(repeated(judge(rng, n, flipping)))
        )
        for n in (30, 60, 120, 400)
        for _ in range(10)
    )
    assert alarms <= 1


def test_too_few_rows_are_a_note(repeated):
    """One flip in twelve rows is undecided, most of them are a verdict; of seven rows nothing is said."""
    scores = judge(np.random.default_rng(3), 12, 1.0)
    assert kinds(repeated(scores))["inconsistent"].severity == "warning"
    steady = np.tile([0.0, 1.0] * 6, (3, 1))
    steady[2, 0] = 1.0
    assert kinds(repeated(steady))["inconsistent"].undecided
    assert "inconsistent" not in kinds(repeated(scores[:, :7]))


def test_grades_without_repeats_say_nothing_of_noise(graded):
    """One grade a row shows no noise, whatever its scores."""
    assert "inconsistent" not in kinds(graded(np.random.default_rng(4).random(200)))


def test_failed_repeats_are_no_disagreement(repeated):
    """A repeat without a score is left out: rows that scored the same otherwise are steady."""
    scores = np.tile([0.0, 1.0], 30)[None].repeat(3, axis=0)
    grades = repeated(scores)
    second = grades.repeats[1]
    second.scores[:20], second.codes[:20] = np.nan, 2
    assert "inconsistent" not in kinds(grades)


def test_a_scale_of_ones_own(repeated):
    """On a scale of 1 to 5 the pass mark lies at 3, and the same wavering is found."""
    scores = 1 + 4 * judge(np.random.default_rng(5), 200, 0.3)
    assert kinds(repeated(scores), scale=(1, 5))["inconsistent"].severity == "warning"


@pytest.mark.parametrize(
    ("cause", "kind", "severity"), [("state", "keeps-state", "error"), ("chance", "uses-chance", "warning")]
)
def test_code_whose_scores_change_is_told(graded, cause, kind, severity):
    """As a fact, with the rows that changed and how many of those tried."""
    grades = replace(
        graded(np.tile([0.0, 1.0], 50)), unstable=cause, graded_again={3: True, 5: False, 9: True, 12: False}
    )
    found = kinds(grades)[kind]
    assert (found.severity, list(found.rows), found.n, found.value) == (severity, [3, 9], 4, 0.5)
    assert "2 of 4 rows graded again changed" in str(found)
    assert "keeps-state" not in kinds(replace(grades, unstable=""))


def test_rows_that_fail_when_they_are_repeated_are_a_finding(repeated):
    """A failure is no agreement: rows with a score of which a repeat has none."""
    scores = np.tile([0.0, 1.0] * 20, (3, 1))
    grades = repeated(scores)
    for row in range(10):
        grades.repeats[1].fail(row, GradeError(ErrorKind.RUNTIME, "it broke"))
    finding = kinds(grades)["fails-when-repeated"]
    assert finding.severity == "error"
    assert set(finding.rows) == set(range(10))
    assert "fails-when-repeated" not in kinds(repeated(np.tile([0.0, 1.0] * 20, (3, 1))))
