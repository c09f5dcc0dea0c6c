"""Mistakes of one subset, and scales of which two levels are in use."""

from __future__ import annotations

import numpy as np
import pandas as pd

import workbench as wb
from tests.analysis.diagnostics.conftest import make_grades


def report(scores, labels, topics):
    rows = pd.DataFrame(
        {"prompt": [f"q{row}" for row in range(len(scores))], "completion": "x", "topic": topics}
    )
    return wb.Report(wb.read_samples(rows), {"g": make_grades(scores)}, labels=list(labels))


def find(findings, kind):
    return next((finding for finding in findings if finding.kind == kind), None)


class TestSubsets:
    def test_a_subset_that_the_whole_hides(self):
        """All 15 bad rows of one topic of many are accepted; of all bad rows that is 3 %."""
        topics = np.repeat(["tax", "art", "law", "pet"], [15, 200, 200, 100])
        labels = np.zeros(515, bool)
        scores = np.where(topics == "tax", 1.0, 0.0)
        finding = find(report(scores, labels, topics).findings, "subset-mistakes")
        assert (finding.severity, set(finding.rows)) == ("warning", set(range(15)))
        assert "of 'tax' it accepts 15 of 15 known-bad rows, elsewhere 0 %" in str(finding)

    def test_mistakes_everywhere_are_no_subset(self):
        """Where the whole is too lenient, that is said."""
        topics = np.tile(["a", "b"], 60)
        findings = report(np.ones(120), np.zeros(120, bool), topics).findings
        assert find(findings, "subset-mistakes") is None
        assert find(findings, "too-lenient")

    def test_healthy_topics_are_left_alone(self):
        """Three percent of mistakes in twenty topics: at most one alarm in 40 reports."""
        rng, alarms = np.random.default_rng(0), 0
        for _ in range(40):
            labels = rng.random(400) < 0.5
            scores = (labels ^ (rng.random(400) < 0.03)) * 1.0
            topics = rng.integers(0, 20, 400).astype(str)
            found = find(report(scores, labels, topics).findings, "subset-mistakes")
            alarms += found is not None and found.is_verdict
        assert alarms <= 1


class TestLevels:
    def test_a_rubric_stuck_on_two_levels(self):
        """3 and 4 of 1 to 5."""
        scores = np.random.default_rng(0).choice([3.0, 4.0], 120)
        findings = wb.Report(
            wb.read_samples([{"prompt": str(row), "completion": "x"} for row in range(120)]),
            {"g": make_grades(scores)},
            scale=(1, 5),
        ).findings
        finding = find(findings, "few-levels")
        assert finding.severity == "warning"
        assert "uses two levels of 5: 100 % of 120 scores are 3 or 4" in str(finding)

    def test_a_rubric_in_use_is_fine(self):
        """And so is one that gives the lowest and the highest only: that is a verdict."""
        rows = wb.read_samples([{"prompt": str(row), "completion": "x"} for row in range(150)])
        for scores in (np.tile([1.0, 2, 3, 4, 5], 30), np.tile([1.0, 5.0], 75)):
            findings = wb.Report(rows, {"g": make_grades(scores)}, scale=(1, 5)).findings
            assert find(findings, "few-levels") is None
