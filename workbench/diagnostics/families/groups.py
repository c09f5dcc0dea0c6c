"""Rows by prompt: whether answers to one prompt get different scores, which is what RL learns from."""

from __future__ import annotations

from collections.abc import Iterable
from math import nan

import numpy as np

from workbench.diagnostics.case import Case
from workbench.diagnostics.claim import Claim, bootstrap_claim, share_claim
from workbench.diagnostics.finding import Finding, Severity, percent
from workbench.diagnostics.registry import diagnostic
from workbench.diagnostics.row_numbers import RowNumbers
from workbench.statistics import bootstrap, group_spans, share
from workbench.statistics.spread import SAME, group_sums, icc_of

__all__ = ["dead_groups", "prompt_decides"]

_DEAD = 0.5  # share of prompts; this project's limit
_ICC = 0.9  # ICC(1), where Koo & Li 2016 begin to call reliability excellent
_ANSWERS = 4  # fewest of a prompt: of fewer, many get one score by chance
_PROMPTS = 30  # fewest prompts of so many answers for an ICC


@diagnostic("dead-groups")
def dead_groups(case: Case) -> Iterable[Claim]:
    """Over half of the prompts give all their answers one score (lower bound).

    Counted over prompts with four or more scored answers: of two or three, many get one score by chance. A prompt whose
    answers all get one score gives reinforcement learning no advantage to learn from: DAPO, arXiv 2503.14476.
    """
    sizes, spans = group_spans(case.scores, case.scored_groups)
    several = sizes >= _ANSWERS
    if case.is_tiny or not several.any():
        return
    dead = several & (spans <= SAME)
    dead_share = share(dead[several])
    rows = case.rows[dead[case.scored_groups]]
    finding = case.finding(
        "dead-groups",
        Severity.WARNING,
        "share of dead prompts",
        f"dead prompts, {dead_share.k:,} of {dead_share.n:,} with {_ANSWERS} answers or more give them all one score, {percent(dead_share.value)}",
        "give part marks, or draw prompts of middling difficulty; RL learns nothing from these",
        rows,
        unit="prompt",
    )
    yield share_claim(finding, dead_share, _DEAD)


@diagnostic("prompt-decides")
def prompt_decides(case: Case) -> Iterable[Claim]:
    """A note where over 90 % of the scores' variance lies between prompts (lower bound of ICC1)."""
    sizes = np.bincount(case.scored_groups)
    if (sizes >= _ANSWERS).sum() < _PROMPTS:
        return
    boot = bootstrap(group_sums(case.scores, case.scored_groups), icc_of)
    # Evidence: rows in order of their prompt, so that equal scores stand side by side.
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
        f"the prompt decides the score, {percent(boot.value)} of the variance lies between prompts (ICC1)",
        "the grader tells prompts apart, not answers; check that it reads the completion",
        RowNumbers(case.rows[order]),
    )
    yield bootstrap_claim(finding, boot, _ICC, above=True)
