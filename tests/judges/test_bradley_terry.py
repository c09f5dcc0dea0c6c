"""Strengths from comparisons: equal to another library's, without the order effect, with errors by prompt."""

import numpy as np
import pytest

from workbench.judges.bradley_terry import PairResults, fit, fit_strengths, neighbours, ranks_of

STRENGTHS = np.array([1.0, 0.3, -0.3, -1.0])


def drawn(prompts, *, order=0.4, spread=0.7, ties=0.2, seed=1, truth=STRENGTHS):
    """Every pair of every prompt in both orders; strengths differ from prompt to prompt."""
    rng = np.random.default_rng(seed)
    n = len(truth)
    strengths = truth + rng.normal(0, spread, (prompts, n))
    a, b = (np.tile(side, 2 * prompts) for side in np.triu_indices(n, 1))
    pairs = n * (n - 1) // 2
    prompt = np.tile(np.repeat(np.arange(prompts), pairs), 2)
    is_first = np.repeat([True, False], prompts * pairs)
    log_odds = strengths[prompt, a] - strengths[prompt, b] + order * np.where(is_first, 1, -1)
    wins = rng.random(len(a)) < 1 / (1 + np.exp(-log_odds))
    results = np.where(rng.random(len(a)) < ties, 0.5, wins.astype(float))
    return PairResults(a, b, results, is_first, prompt, n)


def test_strengths_equal_those_of_evalica():
    """Without an order effect, up to the prior's few ties."""
    evalica = pytest.importorskip("evalica")
    pairs = drawn(2_000, order=0.0)
    winners = [
        {1.0: evalica.Winner.X, 0.5: evalica.Winner.Draw, 0.0: evalica.Winner.Y}[one] for one in pairs.results
    ]
    names = [[str(player) for player in side] for side in (pairs.a, pairs.b)]
    scores = np.log(evalica.bradley_terry(*names, winners).scores.sort_index().to_numpy())
    assert fit_strengths(pairs)[:-1] == pytest.approx(scores - scores.mean(), abs=2e-3)


def test_the_order_effect_is_estimated_and_removed():
    """It is found with its sign, and strengths do not depend on it even if one player is always read first."""
    assert fit(drawn(2_000, order=0.8)).order_effect > 3 * fit(drawn(2_000, order=0.2)).order_effect
    equal = drawn(3_000, order=1.0, spread=0.0, ties=0.0, truth=np.zeros(2))
    rare = equal.is_first | (np.arange(len(equal.a)) % 10 == 0)  # player 0 is nearly always read first
    biased = PairResults(
        equal.a[rare], equal.b[rare], equal.results[rare], equal.is_first[rare], equal.clusters[rare], 2
    )
    assert biased.results.mean() > 0.65
    assert abs(fit_strengths(biased)[0]) < 0.1


@pytest.mark.parametrize("prompts", [20, 100])
def test_errors_allow_for_prompts(prompts):
    """The interval of each strength contains the truth in at least 90 of 100 draws; one that ignores prompts is shorter."""
    truth = fit_strengths(drawn(40_000, seed=0))[:-1]
    fits = [fit(drawn(prompts, seed=seed)) for seed in range(1, 101)]
    inside = np.mean([np.abs(one.strengths - truth) <= 2.0 * one.errors for one in fits], axis=0)
    assert (inside >= 0.9).all()
    single = drawn(prompts, spread=2.0)
    alone = PairResults(
        single.a, single.b, single.results, single.is_first, np.arange(len(single.a)), single.n_players
    )
    assert fit(alone).errors.mean() < 0.9 * fit(single).errors.mean()


def test_a_player_that_always_wins_is_finite():
    """With an error that is not zero."""
    n = 12
    pairs = PairResults(
        np.zeros(n, np.intp), np.ones(n, np.intp), np.ones(n), np.arange(n) % 2 == 0, np.arange(n) // 2, 2
    )
    found = fit(pairs)
    assert 0.5 < found.strengths[0] < 5
    assert found.errors[0] > 0.2
    assert found.strengths.sum() == pytest.approx(0)


def test_ranks_and_neighbours():
    """Equal strengths share a rank; a pair is compared once, and each completion once per round."""
    assert ranks_of(np.array([0.5, 0.1, 0.5])).tolist() == [0.75, 0.0, 0.75]
    assert list(neighbours([3, 1, 2, 0], set())) == [(3, 1), (2, 0)]
    assert list(neighbours([3, 1, 2, 0], {(1, 3)})) == [(3, 2), (1, 0)]
    assert list(neighbours([0, 1], {(0, 1)})) == []
