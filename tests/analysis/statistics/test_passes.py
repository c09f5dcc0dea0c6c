"""pass@k, against the definition it is short for."""

from itertools import combinations
from math import isclose

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.analysis.statistics.group_scores import pass_at_k


@pytest.mark.parametrize(
    ("n", "correct", "k", "wanted"),
    [(5, 2, 1, 0.4), (3, 1, 3, 1.0), (10, 3, 5, 0.9166666666666666), (4, 0, 2, 0.0), (2, 1, 5, 1.0)],
)
def test_known_values(n, correct, k, wanted):
    """Values of the platform's own report."""
    assert pass_at_k(n, correct, k) == pytest.approx(wanted, abs=1e-15)


@given(st.integers(1, 8), st.data())
def test_it_is_the_share_of_draws_with_a_pass(n, data):
    """Counting every draw of k tries gives the same number."""
    correct, k = data.draw(st.integers(0, n)), data.draw(st.integers(1, n))
    draws = list(combinations([True] * correct + [False] * (n - correct), k))
    assert isclose(pass_at_k(n, correct, k), sum(map(any, draws)) / len(draws), abs_tol=1e-12)


@pytest.mark.parametrize(
    ("n", "correct", "k"), [(0, 0, 1), (3, -1, 1), (3, 4, 1), (3, 1, 0), (3.0, 1, 1), (True, 1, 1)]
)
def test_counts_out_of_range(n, correct, k):
    """Refused by name."""
    with pytest.raises(ValueError, match="must be"):
        pass_at_k(n, correct, k)
