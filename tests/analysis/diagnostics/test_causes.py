"""Causes in the scores: each planted alone, named first with its rows, and silent on healthy graders."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import workbench as wb
from tests.analysis.diagnostics.conftest import make_grades

N = 300


class World:
    """300 rows with labels, writers, annotators and lengths, and the scores of a healthy grader."""

    def __init__(self, seed=0):
        rng = np.random.default_rng(seed)
        self.good = rng.random(N) < 0.5
        self.lengths = rng.integers(10, 300, N)
        self.frame = pd.DataFrame(
            {
                "prompt": [f"question {row}" for row in range(N)],
                "completion": ["x" * int(length) for length in self.lengths],
                "annotator": rng.choice(["ann", "bob", "cyd"], N),
                "writer": rng.choice(["m1", "m2"], N),
            }
        )
        self.scores = np.where(self.good, 0.8, 0.3) + rng.normal(0, 0.08, N)

    def report(self, scores, labels=None):
        samples = wb.read_samples(self.frame)
        labels = (self.good if labels is None else labels).tolist()
        return wb.Report(samples, {"g": make_grades(np.clip(scores, 0, 1))}, labels=labels)


@pytest.fixture(scope="module")
def world():
    """Rows to plant faults in."""
    return World()


def leading(report):
    return report.findings[0]


def test_length_is_named(world):
    """A score that rises with the length of the answer, among rows with one label."""
    finding = leading(world.report(world.scores + (world.lengths - 150) / 400))
    assert (finding.kind, finding.is_verdict) == ("follows-length", True)
    assert "rises with the completion length over 300 rows with the same label" in str(finding)
    assert len(world.frame["completion"][finding.rows[0]]) > len(world.frame["completion"][finding.rows[-1]])


def test_a_writer_is_named(world):
    """Its answers score a quarter higher than their labels deserve."""
    favoured = (world.frame["writer"] == "m1").to_numpy()
    findings = world.report(world.scores + 0.25 * favoured).findings
    (finding,) = (finding for finding in findings if finding.kind == "writer-bias")
    assert finding.is_verdict
    assert "biased towards writer 'm1'" in str(finding)
    assert favoured[list(finding.rows)].all()


def test_drift_is_named(world):
    """Scores that rise from the first row to the last."""
    finding = leading(world.report(world.scores + np.linspace(-0.3, 0.3, N)))
    assert (finding.kind, finding.rows[0]) == ("drifts", N - 1)


def test_a_pass_mark_in_the_wrong_place_is_named(world):
    """All scores halved: 0.5 accepts nothing, a mark between 0.2 and 0.3 tells good from bad."""
    report = world.report(world.scores / 2)
    finding = leading(report)
    assert finding.kind == "suboptimal-pass-threshold"
    assert "pass_threshold=0.5 is suboptimal: 0." in str(finding)
    assert {f.kind for f in report.findings if f.cause == "suboptimal-pass-threshold"} >= {
        "too-strict",
        "no-better-than-chance",
    }


def test_a_grader_with_its_own_verdict_has_no_pass_mark(world):
    """Then another mark would change nothing."""
    report = world.report(world.scores / 2)
    report.grades["g"].passed[:] = 0
    assert "suboptimal-pass-threshold" not in {finding.kind for finding in report.diagnose().findings}


def test_an_annotator_who_labels_upside_down_is_named(world):
    """And the grader is not blamed: what follows from the labels stands below."""
    turned = (world.frame["annotator"] == "bob").to_numpy()
    report = world.report(world.scores, world.good ^ turned)
    assert leading(report).kind == "annotator-disagrees"
    assert "annotator 'bob' disagrees with all others" in str(leading(report))
    assert turned[list(leading(report).rows)].all()
    assert {f.cause for f in report.findings[1:] if f.is_verdict} == {"annotator-disagrees"}


def test_where_nobody_agrees_no_annotator_is_blamed(world):
    """A reversed grader contradicts them all."""
    kinds = [finding.kind for finding in world.report(1 - world.scores).findings]
    assert "annotator-disagrees" not in kinds
    assert kinds[0] == "worse-than-chance"


def test_long_answers_that_are_good_are_no_bias():
    """Without labels, only a strong correlation with length is a finding; with them, what they explain is not."""
    world = World(1)
    lengths = np.where(world.good, 200, 50) + np.random.default_rng(2).integers(0, 60, N)
    world.frame["completion"] = ["x" * int(length) for length in lengths]
    assert "follows-length" not in {finding.kind for finding in world.report(world.scores).findings}


@pytest.mark.parametrize("seed", range(2, 14))
def test_healthy_graders_are_left_alone(seed):
    """No verdict on any of twelve."""
    world = World(seed)
    assert not [str(finding) for finding in world.report(world.scores).findings if finding.is_verdict]


def test_writers_of_better_answers_are_not_favoured():
    """Answers are compared with others of the same label."""
    rng = np.random.default_rng(0)
    world = World(3)
    good = rng.random(N) < np.where(world.frame["writer"] == "m1", 0.85, 0.3)
    report = world.report(np.where(good, 0.8, 0.2) + rng.uniform(-0.05, 0.05, N), good)
    assert not any(finding.is_verdict for finding in report.findings)


def test_rows_sorted_by_quality_do_not_drift():
    """A label of two values does not hold quality fixed: a note, since the label goes with the order too."""
    quality = np.sort(np.random.default_rng(0).random(N))
    report = World(3).report(quality, quality > 0.5)
    assert not any(finding.is_verdict for finding in report.findings)


def test_a_mark_between_two_scores_is_found_and_written_between_them():
    """0.9 for good rows and 0.6 for bad ones, in turns: the mark is between, and so is what the advice says."""
    good = np.arange(N) % 2 == 0
    finding = leading(World(3).report(np.where(good, 0.9, 0.6), good))
    assert finding.kind == "suboptimal-pass-threshold"
    assert "0.8 (0.6 to 0.9)" in str(finding)
    assert finding.advice.startswith("set pass_threshold=0.8,")


def test_scores_off_the_scale_explain_what_a_pass_mark_makes_of_them():
    """1 to 5 on a scale of 0 to 1: the scale is the cause, not the grader."""
    good = np.arange(N) % 2 == 0
    rows = wb.read_samples([{"prompt": str(row), "completion": "x"} for row in range(N)])
    report = wb.Report(
        rows, {"g": make_grades(np.where(good, 4.0, 1.0) + np.arange(N) // 2 % 2)}, labels=good.tolist()
    )
    assert report.findings[0].kind == "out-of-scale"
    assert {finding.cause for finding in report.findings[1:]} == {"out-of-scale"}
    assert not any(f.is_verdict for f in report.diagnose(scale=(1, 5)).findings)
