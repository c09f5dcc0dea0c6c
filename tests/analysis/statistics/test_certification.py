"""Decisions about a rate and its limit, plans, differences of shares, and the mean label from predictions."""

import math

import numpy as np
import pytest

from workbench.analysis.statistics import clopper_pearson
from workbench.analysis.statistics.certification import (
    ShareGap,
    hits_needed,
    level_of_look,
    lower_bound,
    more_rows,
    most_hits_below,
    p_reaches,
    predicted_mean,
    reaches,
    rows_needed,
)
from workbench.analysis.statistics.confusion import Confusion, corrected_rate
from workbench.analysis.statistics.means import share

# 20 accepted rows of which 18 are good, 20 rejected ones of which 3 are; 120 of 200 others are accepted.
LABELS = np.array([1] * 18 + [0] * 2 + [1] * 3 + [0] * 17, float)
VERDICTS = np.array([1] * 20 + [0] * 20, float)
OTHERS = np.array([1] * 120 + [0] * 80, float)


def of(hits, n):
    return share(np.arange(n) < hits)


@pytest.mark.parametrize("limit", [0.8, 0.9])
@pytest.mark.parametrize("n", [5, 20, 35, 50, 77, 200, 999])
def test_the_fewest_hits_are_those_of_the_exact_interval(n, limit):
    """One hit fewer has an interval that contains the limit."""
    hits = int(hits_needed(limit)[n])
    assert hits > n or clopper_pearson(hits, n).lo >= limit
    assert clopper_pearson(min(hits - 1, n), n).lo < limit
    hits = int(most_hits_below(limit)[n])
    assert hits < 0 or clopper_pearson(hits, n).hi <= limit
    assert clopper_pearson(min(hits + 1, n), n).hi > limit


@pytest.mark.parametrize("n", [20, 50, 200])
def test_a_rate_at_its_limit_is_shown_in_at_most_the_level(n):
    """The exact probability, of both errors."""
    masses = np.array([math.comb(n, k) * 0.8**k * 0.2 ** (n - k) for k in range(n + 1)])
    assert masses[int(hits_needed(0.8)[n]) :].sum() <= 0.025
    assert masses[: int(most_hits_below(0.8)[n]) + 1].sum() <= 0.025


def test_looks_share_five_percent():
    """The sum of both tails over many looks stays below 5 %."""
    levels = [level_of_look(number) for number in range(1, 1000)]
    assert levels[0] == 0.025
    assert sum(levels) < 0.05


def test_rates_and_their_limits():
    """Decided by the displayed interval, both ways."""
    assert reaches(of(46, 50), 0.8)
    assert not reaches(of(45, 50), 0.8)
    assert lower_bound(of(46, 50)) == pytest.approx(clopper_pearson(46, 50).lo)
    assert p_reaches(of(30, 50), 0.8) < 0.025 < p_reaches(of(35, 50), 0.8)
    assert not reaches(share(np.zeros(0, bool)), 0.8)
    assert p_reaches(share(np.zeros(0, bool)), 0.8) == 1.0


@pytest.mark.parametrize(("rate", "needed"), [(0.95, 55), (0.9, 149), (0.8, None), (0.81, None)])
def test_rows_of_a_supposed_rate(rate, needed):
    """By the exact power; none for a rate at the limit."""
    assert rows_needed(rate, 0.8) == needed


@pytest.mark.parametrize("rate", [0.6, 0.9, 0.95])
@pytest.mark.parametrize("n", [20, 50])
def test_more_rows_decide_in_nine_of_ten_cases(n, rate):
    """Simulated: the current rows count, too."""
    rng = np.random.default_rng(n)
    plans, decided = {}, []
    for _ in range(800):
        hits = int(rng.binomial(n, rate))
        if hits >= hits_needed(0.8)[n] or hits <= most_hits_below(0.8)[n]:
            continue
        if hits not in plans:
            plans[hits] = more_rows(hits, n, 0.8)
        if (more := plans[hits]) is not None:
            after = hits + int(rng.binomial(more, rate))
            decided.append(after >= hits_needed(0.8)[n + more] or after <= most_hits_below(0.8)[n + more])
    assert np.mean(decided) >= 0.9 - 2 * math.sqrt(0.09 / len(decided))


def test_the_difference_of_two_shares():
    """It has a width if every row is a hit, and its p value agrees with its interval."""
    gap = ShareGap(of(30, 30), of(0, 60))
    assert gap.interval().lo == pytest.approx(
        1 - math.hypot(1 - of(30, 30).interval().lo, of(0, 60).interval().hi)
    )
    assert gap.p_above(0.1) < 1e-6
    assert ShareGap(of(3, 30), of(6, 60)).p_above(0.1) == 1.0
    assert ShareGap(of(0, 100), of(0, 100)).is_within(0.1)
    assert not ShareGap(of(0, 20), of(0, 20)).is_within(0.1)
    one = ShareGap(of(14, 30), of(6, 60))
    assert one.interval(1 - 2 * one.p_above(0.1)).lo == pytest.approx(0.1, abs=1e-4)
    assert ShareGap(of(1, 1), share(np.zeros(0, bool))).interval() == (-1.0, 1.0)


def test_the_predicted_mean_agrees_with_ppi_python():
    """ppi-python 0.2.3 gives 0.5890 with its best weight and 0.625 with a weight of 1; the folds move ours by less than 0.01."""
    unknown = np.full(200, np.nan)
    found = predicted_mean(np.concatenate([VERDICTS, OTHERS]), np.concatenate([LABELS, unknown]))
    assert found.value == pytest.approx(0.58902, abs=0.01)
    low, high = found.interval()
    assert low < 0.4767 < 0.7014 < high  # its normal interval, which is too short for 40 labels
    assert (low, high) == pytest.approx(
        (0.4546, 0.7099), abs=0.035
    )  # of cje-eval 0.9.3, whose value is 0.5822


def test_the_corrected_rate_agrees_with_judgy():
    """Judgy 0.1.0 gives 0.658 for these rates."""
    confusion = Confusion(LABELS == 1, VERDICTS == 1)
    found = corrected_rate(share(OTHERS == 1), confusion.sensitivity, confusion.specificity)
    assert found.value == pytest.approx(0.658, abs=0.001)


def test_few_labelled_prompts_have_no_predicted_mean():
    """Ten prompts are required, however many rows they have."""
    labels = np.where(np.arange(400) < 90, 1.0, np.nan)
    found = predicted_mean(np.ones(400), labels, np.arange(400) // 10)
    assert math.isnan(found.value)
    assert found.reason == "9 labelled prompts; at least 10 are required"
    assert all(map(math.isnan, found.interval()))


def test_scores_that_do_not_vary_predict_the_mean_label():
    """Then the labels alone decide."""
    labels = np.concatenate([np.ones(15), np.zeros(15), np.full(100, np.nan)])
    found = predicted_mean(np.full(130, 0.7), labels)
    assert found.value == pytest.approx(0.5, abs=0.05)
    assert found.interval().lo < 0.35
