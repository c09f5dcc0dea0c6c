"""Prompts with several completions: whether their scores differ, from which reinforcement learning learns."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from workbench.analysis.statistics.shares import Share, share
from workbench.analysis.statistics.spread import SAME

__all__ = ["group_spans", "zero_variance_share"]


def group_spans(
    scores: NDArray[np.float64], groups: NDArray[np.intp]
) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
    """For each prompt: its number of scores, and its highest less its lowest score, both (g,).

    Args:
        scores: float64 (n,).
        groups: Prompt codes (n,) from 0 on, without gaps.
    """
    sizes = np.bincount(groups)
    if len(sizes) == len(scores):  # one completion per prompt
        return sizes, np.zeros(len(sizes))
    order = np.argsort(groups, kind="stable")
    starts = np.cumsum(sizes) - sizes
    ordered = scores[order]
    with np.errstate(over="ignore"):
        return sizes, np.maximum.reduceat(ordered, starts) - np.minimum.reduceat(ordered, starts)


def zero_variance_share(scores: NDArray[np.float64], groups: NDArray[np.intp], *, least: int = 2) -> Share:
    """The share of prompts with one score for all their completions, among those with at least `least` completions.

    Such a prompt gives reinforcement learning no advantage to learn from: DAPO, arXiv 2503.14476.

    Args:
        scores: float64 (n,).
        groups: Prompt codes (n,) from 0 on, without gaps.
        least: Minimum number of scored completions of a prompt that counts.
    """
    sizes, spans = group_spans(scores, groups)
    return share(spans[sizes >= least] <= SAME)
