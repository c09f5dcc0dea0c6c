"""What a case makes of one grader's grades."""

from __future__ import annotations

import numpy as np
import pytest

from workbench.analysis.case import Case


def case_of(grades, **rest):
    n = len(grades)
    return Case("g", grades, np.arange(n), np.full(n, -1, np.int8), **rest)


@pytest.mark.parametrize(("mark", "scale"), [(0.5, (0.0, 1.0)), (0.7, (0.0, 1.0)), (3.0, (1.0, 5.0))])
def test_a_score_at_the_pass_mark_accepts_the_row(graded, mark, scale):
    """The mark itself passes, the number just below it does not; a failed row is neither."""
    scores = [np.nextafter(mark, -np.inf), mark, np.nextafter(mark, np.inf), mark]
    case = case_of(graded(scores, failed=[3]), pass_threshold=mark, scale=scale)
    assert case.accepted.tolist() == [False, True, True]


def test_the_graders_own_verdict_comes_before_the_pass_mark(graded):
    """A row the grader passed itself is accepted whatever its score, and the other way round."""
    grades = graded([0.1, 0.9, 0.9])
    grades.passed[:2] = [1, 0]
    assert case_of(grades).accepted.tolist() == [True, False, True]
