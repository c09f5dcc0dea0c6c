"""Roots between two points."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import brentq

from workbench.analysis.statistics.roots import root

SHAPES = {
    "line": lambda x, at: x - at,
    "cube": lambda x, at: (x - at) ** 3,
    "steep": lambda x, at: math.atan(1e6 * (x - at)),
    "tail": lambda x, at: math.exp(20 * (x - at)) - 1,
}


@given(st.sampled_from(sorted(SHAPES)), st.floats(0.001, 0.999), st.sampled_from([1e-3, 1e-9]))
def test_it_is_the_root_of_scipy(shape, at, xtol):
    """To the last bit, with as many evaluations."""
    calls = {"ours": 0, "theirs": 0}

    def counted(who):
        def f(x):
            calls[who] += 1
            return SHAPES[shape](x, at)

        return f

    assert root(counted("ours"), 0.0, 1.0, xtol=xtol) == brentq(counted("theirs"), 0.0, 1.0, xtol=xtol)
    assert calls["ours"] == calls["theirs"]


def test_a_root_at_an_end_is_that_end():
    """Without another step."""
    assert root(lambda x: x, 0.0, 1.0, xtol=1e-9) == 0.0
    assert root(lambda x: x - 1, 0.0, 1.0, xtol=1e-9) == 1.0


def test_points_with_one_sign_are_refused():
    """There may be no root."""
    with pytest.raises(ValueError, match="two signs"):
        root(lambda x: x + 1, 0.0, 1.0, xtol=1e-9)
