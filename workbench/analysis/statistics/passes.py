"""Probability that at least one of several attempts passes."""

from __future__ import annotations

from math import comb

__all__ = ["pass_at_k"]


def pass_at_k(n: int, correct: int, k: int) -> float:
    """The unbiased estimate of the probability that at least one of k attempts passes, 0 to 1.

    1 - C(n - correct, k) / C(n, k): of all ways to draw k of the n attempts made, the share with a pass among
    them. With n < k, where k attempts cannot be drawn, it is 1.0 if any passed, else 0.0.

    Args:
        n: Attempts made, at least 1.
        correct: Those that passed, 0 to n.
        k: Attempts to draw, at least 1.

    Raises:
        ValueError: A count out of its range.

    Source: Chen et al. 2021, "Evaluating Large Language Models Trained on Code", equation 1; Osmosis'
    evaluation report.

    Example:
        >>> pass_at_k(5, 2, 1), round(pass_at_k(10, 3, 5), 4)
        (0.4, 0.9167)
    """
    for name, value, low in (("n", n, 1), ("correct", correct, 0), ("k", k, 1)):
        if isinstance(value, bool) or not isinstance(value, int) or value < low:
            raise ValueError(f"{name} must be a whole number of at least {low}, not {value!r}")
    if correct > n:
        raise ValueError(f"correct must be at most n, not {correct} of {n}")
    if k > n:
        return float(correct > 0)
    return 1 - comb(n - correct, k) / comb(n, k)
