"""Columns of grades to diagnose."""

from __future__ import annotations

import numpy as np
import pytest

from workbench.core.grade import ErrorKind, GradeError
from workbench.core.grades import Grades


def make_grades(scores=(), *, failed=(), skipped=(), kind=ErrorKind.RUNTIME):
    """Scored rows, some of which are then failed or skipped."""
    values = np.array(scores, dtype=float)
    grades = Grades.empty(len(values))
    grades.put_scores(0, values, seconds=0.001)
    for row in failed:
        grades.fail(row, GradeError(kind, "it broke"))
    for row in skipped:
        grades.scores[row], grades.codes[row] = np.nan, 3
    return grades


@pytest.fixture
def graded():
    """Makes `Grades` out of scores."""
    return make_grades
