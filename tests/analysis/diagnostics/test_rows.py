"""A grader that reads the labels, and answers that are copies."""

from __future__ import annotations

import numpy as np
import pytest

import workbench as wb
from tests.analysis.diagnostics.conftest import make_grades

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
    assert "reads the label column 'good'" in str(finding)


@pytest.mark.parametrize(
    "text",
    [
        "",
        '"good" in thread.completion()',
        "x.good()",
        'thread.metadata["expected"]',
        "thread.metadata['weak']",
        "good = 1",
    ],
)
def test_others_are_not(text):
    """Another column, one that differs in a row, or the bare word."""
    assert "reads-the-label" not in kinds(report(text))


def test_copies_of_an_answer_are_counted():
    """Four answers to each prompt, two of them the same: a quarter of the rows are copies."""
    answers = [f"{row // 4} {row % 4 // 2 if row % 4 < 2 else row % 4}" for row in range(N)]
    finding = kinds(report("", answers=answers, groups=4))["copied-completions"]
    assert (finding.severity, len(finding.rows)) == ("note", 10)
    assert "10 of 40 rows repeat another completion of the same prompt exactly, 25 %" in str(finding)
    assert "copied-completions" not in kinds(report("", answers=["same"] * N))  # each to another prompt


def told(column, source, *, groups=None):
    """Findings about a grader that agrees with the labels and whose code names a column."""
    n = 200
    good = [row % 2 == 0 for row in range(n)]
    rows = [
        {
            "prompt": f"q{row if groups is None else row // groups}",
            "completion": str(row),
            "good": good[row],
            "told": column(row, good[row]),
        }
        for row in range(n)
    ]
    grades = {"g": make_grades(np.array(good) * 1.0)}
    return kinds(wb.Report(wb.read_samples(rows), grades, labels="good", sources={"g": source}))


def test_a_column_of_opposites_holds_the_labels_too():
    """True where the row is bad: it is the label, turned round."""
    assert "reads-the-label" in told(lambda _, good: not good, "float(not row.metadata['told'])")


@pytest.mark.filterwarnings("ignore:no reference was found")
@pytest.mark.parametrize(
    "column",
    [
        lambda row, good: (0.8 if good else 0.3) + row % 7 / 50,
        lambda row, good: "fine" if good else ("typo", "wrong")[row % 3 % 2],
    ],
)
@pytest.mark.parametrize("source", ["thread.metadata['told']", "return row.told", 'metadata.get("told")'])
def test_a_column_that_gives_the_labels_away_is_told(column, source):
    """A number, or a word, that alone tells good rows from bad ones, and that the code names."""
    finding = told(column, source)["reads-a-giveaway"]
    assert finding.severity == "warning"
    assert "reads the column 'told', which by itself predicts the labels of 200 of 200 rows" in str(finding)
    assert finding.interval.lo > 0.9
    assert "reads-a-giveaway" not in told(column, "return 1.0")


@pytest.mark.filterwarnings("ignore:no reference was found")
@pytest.mark.parametrize(
    "column",
    [
        lambda row, _: row,  # a number of its own for each row
        lambda row, _: f"name {row}",
        lambda row, _: row // 2 % 3,
        lambda row, good: good if row % 5 else not good,  # tells four of five
        lambda row, good: None,
    ],
)
def test_a_column_that_tells_little_is_not(column):
    """Names, positions, parts of the data, or a column that is often wrong."""
    assert not {"reads-a-giveaway", "reads-the-label"} & set(told(column, "thread.metadata['told']"))


@pytest.mark.filterwarnings("ignore:no reference was found")
def test_a_cell_of_the_same_prompt_gives_nothing_away():
    """The topic of a prompt, all of whose answers are good: what tells is the prompt, which holds one cell only."""
    finding = told(lambda row, good: f"{row // 2} {good}", "thread.metadata['told']", groups=2)
    assert "reads-a-giveaway" not in finding
