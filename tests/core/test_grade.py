"""A grade is scored, failed or skipped, and never two of them."""

import math
import pickle
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.core.grade import ErrorKind, Grade, GradeError, Status


@given(st.one_of(st.floats(allow_nan=False, allow_infinity=False), st.integers(-(2**1000), 2**1000)))
def test_finite_numbers_are_scores(number):
    """Every finite float or int is kept as a float."""
    grade = Grade(number)
    assert grade.status is Status.SCORED
    assert type(grade.score) is float
    assert grade.score == float(number)


@pytest.mark.parametrize("value", [True, False, "1", b"1", [1.0], 1j, Decimal(1), np.bool_(True), object()])
def test_what_is_no_number_is_refused_by_name(value):
    """A bool, text or object is a TypeError that shows the value."""
    with pytest.raises(TypeError, match="a score must be a number"):
        Grade(value)


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, 10**400, np.float32("nan")])
def test_what_is_not_finite_is_refused(value):
    """NaN, the infinities and numbers too large for a float are a ValueError."""
    with pytest.raises(ValueError, match="finite"):
        Grade(value)


@pytest.mark.parametrize("value", [np.float32(0.5), np.float64(0.5), Fraction(1, 2)])
def test_other_real_numbers_are_scores(value):
    """Real numbers of other libraries are numbers."""
    assert Grade(value).score == 0.5


def test_zero_is_a_score_and_none_is_a_skip():
    """No score is not zero."""
    assert Grade(0).status is Status.SCORED
    assert Grade().status is Status.SKIPPED
    assert Grade.skipped("not applicable").reasoning == "not applicable"


def test_failure_has_no_number():
    """A score and an error together are refused."""
    with pytest.raises(ValueError, match="scored or failed"):
        Grade(0.5, error=GradeError(ErrorKind.TIMEOUT, "late"))
    assert Grade.failed("timeout", "late").status is Status.FAILED


def test_unknown_error_kind_is_refused():
    """Kinds come from one vocabulary."""
    with pytest.raises(ValueError, match="nonsense"):
        Grade.failed("nonsense", "x")


def test_grades_pickle():
    """A grade survives pickling."""
    grade = Grade(0.5, reasoning="r", metadata={"a": 1})
    assert pickle.loads(pickle.dumps(grade)) == grade
