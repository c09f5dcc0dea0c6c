"""What came of the rows of one request."""

import pytest

from workbench.core.grade import ErrorKind, GradeError
from workbench.core.grades import Grades
from workbench.deploy.reward.grading import RewardGrades
from workbench.deploy.reward.trainer_rows import RewardRow
from workbench.deploy.serve.wire_forms import Outcomes


@pytest.mark.parametrize(
    ("row", "kind", "cut_off"),
    [(2, ErrorKind.CANCELLED, True), (0, ErrorKind.CANCELLED, False), (2, ErrorKind.TIMEOUT, False)],
)
def test_rows_whose_workers_were_ended_are_cut_off(row, kind, cut_off):
    """Of this request alone, and for no fault of the row's own: the server then says that it stops."""
    grades = Grades.empty(4)
    grades.fail(row, GradeError(kind, "why"))
    graded = RewardGrades([RewardRow] * 4, {"g": grades}, None, 0.1)
    outcomes = Outcomes(graded, grades, [None] * 4).part(1, 2)
    assert outcomes.cut_off is cut_off
