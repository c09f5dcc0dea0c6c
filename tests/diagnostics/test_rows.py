"""A grader that reads the labels, and answers that are copies."""

from __future__ import annotations

import numpy as np
import pytest

import workbench as wb
from tests.diagnostics.conftest import make_grades

N = 40
GOOD = [row % 2 == 0 for row in range(N)]


def report(source, *, answers=None, groups=None):
    rows = [
        {
            "prompt": f"q{row if groups is None else row // groups}",
            "completion": str(row) if answers is None else answers[row],
            "good": GOOD[row],
            "expected": "yes",
            "weak": GOOD[row] if row else not GOOD[row],
        }
        for row in range(N)
    ]
    grades = {"g": make_grades(np.array(GOOD) * 1.0)}
    return wb.Report(wb.read_samples(rows), grades, labels="good", sources={"g": source})


def kinds(report):
    return {finding.kind: finding for finding in report.findings}


def test_a_grader_that_reads_the_labels_is_told_so():
    """Its source names the column that the labels are in."""
    finding = kinds(report('async def grade(thread):\n    return float(thread.metadata["good"])\n'))[
        "reads-the-label"
    ]
    assert finding.severity == "error"
    assert "reads the column 'good', which holds the labels" in str(finding)


@pytest.mark.parametrize("text", ["", 'thread.metadata["expected"]', "thread.metadata['weak']", "good = 1"])
def test_others_are_not(text):
    """Another column, one that differs in a row, or the bare word."""
    assert "reads-the-label" not in kinds(report(text))


def test_copies_of_an_answer_are_counted():
    """Four answers to each prompt, two of them the same: a quarter of the rows are copies."""
    answers = [f"{row // 4} {row % 4 // 2 if row % 4 < 2 else row % 4}" for row in range(N)]
    finding = kinds(report("", answers=answers, groups=4))["copied-answers"]
    assert (finding.severity, len(finding.rows)) == ("note", 10)
    assert "10 of 40 rows repeat another answer to the same prompt word for word, 25 %" in str(finding)
    assert "copied-answers" not in kinds(report("", answers=["same"] * N))  # each to another prompt
