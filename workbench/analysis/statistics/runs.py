"""Several runs of one test, aggregated as in Umbraco.AI."""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["pass_rate", "pass_to_the_k"]


def pass_rate(passed: Sequence[bool]) -> float:
    """Share of runs that passed, 0 to 1; 0.0 for none. Umbraco calls it pass@k (see `pass_at_k` for the unbiased one)."""
    return sum(map(bool, passed)) / len(passed) if passed else 0.0


def pass_to_the_k(passed: Sequence[bool]) -> float:
    """1.0 if there were runs and every one passed, else 0.0. Umbraco calls it pass^k."""
    return float(bool(passed) and all(passed))
