"""Rows by conditions that are plain data."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import workbench as wb
from workbench.core.errors import ReportError
from workbench.report import cases
from workbench.report.plots import FIGURES
from workbench.report.where import condition_text, matching

ROWS = [
    {
        "id": f"r{n}",
        "prompt": f"Prompt {n}",
        "completion": "yes" if n % 2 else "No way",
        "expected": "yes" if n % 3 else "STRASSE",
    }
    for n in range(30)
]
LABELS = [None if n % 7 == 0 else n % 4 < 2 for n in range(30)]
REPORT = wb.Suite(
    [wb.Contains(expected="yes", name="a"), wb.ExactMatch(name="b"), wb.Length(maximum=3, name="c")]
).run(ROWS, labels=LABELS, progress=False)

SIMPLE = [
    {"grader": "a", "score": [0, 0.5]}, {"grader": "b", "score": [0.5, 1]}, {"grader": "a", "status": "scored"},
    {"grader": "a", "status": "failed"}, {"grader": "b", "passed": True}, {"grader": "c", "passed": False},
    {"label": True}, {"label": False}, {"label": None}, {"wrong": "a"}, {"wrong": "b"},
    {"apart": ["a", "b"], "least": 0.2}, {"apart": ["a", "c"], "least": 0}, {"verdicts": ["a", "b"], "are": [True, False]},
    {"text": "PROMPT 1"}, {"text": "straße"}, {"text": "yes"}, {"rows": [3, 1, 2, 29]}, {"rows": []},
]  # fmt: skip
CONDITIONS = st.recursive(
    st.sampled_from(SIMPLE),
    lambda inner: st.lists(st.lists(inner, max_size=3), max_size=3).map(lambda found: {"any": found}),
    max_leaves=6,
)


def rows(*conditions):
    """Row numbers."""
    return matching(REPORT, conditions).tolist()


@given(st.lists(CONDITIONS, max_size=4))
def test_conditions_are_intersections(conditions):
    """All must be met, in any order; no condition means every row; they survive JSON."""
    expected = set(range(30))
    for one in conditions:
        expected &= set(rows(one))
    found = rows(*conditions)
    assert set(found) == expected
    assert len(found) == len(expected)
    assert set(rows(*reversed(conditions))) == expected
    assert rows(*json.loads(json.dumps(conditions))) == found
    assert all(isinstance(condition_text(one), str) for one in conditions)


@given(st.lists(st.lists(CONDITIONS, max_size=2), max_size=3))
def test_any_is_the_union_of_its_choices(choices):
    """Rows that meet all conditions of one choice at least, each once, in order."""
    assert rows({"any": choices}) == sorted({row for one in choices for row in rows(*one)})


def test_each_condition_means_what_the_table_says():
    """By counting over the rows themselves."""
    yes = [n for n in range(30) if n % 2]
    assert rows({"grader": "a", "passed": True}) == yes
    assert rows({"grader": "a", "score": [0.5, 1]}) == yes
    assert rows({"label": None}) == [n for n in range(30) if n % 7 == 0]
    assert rows({"wrong": "a"}) == [
        n for n in range(30) if LABELS[n] is not None and LABELS[n] != bool(n % 2)
    ]
    assert rows({"text": "strasse"}) == rows({"text": "straße"}) == [n for n in range(30) if n % 3 == 0]
    assert rows({"rows": [5, 2]}) == [5, 2]
    assert rows({"label": True}, {"rows": [5, 2, 1]}) == [5, 1]
    assert rows({"verdicts": ["a", "b"], "are": [True, False]}) == [n for n in yes if n % 3 == 0]
    assert rows({"apart": ["a", "b"], "least": 1.0}) == rows({"verdicts": ["a", "b"], "are": [True, False]})


def test_labels_are_read_once_for_all_marks_of_a_figure(monkeypatch):
    """Twenty graders read a hundred thousand labels hundreds of times."""
    report = wb.Suite([wb.Contains(expected="o", name=name) for name in "abc"]).run(
        [{"prompt": "p", "completion": "o"}] * 20, progress=False, labels=[True, False] * 10
    )
    report = report.diagnose(labels=[True, False] * 10)
    read, read_labels = [], cases.read_labels
    monkeypatch.setattr(cases, "read_labels", lambda *given: read.append(1) or read_labels(*given))
    for name in ("labels", "differences"):
        FIGURES[name].draw(report, None)
    for condition in ({"label": True}, {"wrong": "a"}, {"grader": "b", "passed": True}):
        assert len(matching(report, [condition])) in {10, 20}
    report.compare("a", "b")
    assert len(read) == 1


def test_a_findings_rows_stand_in_its_order():
    """Evidence first to last, also if another condition is met."""
    report = wb.Suite([wb.Contains(expected="o", name="all")]).run(
        [{"prompt": "p", "completion": "o"} for _ in range(120)], progress=False
    )
    found = report.findings[0]
    one = {"finding": [found.grader, found.kind]}
    assert report.row_numbers(one).tolist() == list(found.rows)
    assert report.row_numbers({"label": None}, one).tolist() == list(found.rows)


@pytest.mark.parametrize(
    "bad",
    [
        3, "text", None, {}, {"other": 1}, {"grader": "a"}, {"text": "x", "more": 1}, {"grader": "no", "passed": True},
        {"grader": "a", "score": 3}, {"grader": "a", "score": ["x", 1]}, {"grader": "a", "score": [1]},
        {"grader": "a", "status": "odd"}, {"finding": ["a", "none"]}, {"finding": 3}, {"apart": ["a"], "least": 1},
        {"apart": ["a", "b"], "least": "x"}, {"rows": [99]}, {"rows": 3}, {"rows": ["x"]}, {"any": 3}, {"any": [3]},
        {"any": [[3]]}, {"verdicts": ["a", "b"], "are": [True]}, {"wrong": "no"}, {"wrong": []}, {"scaled_apart": ["a", "no"], "least": 1}, {"scaled_apart": ["a", "b"], "least": None},
    ],
)  # fmt: skip
def test_what_cannot_be_read_is_an_error_of_ours(bad):
    """A page may send anything: every wrong condition is named in a ReportError."""
    with pytest.raises(ReportError):
        matching(REPORT, [bad])


@pytest.mark.parametrize(
    ("condition", "words"),
    [
        ({"grader": "a", "score": [0.95, 1]}, "a: score 0.95 to 1"),
        ({"label": None}, "unlabelled"),
        ({"apart": ["a", "b"], "least": 0.2}, "a and b differ by at least 0.2"),
        ({"scaled_apart": ["a", "b"], "least": 0.5}, "a and b differ by at least 50 % of their scales"),
        ({"verdicts": ["a", "b"], "are": [True, False]}, "a accepts, b refuses"),
        ({"any": [[{"label": True}, {"wrong": "a"}], [{"rows": [1, 2]}]]}, "labelled good and a differs from the label, or 2 chosen rows"),
        ({"other": 1}, ""),
    ],
)  # fmt: skip
def test_conditions_in_words(condition, words):
    """The panel's text for them."""
    assert condition_text(condition) == words


def test_a_report_of_no_rows():
    """Nothing meets anything."""
    report = wb.Suite([wb.Contains(expected="x", name="a")]).run(
        wb.read_samples(ROWS).head(0), progress=False
    )
    for one in ({"grader": "a", "passed": True}, {"text": "x"}, {"label": None}, {"any": [[]]}):
        found = report.row_numbers(one)
        assert found.tolist() == []
        assert found.dtype == np.intp
