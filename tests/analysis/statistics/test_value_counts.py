"""Counts of values: whatever the parts and their order, the same; exact for few values, near for many."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.analysis.statistics.group_scores import MAX_VALUES, ValueCounts

FINITE = st.floats(allow_nan=False, allow_infinity=False)


def merged(parts):
    found = ValueCounts()
    for part in parts:
        found = found.merged(ValueCounts.of(part))
    return found


@given(st.lists(FINITE, max_size=60), st.lists(st.integers(0, 60), max_size=4))
def test_few_values_are_counted_as_they_are(values, cuts):
    """As numpy counts them, and quantiles as numpy has them."""
    column = np.array(values, float)
    found = merged(np.split(column, sorted(cut for cut in cuts if cut <= len(column))))
    distinct, counts = np.unique(column, return_counts=True)
    np.testing.assert_array_equal(found.values, distinct)
    np.testing.assert_array_equal(found.counts, counts)
    assert found.is_exact
    assert found.precision == 0
    if len(column) and np.abs(column).max() < 1e100:
        np.testing.assert_allclose(
            found.quantiles([0, 0.1, 0.5, 1]), np.quantile(column, [0, 0.1, 0.5, 1]), rtol=1e-9
        )


@pytest.mark.parametrize("parts", [1, 2, 7, 40])
def test_many_values_lose_the_same_digits_whatever_the_parts(parts):
    """Negative ones, small ones and large ones."""
    draws = np.random.default_rng(3)
    column = draws.normal(size=3 * MAX_VALUES) * 10.0 ** draws.integers(-3, 3, 3 * MAX_VALUES)
    whole = ValueCounts.of(column)
    found = merged(np.array_split(draws.permutation(column), parts))
    assert len(found.values) <= MAX_VALUES
    assert not found.is_exact
    np.testing.assert_array_equal(found.values, whole.values)
    np.testing.assert_array_equal(found.counts, whole.counts)
    assert found.counts.sum() == len(column)


def test_quantiles_of_many_values_are_as_near_as_they_say():
    """Of scores spread over the scale: within a thousandth."""
    column = np.random.default_rng(5).random(300_000)
    found = ValueCounts.of(column)
    at = [0.01, 0.25, 0.5, 0.75, 0.99]
    exact = np.quantile(column, at)
    assert found.precision <= 1e-3
    assert (np.abs(np.array(found.quantiles(at)) - exact) <= found.precision * exact + 1e-4).all()


def test_no_values():
    """No quantile."""
    assert np.isnan(ValueCounts().quantiles()).all()
    assert len(ValueCounts.of(np.zeros(0)).merged(ValueCounts()).values) == 0


def test_a_zero_with_a_sign_is_a_zero():
    """They are equal."""
    assert ValueCounts.of(np.array([0.0, -0.0])).counts.tolist() == [2]
