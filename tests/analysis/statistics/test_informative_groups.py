"""Forecasts of live groups: against what the prompts were made with, for scores of every kind."""

from __future__ import annotations

from functools import cache
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from workbench.analysis.statistics.group_scores import AnswerSets, InformativeGroups

SIZES = (4, 8, 16, 32, 64)


def passes(rates):
    """Scores of 0 and 1 by pass rates, which a function draws for so many prompts."""

    def draw(rng, prompts, answers):
        return (rng.random((prompts, answers)) < rates(rng, prompts)[:, None]).astype(float)

    return draw


def rubric(weights):
    """Scores from 1 on, their chances by a Dirichlet distribution for each prompt."""

    def draw(rng, prompts, answers):
        chances = rng.dirichlet(weights, prompts).cumsum(1)
        return 1.0 + (rng.random((prompts, answers, 1)) > chances[:, None, :]).sum(2)

    return draw


def stuck(rates):
    """Scores that are all different, but for those stuck at 0, at a rate that a function draws for each prompt."""

    def draw(rng, prompts, answers):
        stays = rng.random((prompts, answers)) < rates(rng, prompts)[:, None]
        return np.where(stays, 0.0, rng.random((prompts, answers)))

    return draw


SHAPES = {
    "U-shaped": passes(lambda rng, n: rng.beta(0.3, 0.3, n)),
    "hard": passes(lambda rng, n: rng.beta(0.2, 2, n)),
    "uniform": passes(lambda rng, n: rng.random(n)),
    "middling": passes(lambda rng, n: rng.beta(5, 5, n)),
    "half hopeless": passes(lambda rng, n: np.where(rng.random(n) < 0.5, 0.0, 0.5)),
    "three points": passes(lambda rng, n: rng.choice([0.0, 0.3, 1.0], n)),
    "one in fifty": passes(lambda rng, n: np.full(n, 0.02)),
    "never fails": passes(lambda rng, n: np.ones(n)),
    "rubric": rubric([0.15, 0.1, 0.2, 0.3, 0.25]),
    "rubric at the top": rubric([0.05, 0.05, 0.05, 0.05, 1.0]),
    "stuck at 0": stuck(lambda rng, n: rng.beta(0.4, 1, n)),
}


def informative_groups(scores):
    """The groups of a matrix of scores, one line a prompt."""
    return InformativeGroups(AnswerSets(scores.ravel(), np.repeat(np.arange(len(scores)), scores.shape[1])))


@cache
def truth(draw, sizes=SIZES, seed=9):
    """Shares of live groups among 40,000 drawn, and their mean sd, by size."""
    rng = np.random.default_rng(seed)
    drawn = {size: draw(rng, 40_000, size) for size in sizes}
    return {
        size: (np.mean(np.ptp(groups, axis=1) > 0), groups.std(axis=1).mean())
        for size, groups in drawn.items()
    }


@given(
    st.lists(st.lists(st.sampled_from([0.0, 0.5, 1.0]), min_size=2, max_size=5), min_size=1, max_size=6),
    st.data(),
)
def test_counting_is_over_all_choices_of_answers(prompts, data):
    """The counted share is that among all ways to choose so many answers to each prompt that has as many."""
    size = data.draw(st.integers(2, max(map(len, prompts))))
    codes = np.repeat(np.arange(len(prompts)), list(map(len, prompts)))
    found = AnswerSets(np.concatenate(prompts), codes).informative(size)
    shares = [
        np.mean([len(set(few)) > 1 for few in combinations(p, size)]) for p in prompts if len(p) >= size
    ]
    assert found == pytest.approx(np.mean(shares))


@pytest.mark.parametrize("shape", SHAPES)
def test_many_prompts_bring_the_forecast_to_the_truth(shape):
    """From 8 answers to each of 400 prompts the share at 4, 8 and 16 answers is within 5 points, sd within a tenth."""
    draws = [informative_groups(SHAPES[shape](np.random.default_rng(seed), 400, 8)) for seed in range(3)]
    for size, (informative, sd) in truth(SHAPES[shape], (4, 8, 16)).items():
        assert np.mean([groups.informative(size).value for groups in draws]) == pytest.approx(
            informative, abs=0.05
        )
        if sd > 0:
            assert np.mean([groups.sd(size) for groups in draws]) == pytest.approx(sd, rel=0.1)


@pytest.mark.parametrize(("prompts", "answers"), [(30, 8), (60, 4), (300, 4)])
def test_simulation(prompts, answers):
    """Intervals hold the truth at least 19 times of 20 over prompts of all shapes, and for each of them 9 of 10."""
    rng, held = np.random.default_rng(1), []
    for draw in SHAPES.values():
        wanted = truth(draw, (4, 16, 64))
        groups = [informative_groups(draw(rng, prompts, answers)) for _ in range(8)]
        ends = [
            (each.informative(size).interval, informative)
            for each in groups
            for size, (informative, _) in wanted.items()
        ]
        held.append(np.mean([lo - 0.005 <= informative <= hi + 0.005 for (lo, hi), informative in ends]))
    assert np.mean(held) >= 0.95
    assert min(held) >= 0.87


def test_the_chance_of_a_prompt_is_kept_by_fresh_answers():
    """Prompts forecast to be live with 30 to 70 % are so about as often, and the chosen ones within their interval."""
    rng = np.random.default_rng(2)
    rates = rng.beta(0.5, 1.5, 600)
    groups = informative_groups((rng.random((600, 4)) < rates[:, None]).astype(float))
    chances, informative = groups.chances(8), 1 - rates**8 - (1 - rates) ** 8
    assert chances.mean() == pytest.approx(informative.mean(), abs=0.05)
    for low, high in ((0.0, 0.5), (0.5, 0.9), (0.9, 1.0)):
        some = (chances >= low) & (chances <= high)
        assert chances[some].mean() == pytest.approx(informative[some].mean(), abs=0.08)
    chosen = chances >= 0.5
    found = groups.informative_among(8, chosen)
    assert found.interval.lo <= informative[chosen].mean() <= found.interval.hi
    assert found.interval.hi - found.interval.lo < 0.3
    assert np.isnan(groups.informative_among(8, np.zeros(600, bool)).value)


@settings(max_examples=15)
@given(
    st.lists(
        st.lists(st.sampled_from([0.0, 0.25, 1.0, -3.0]), min_size=1, max_size=6), min_size=2, max_size=30
    ).filter(lambda prompts: any(len(answers) > 1 for answers in prompts))
)
def test_any_answers_give_sound_numbers(prompts):
    """Unequal numbers of answers, any scores: shares from 0 to 1 that grow with the group, inside their intervals."""
    codes = np.repeat(np.arange(len(prompts)), list(map(len, prompts)))
    groups = InformativeGroups(AnswerSets(np.concatenate(prompts), codes))
    shares = [groups.informative(size) for size in (2, 5, 40)]
    values = [share.value for share in shares]
    assert all(0 <= share.interval.lo <= share.value <= share.interval.hi <= 1 + 1e-9 for share in shares)
    assert values == sorted(values) or not groups.answers.several.all()
    chances = groups.chances(8)
    assert ((chances >= 0) & (chances <= 1 + 1e-9)).all()


@pytest.mark.parametrize("draw", [SHAPES["uniform"], SHAPES["rubric"]])
def test_thousands_of_answers_are_counted(draw):
    """More answers than a float can hold choices of are no trouble, and every group is counted."""
    groups = informative_groups(draw(np.random.default_rng(0), 12, 3_000))
    assert groups.informative(64).value == groups.answers.informative(64) > 0.5
    assert groups.sd(64) > 0
    assert np.isfinite(groups.chances(64)).all()


def test_scores_of_any_size_have_a_spread():
    """Scores near the largest float are compared and averaged without overflow."""
    scores = np.tile([1e308, -1e308, 1e308, 0.0], (12, 1))
    groups = informative_groups(scores)
    assert groups.informative(4).value == 1
    assert np.isfinite(groups.sd(4))
    assert np.isfinite(groups.answers.sds).all()
