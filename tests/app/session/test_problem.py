"""What went wrong, as the view shows it."""

from __future__ import annotations

import pytest

from workbench.app.session.action import Problem
from workbench.core.errors import SamplesError


def raised(error):
    """The problem of an error that was raised."""
    with pytest.raises(type(error)) as found:
        raise error
    return Problem.of(found.value, "Try")


def test_an_error_of_ours_speaks_for_itself():
    """What, found, expected and hint are included unchanged."""
    problem = raised(SamplesError("no such row", found="7", expected="0 to 3"))
    assert problem.what.splitlines()[0] == "no such row"
    assert "expected: 0 to 3" in problem.what


def test_any_other_error_says_its_kind_and_has_its_trace():
    """The message begins with the class, and the traceback names the origin."""
    problem = raised(ValueError("bad"))
    assert problem.what == "ValueError: bad"
    assert "in raised" in problem.trace
    assert raised(KeyboardInterrupt()) == Problem("Interrupted.", "", "Try")
