"""Columns of grades: rows start missing, and nothing missing ever reads as a score."""

import numpy as np

from workbench.core.grade import ErrorKind, Grade, GradeError, Status
from workbench.core.grades import Grades


def test_rows_start_missing():
    """A fresh column has no scores, and its rows read as cancelled."""
    grades = Grades.empty(3)
    assert (grades.n_scored, grades.n_failed, grades.n_skipped) == (0, 0, 0)
    assert grades[0].error.kind is ErrorKind.CANCELLED
    assert np.isnan(grades.scores).all()


def test_what_is_put_comes_back():
    """Every part of a grade is kept."""
    grades = Grades.empty(3)
    kept = [
        Grade(0.25, passed=True, reasoning="why", metadata={"k": 1}, seconds=0.5, tokens=7, cost=0.01),
        Grade.failed("runtime", "boom"),
        Grade.skipped("no"),
    ]
    for row, grade in enumerate(kept):
        grades.put(row, grade)
    assert list(grades) == kept
    assert grades.statuses.tolist() == [Status.SCORED, Status.FAILED, Status.SKIPPED]
    assert list(grades.take(np.array([2, 0]))) == [kept[2], kept[0]]
    assert list(grades.take(np.array([], int))) == []


def test_cut_off_rows_are_those_a_run_never_came_to():
    """Stopped, or with the budget spent: other failures were tried."""
    grades = Grades.empty(5)
    for row, kind in enumerate((ErrorKind.CANCELLED, ErrorKind.RUNTIME, ErrorKind.BUDGET)):
        grades.fail(row, GradeError(kind, "why"))
    grades.put(3, Grade(1.0))
    assert grades.cut_off == [0, 2]
    grades.finish()
    assert grades.cut_off == [0, 2, 4]


def test_failing_a_scored_row_takes_its_number():
    """A row never has both."""
    grades = Grades.empty(1)
    grades.put(0, Grade(1.0))
    grades.fail(0, GradeError(ErrorKind.SAMPLE, "unreadable"))
    assert np.isnan(grades.scores[0])
    assert grades[0].status is Status.FAILED


def test_finish_fails_only_missing_rows():
    """A stopped run keeps what it has."""
    grades = Grades.empty(4)
    grades.put_scores(0, np.array([1.0, np.nan]), seconds=0.1)
    grades.put(2, Grade.skipped())
    grades.finish()
    assert grades.statuses.tolist() == ["scored", "failed", "skipped", "failed"]
    assert grades.errors[3].kind is ErrorKind.CANCELLED


def test_repr_counts():
    """A column of grades shows how many of each, not their texts."""
    grades = Grades.empty(3)
    grades.put(0, Grade(1.0, reasoning="x" * 10_000))
    grades.put(1, Grade.failed("runtime", "boom"))
    assert repr(grades) == "Grades(3 rows: 1 scored, 1 failed, 0 skipped)"
