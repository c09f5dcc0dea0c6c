"""Krippendorff's alpha: published values, missing votes, and an interval."""

import math

import numpy as np
import pytest

from workbench.analysis.statistics.resampling import krippendorff_alpha

N = math.nan
# Krippendorff 2011, "Computing Krippendorff's alpha-reliability", example C (four observers, twelve units, missing data).
PUBLISHED = np.array([
    [1, 2, 3, 3, 2, 1, 4, 1, 2, N, N, N],
    [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, N, 3],
    [N, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, N],
    [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, N],
]).T  # fmt: skip


def test_published_interval_alpha():
    """0.849 for the interval metric; the unit with one value does not count."""
    assert krippendorff_alpha(PUBLISHED).value == pytest.approx(0.849, abs=5e-4)


def test_published_binary_alpha():
    """0.095 for two observers of ten units (the same paper, example A)."""
    first, second = [0, 1, 0, 0, 0, 0, 0, 0, 1, 0], [1, 1, 1, 0, 0, 1, 0, 0, 0, 0]
    assert krippendorff_alpha(np.array([first, second], float).T).value == pytest.approx(0.095, abs=5e-4)


def test_it_does_not_depend_on_the_scale():
    """Scores times ten have the same alpha and interval."""
    several = np.tile(PUBLISHED, (4, 1))
    one, ten = krippendorff_alpha(several), krippendorff_alpha(10 * several + 3)
    assert one.value == pytest.approx(ten.value)
    assert list(one.interval()) == pytest.approx(list(ten.interval()))


@pytest.mark.parametrize("error", [0.0, 0.1, 0.3])
def test_the_interval_contains_the_truth(error):
    """In at least 90 of 100 draws at 60 rows; with equal votes it has a width."""
    rng = np.random.default_rng(5)

    def draw(n):
        return ((rng.random(n) < 0.5)[:, None] ^ (rng.random((n, 3)) < error)).astype(float)

    truth = krippendorff_alpha(draw(100_000)).value
    inside = [
        lo - 1e-9 <= truth <= hi + 1e-9
        for lo, hi in (krippendorff_alpha(draw(60)).interval() for _ in range(100))
    ]
    assert sum(inside) >= 90
    if not error:
        lo, hi = krippendorff_alpha(draw(60)).interval()
        assert (hi, lo < 0.97) == (1.0, True)


def test_no_spread_no_alpha():
    """Equal votes have no alpha; two rows that differ from forty have one without an interval."""
    assert math.isnan(krippendorff_alpha(np.ones((20, 3))).value)
    rare = np.zeros((40, 3))
    rare[:2] = 1
    found = krippendorff_alpha(rare)
    assert found.value == pytest.approx(1.0)
    assert math.isnan(found.interval().lo)
    assert math.isnan(krippendorff_alpha(np.full((5, 2), N)).value)
