"""A bootstrapped statistic against a threshold: how many more rows it asks for."""

from __future__ import annotations

from math import nan

import numpy as np
import pytest

from workbench.diagnostics.claim import bootstrap_claim
from workbench.diagnostics.finding import Finding, Severity
from workbench.statistics.means import sd_bootstrap

ROWS = 40
FINDING = Finding("g", "no-variance", Severity.WARNING, "sd", nan, None, ROWS, 0, "no variance", "look")


@pytest.fixture
def boot():
    """The bootstrapped sd of 40 scores."""
    return sd_bootstrap(np.random.default_rng(2).normal(0.6, 0.1, ROWS), np.arange(ROWS))


@pytest.mark.parametrize("above", [False, True])
@pytest.mark.parametrize(("part", "more"), [(1.0, 1), (1 / 2, 3 * ROWS), (1 / 3, 8 * ROWS)])
def test_rows_needed_grow_with_the_square(boot, above, part, more):
    """A threshold at half the bound's distance from the estimate takes four times the rows, at a third nine times."""
    bound = boot.interval(bca=False).lo if above else boot.interval(bca=False).hi
    threshold = boot.value + part * (bound - boot.value)
    claim = bootstrap_claim(FINDING, boot, threshold, above=above)
    assert claim.p <= 0.5
    assert claim.needed(0.95) == more


def test_no_number_of_rows_decides_at_the_threshold_itself(boot):
    """An estimate that equals its threshold claims nothing and asks for nothing."""
    claim = bootstrap_claim(FINDING, boot, boot.value)
    assert claim.p == 1.0
    assert claim.needed(0.95) is None
