"""Simulated coverage of the intervals of panels and ladders, for `verdicts.py`: agreement of judges, strengths, order effect."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from workbench.analysis.statistics import critical_value
from workbench.analysis.statistics.resampling import krippendorff_alpha
from workbench.judges.bradley_terry import PairResults, fit, fit_strengths

Floats = NDArray[np.float64]
Cell = tuple[str, str, int, bool, int]

JUDGES: dict[str, tuple[int, float, float]] = {
    "three careful judges": (3, 0.05, 0.5),
    "three careless judges": (3, 0.25, 0.5),
    "five judges, 70 % pass": (5, 0.1, 0.7),
    "three coins": (3, 0.5, 0.5),
}
"""Number of judges, chance that one errs, and share of good rows."""
LADDERS: dict[str, tuple[Floats, float, float, float]] = {
    "two equal writers": (np.zeros(2), 0.2, 0.1, 1.0),
    "four writers": (np.array([1.0, 0.3, -0.3, -1.0]), 0.4, 0.2, 0.7),
    "four writers far apart": (np.array([2.5, 0.0, 0.0, -2.5]), 0.4, 0.1, 0.5),
    "eight writers": (np.linspace(-1, 1, 8), 0.3, 0.2, 1.5),
}
"""Strengths, order effect, share of ties, and how far strengths differ from prompt to prompt."""


def cells(runs: int) -> list[Cell]:
    """The simulated designs: statistic, name, number of prompts, whether prompts have 8 rows, runs."""
    alphas = [
        ("alpha of a panel", name, n, clustered, 2 * runs)
        for name in JUDGES for clustered in (False, True) for n in (20, 50, 200)
    ]  # fmt: skip
    ladders = [
        (statistic, name, n, False, 2 * runs)
        for statistic in ("strength on a ladder", "order effect of a ladder") for name in LADDERS for n in (10, 20, 50, 200)
    ]  # fmt: skip
    return alphas + ladders


def judge_coverage(cell: Cell) -> tuple[str, float, float]:
    """How often the interval contains the truth, and how often there is one."""
    statistic, name, n, clustered, runs = cell
    rng = np.random.default_rng([*statistic.encode(), *name.encode(), n, clustered])
    if statistic == "alpha of a panel":
        truth = krippendorff_alpha(_votes(name, np.arange(200_000), rng)).value
        groups = np.repeat(np.arange(n), 8) if clustered else np.arange(n)
        inside = [_alpha_is_inside(name, groups, truth, rng) for _ in range(runs)]
    else:
        truths = fit_strengths(_pairs(name, 20_000, rng))
        inside = [_ladder_is_inside(statistic, name, n, truths, rng) for _ in range(runs)]
    shown = [one for one in inside if not math.isnan(one)]
    held = float(np.mean(shown)) if shown else math.nan
    return f"{statistic}, {name}, {n:,} {'prompts of 8' if clustered else 'prompts'}", held, len(shown) / runs


def _votes(name: str, groups: NDArray[np.intp], rng: np.random.Generator) -> Floats:
    """Votes of the judges; rows of one prompt are alike with a chance of 0.4."""
    judges, error, good = JUDGES[name]
    rows = rng.random(len(groups)) < good
    prompts = rng.random(int(groups.max()) + 1) < good
    truth = np.where(rng.random(len(groups)) < 0.4, prompts[groups], rows)
    return (truth[:, None] ^ (rng.random((len(groups), judges)) < error)).astype(float)


def _alpha_is_inside(name: str, groups: NDArray[np.intp], truth: float, rng: np.random.Generator) -> float:
    low, high = krippendorff_alpha(_votes(name, groups, rng), groups).interval()
    return math.nan if math.isnan(low) else float(low - 1e-9 <= truth <= high + 1e-9)


def _pairs(name: str, prompts: int, rng: np.random.Generator) -> PairResults:
    """All pairs of writers on each prompt, in both orders."""
    strengths, order, ties, spread = LADDERS[name]
    n = len(strengths)
    local = strengths + rng.normal(0, spread, (prompts, n))
    left, right = np.triu_indices(n, 1)
    a, b = np.tile(left, 2 * prompts), np.tile(right, 2 * prompts)
    prompt = np.tile(np.repeat(np.arange(prompts), len(left)), 2)
    is_first = np.repeat([True, False], prompts * len(left))
    log_odds = local[prompt, a] - local[prompt, b] + order * np.where(is_first, 1, -1)
    wins = rng.random(len(a)) < 1 / (1 + np.exp(-log_odds))
    results = np.where(rng.random(len(a)) < ties, 0.5, wins.astype(float))
    return PairResults(a, b, results, is_first, prompt, n)


def _ladder_is_inside(
    statistic: str, name: str, prompts: int, truths: Floats, rng: np.random.Generator
) -> float:
    """Whether the interval contains the truth: of the order effect, or the share of the writers whose interval does."""
    found, critical = fit(_pairs(name, prompts, rng)), critical_value(0.95, prompts - 1)
    if statistic == "order effect of a ladder":
        return float(abs(found.order_effect - truths[-1]) <= critical * found.order_error)
    return float(np.mean(np.abs(found.strengths - truths[:-1]) <= critical * found.errors))
