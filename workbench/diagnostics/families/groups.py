"""Rows by prompt: whether answers to one prompt get different scores, which is what RL learns from."""

from __future__ import annotations

from collections.abc import Iterable
from math import nan

import numpy as np
from numpy.typing import NDArray

from workbench.diagnostics.case import Case
from workbench.diagnostics.claim import Claim, bootstrap_claim, share_claim
from workbench.diagnostics.finding import Finding, Severity, percent
from workbench.diagnostics.registry import diagnostic
from workbench.diagnostics.row_numbers import RowNumbers
from workbench.statistics import bootstrap, share
from workbench.statistics.spread import SAME, group_sums, icc_of

__all__ = ["dead_groups", "prompt_decides"]

_DEAD = 0.5  # share of prompts; this project's limit
_ICC = 0.9  # ICC(1), where Koo & Li 2016 begin to call reliability excellent
_PROMPTS, _ANSWERS = 30, 4  # at 30 prompts a share of one half is known within 0.17 either way (95 %)


@diagnostic("dead-groups")
def dead_groups(case: Case) -> Iterable[Claim]:
    """Over half of the prompts give all their answers one score (lower bound).

    Counted over prompts with two or more scored answers; takes at least 30 prompts with four or more. A prompt whose
    answers all get one score gives reinforcement learning no advantage to learn from: DAPO, arXiv 2503.14476.
    """
    sizes, spans = _spans(case)
    several = sizes >= 2
    if case.is_tiny or not several.any():
        return
    dead = several & (spans <= SAME)
    dead_share = share(dead[several])
    rows = case.rows[dead[case.scored_groups]]
    finding = case.finding(
        "dead-groups",
        Severity.WARNING,
        "share of dead prompts",
        f"dead prompts, {dead_share.k:,} of {dead_share.n:,} give all their answers one score, {percent(dead_share.value)}",
        "give part marks, or draw prompts of middling difficulty; RL learns nothing from these",
        rows,
    )
    claim = share_claim(finding, dead_share, _DEAD, missing=_missing_rows(sizes))
    yield _in_rows(claim, float(sizes[several].mean()))


def _in_rows(claim: Claim, rows_a_prompt: float) -> Claim:
    """The same claim with the number it still needs counted in rows rather than prompts."""

    def needed(confidence: float) -> int | None:
        prompts = claim.needed(confidence)
        return None if prompts is None else int(np.ceil(prompts * rows_a_prompt))

    return Claim(claim.finding, claim.p, claim.interval, needed, claim.missing)


@diagnostic("prompt-decides")
def prompt_decides(case: Case) -> Iterable[Claim]:
    """A note where over 90 % of the scores' variance lies between prompts (lower bound of ICC1)."""
    sizes, _ = _spans(case)
    if (sizes >= 2).sum() < 2 or _missing_rows(sizes):
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


def _spans(case: Case) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
    """For each prompt: its number of scored answers, and their highest minus their lowest score."""
    codes, scores = case.scored_groups, case.scores
    sizes = np.bincount(codes)
    high, low = np.full(len(sizes), -np.inf), np.full(len(sizes), np.inf)
    np.maximum.at(high, codes, scores)
    np.minimum.at(low, codes, scores)
    with np.errstate(over="ignore"):
        return sizes, high - low


def _missing_rows(sizes: NDArray[np.intp]) -> int:
    return max(0, _PROMPTS - int((sizes >= _ANSWERS).sum())) * _ANSWERS
