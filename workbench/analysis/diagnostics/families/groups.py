"""Scores by prompt: whether completions of one prompt have different scores, from which RL learns."""

from __future__ import annotations

from collections.abc import Iterable
from math import nan

import numpy as np

from workbench.analysis.diagnostics.case import Case
from workbench.analysis.diagnostics.claim import Claim, bootstrap_claim, share_claim
from workbench.analysis.diagnostics.finding import Finding, Severity, percent
from workbench.analysis.diagnostics.registry import diagnostic
from workbench.analysis.diagnostics.row_numbers import RowNumbers
from workbench.analysis.statistics import bootstrap, group_spans, share
from workbench.analysis.statistics.spread import SAME, group_sums, icc_of

__all__ = ["prompt_decides", "zero_variance_groups"]

_DEAD = 0.5  # share of prompts; this project's limit
_ICC = 0.9  # ICC(1) from which Koo & Li 2016 call reliability excellent
_ANSWERS = 4  # minimum completions of a prompt: with fewer, many prompts have one score by chance
_PROMPTS = 30  # minimum prompts with that many completions for an ICC


@diagnostic("zero-variance-groups")
def zero_variance_groups(case: Case) -> Iterable[Claim]:
    """Over half of the prompts have one score for all their completions (lower bound).

    Counted over prompts with four or more scored completions: with two or three, many have one score by chance. A prompt
    whose completions all have one score gives reinforcement learning no advantage to learn from: DAPO, arXiv 2503.14476.
    """
    sizes, spans = group_spans(case.scores, case.scored_groups)
    several = sizes >= _ANSWERS
    if case.is_tiny or not several.any():
        return
    dead = several & (spans <= SAME)
    zero_variance_share = share(dead[several])
    rows = case.rows[dead[case.scored_groups]]
    finding = case.finding(
        "zero-variance-groups",
        Severity.WARNING,
        "share of zero-variance prompts",
        f"zero-variance prompts: all completions have one score in {zero_variance_share.k:,} of {zero_variance_share.n:,} prompts with at least {_ANSWERS} completions, {percent(zero_variance_share.value)}",
        "give partial credit, or draw prompts of medium difficulty; RL learns nothing from these",
        rows,
        unit="prompt",
    )
    yield share_claim(finding, zero_variance_share, _DEAD)


@diagnostic("prompt-decides")
def prompt_decides(case: Case) -> Iterable[Claim]:
    """A note if over 90 % of the scores' variance is between prompts (lower bound of ICC1)."""
    sizes = np.bincount(case.scored_groups)
    if (sizes >= _ANSWERS).sum() < _PROMPTS:
        return
    boot = bootstrap(group_sums(case.scores, case.scored_groups), icc_of)
    # Evidence: rows in order of their prompt, so that equal scores are adjacent.
    order = np.argsort(case.scored_groups, kind="stable")
    finding = Finding(
        case.grader,
        "prompt-decides",
        Severity.NOTE,
        "ICC1",
        nan,
        None,
        len(case.scores),
        0,
        f"the prompt decides the score: {percent(boot.value)} of the variance is between prompts (ICC1)",
        "scores differ between prompts but not between completions of a prompt; check that the grader reads the completion",
        RowNumbers(case.rows[order]),
    )
    yield bootstrap_claim(finding, boot, _ICC, above=True)
