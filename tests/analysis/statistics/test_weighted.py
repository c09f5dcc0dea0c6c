"""Rates from labels of rows that were drawn unequally often, against the truth they were drawn from."""

from __future__ import annotations

import math

import numpy as np
import pytest

from workbench.analysis.statistics import compact
from workbench.analysis.statistics.confusion import Confusion, corrected_rate
from workbench.analysis.statistics.means import share

RATES = ("sensitivity", "specificity", "observed", "base_rate", "kappa", "ac1")


def population(rng, *, good=0.8, tpr=0.95, tnr=0.4, per_prompt=1, n=3_000):
    """Truth and verdicts of n rows; rows of one prompt are good, and right, together."""
    truth, right = (np.repeat(rng.random(n // per_prompt), per_prompt) for _ in range(2))
    truth = truth < good
    return truth, np.where(truth, right < tpr, right >= tnr)


def half_and_half(rng, verdict, n):
    """As many accepted as refused rows, and how many rows each stands for."""
    parts = [rng.permutation(np.flatnonzero(verdict == one))[: n // 2] for one in (True, False)]
    sizes = [int((verdict == one).sum()) / len(part) for one, part in zip((True, False), parts, strict=True)]
    return np.concatenate(parts), np.repeat(sizes, [len(part) for part in parts])


def coverage(*, labels, by=0.0, per_prompt=1, weigh=True, **rates):
    """How often intervals hold the rate of all rows, over 200 draws; `by`: rows are drawn by a noisier verdict."""
    rng, held = np.random.default_rng(0), dict.fromkeys((*RATES, "corrected"), 0)
    groups = np.arange(3_000) // per_prompt
    for _ in range(200):
        truth, verdict = population(rng, per_prompt=per_prompt, **rates)
        rows, weights = half_and_half(rng, verdict ^ (rng.random(3_000) < by), labels)
        codes = None if per_prompt == 1 else compact(groups[rows])
        result = Confusion(truth[rows], verdict[rows], codes, weights if weigh else None)
        whole = Confusion(truth, verdict)
        for name in RATES:
            lo, hi = getattr(result, name).interval()
            held[name] += lo <= getattr(whole, name).value <= hi
        lo, hi = corrected_rate(share(verdict), result.sensitivity, result.specificity).interval()
        held["corrected"] += math.isnan(lo) or lo <= truth.mean() <= hi
    return {name: count / 200 for name, count in held.items()}


@pytest.mark.parametrize(
    "case",
    [
        {"labels": 400}, {"labels": 100, "tpr": 0.97, "tnr": 0.7}, {"labels": 150, "good": 0.1, "tpr": 0.8, "tnr": 0.99},
        {"labels": 60, "tpr": 0.99, "tnr": 0.9}, {"labels": 200, "by": 0.2}, {"labels": 200, "per_prompt": 4},
    ],
)  # fmt: skip
def test_weighted_intervals_hold_the_truth(case):
    """19 of 20 times, for rare mistakes, rare classes, prompts, and rows drawn by another verdict."""
    result = coverage(**case)
    assert min(result.values()) >= 0.92, result


def test_unweighted_ones_do_not():
    """The same labels read as if drawn at random: nearly never."""
    result = coverage(labels=400, weigh=False)
    assert max(result["sensitivity"], result["specificity"], result["base_rate"]) < 0.1


def test_balanced_labels_are_worth_more_than_they_are():
    """Mistakes of a strict class are seen where they are: a share of few mistakes gains on as many drawn at random."""
    rng = np.random.default_rng(3)
    truth, verdict = population(rng, good=0.9, tpr=0.97, tnr=0.9)
    rows, weights = half_and_half(rng, verdict, 200)
    result = Confusion(truth[rows], verdict[rows], None, weights).sensitivity
    assert result.effective > 1.5 * 200


def test_equal_weights_are_worth_the_rows():
    """Where all count alike, rates are those without weights, and rows are worth as much."""
    rng = np.random.default_rng(4)
    truth, verdict = population(rng, n=3_000)
    rows = rng.permutation(3_000)[:300]
    plain = Confusion(truth[rows], verdict[rows])
    even = Confusion(truth[rows], verdict[rows], None, np.full(300, 2.5))
    for name in ("sensitivity", "specificity", "observed", "base_rate"):
        one, two = getattr(plain, name), getattr(even, name)
        assert (two.k, two.n) == (one.k, one.n)
        assert two.value == pytest.approx(one.value)
        assert two.effective == pytest.approx(one.effective)
    assert even.kappa.interval() == pytest.approx(plain.kappa.interval(), abs=0.01)


def test_no_rows_and_one_class_are_told_as_without_weights():
    """NaN with a reason, no warning."""
    none = Confusion(np.empty(0, bool), np.empty(0, bool), None, np.empty(0))
    assert math.isnan(none.kappa.value)
    assert math.isnan(none.sensitivity.value)
    good = Confusion(np.ones(4, bool), np.array([True, True, False, True]), None, np.array([1.0, 2, 1, 2]))
    assert good.sensitivity.value == pytest.approx(5 / 6)
    assert good.specificity.n == 0
    assert "all 4 labels are good" in good.kappa.reason
