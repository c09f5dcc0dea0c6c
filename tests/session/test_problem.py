"""What went wrong, as a panel shows it."""

from __future__ import annotations

import pytest

from tests.widgets import using
from workbench.errors import SamplesError
from workbench.session.problem import Problem, as_html


def raised(error):
    """The problem of an error that was raised."""
    with pytest.raises(type(error)) as found:
        raise error
    return Problem.of(found.value, "Try")


def test_an_error_of_ours_speaks_for_itself():
    """What, found, expected and hint stand there as they are."""
    problem = raised(SamplesError("no such row", found="7", expected="0 to 3"))
    assert problem.what.splitlines()[0] == "no such row"
    assert "expected: 0 to 3" in problem.what


def test_any_other_error_says_its_kind_and_has_its_trace():
    """The class is told, the traceback is behind a fold."""
    shown = as_html(raised(ValueError("bad")))
    assert "ValueError: bad" in shown
    assert "<details><summary>traceback</summary>" in shown
    assert "in raised" in shown
    assert "role='alert'" in shown


def test_nothing_is_nothing():
    """No problem, no text."""
    assert as_html(None) == ""
    assert raised(KeyboardInterrupt()).what == "Interrupted."


def test_nothing_of_an_error_is_markup():
    """Message, traceback and place are text."""
    shown = as_html(Problem(using.NASTY, using.NASTY, using.NASTY))
    assert not any(tag in shown for tag in using.TAGS)
    assert "\u202e" not in shown
