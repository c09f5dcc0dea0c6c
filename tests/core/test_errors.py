"""Errors say what, where, found, expected and the next step, and survive pickling."""

import pickle

import pytest

from workbench.core import errors


@pytest.mark.parametrize(
    "name", [name for name in errors.__all__ if name.endswith("Error") and name != "GradeError"]
)
def test_every_error_is_a_workbench_error(name):
    """One `except WorkbenchError` catches all of them."""
    assert issubclass(getattr(errors, name), errors.WorkbenchError)


def test_message_has_its_parts_in_order():
    """Parts stand on lines of their own, and unknown ones are left out."""
    error = errors.SamplesError("no column", where="a.csv", found="x, y", hint="map it")
    assert str(error) == "no column\n  where: a.csv\n  found: x, y\n  next step: map it"


def test_errors_pickle_whole():
    """A copy from another process reads the same."""
    error = errors.FormatError("bad", where="f", found="g", expected="h", hint="i")
    copy = pickle.loads(pickle.dumps(error))
    assert (type(copy), str(copy), copy.expected) == (errors.FormatError, str(error), "h")


def test_builtin_bases():
    """What is wrong with a value is a ValueError, what is wrong with the machine a RuntimeError."""
    assert issubclass(errors.ValidationError, ValueError)
    assert issubclass(errors.IsolationError, RuntimeError)
