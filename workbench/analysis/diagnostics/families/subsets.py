"""Subsets of the rows and of the scale: mistakes that the whole dataset hides, and unused levels."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from workbench.analysis.diagnostics.case import Case
from workbench.analysis.diagnostics.claim import Claim, share_claim
from workbench.analysis.diagnostics.finding import Severity, percent
from workbench.analysis.diagnostics.registry import diagnostic
from workbench.analysis.statistics import compact, share
from workbench.core.display_text import one_line

__all__ = ["few_levels", "subset_mistakes"]

_LIMIT = 0.2  # share of a subset's rows of one label with a wrong verdict; this project's limit
_MIN_ROWS = 8  # minimum labelled rows of a subset; this project's choice
_MAX_SUBSETS = 50  # a column with more values does not define subsets
_STUCK = 0.9  # share of scores on two levels
_WHOLE_LEVELS = 4  # minimum integers of a scale that is graded in levels: 1 to 4
_MAX_LEVELS = 1_000  # maximum levels of such a scale: includes 0 to 100


@diagnostic(
    "subset-mistakes", unless=("too-lenient", "too-strict", "no-better-than-chance", "worse-than-chance")
)
def subset_mistakes(case: Case) -> Iterable[Claim]:
    """In one subset over 20 % of the rows of one label have a wrong verdict (lower bound, shared among all subsets).

    Only if no mistake of the whole dataset is shown: what is true of all rows may be the opposite in a part of them (Simpson
    1951). Subsets are named by the column `topic`.
    """
    labels = case.labels[case.rows]
    if case.context is None or not (labels >= 0).any():
        return  # before the topics are read, which takes longer than all other steps
    names = case.context.topics
    if names is None:
        return
    topics = np.array([names[row] for row in case.rows], dtype=object)
    values = [value for value in dict.fromkeys(topics) if value is not None]
    if not 1 < len(values) <= _MAX_SUBSETS:
        return
    claims = [
        claim for value in values for label in (0, 1)
        if (claim := _subset_claim(case, str(value), (topics == value) & (labels == label), label)) is not None
    ]  # fmt: skip
    if claims:
        worst = min(claims, key=lambda claim: claim.p)
        yield replace(worst, p=min(1.0, worst.p * len(claims)), plans=False)


def _subset_claim(case: Case, name: str, inside: NDArray[np.bool_], label: int) -> Claim | None:
    if inside.sum() < _MIN_ROWS:
        return None
    wrong = case.accepted if label == 0 else ~case.accepted
    mistakes = share(wrong[inside], compact(case.scored_groups[inside]))
    verb, kind = ("accepts", "known-bad") if label == 0 else ("rejects", "known-good")
    others = (case.labels[case.rows] == label) & ~inside
    elsewhere = f", elsewhere {percent(float(wrong[others].mean()))}" if others.any() else ""
    message = (
        f"wrong on one subset: of {one_line(name, 40)!r} it {verb} {mistakes.k:,} of {mistakes.n:,} {kind} rows"
        f"{elsewhere}; here {percent(mistakes.value)}"
    )
    advice = "read these rows: the overall result hides the errors in this subset"
    finding = case.finding(
        "subset-mistakes", Severity.WARNING, "share wrong in the subset", message, advice,
        case.rows[inside & wrong], unit=f"{kind} row",
    )  # fmt: skip
    return share_claim(finding, mistakes, _LIMIT)


@diagnostic("few-levels", unless=("same-score", "narrow-range", "saturated-high", "saturated-low"))
def few_levels(case: Case) -> Iterable[Claim]:
    """Over 90 % of the scores on two levels of a scale of integers, such as 3 and 4 of 1 to 5 (lower bound).

    Judges use few of the available levels: Stureborg 2024, arXiv 2405.01724. Not for scales of two or three levels,
    and not if the two are the ends: that is a verdict.
    """
    lo, hi = case.scale
    whole = hi - lo + 1  # infinite on the widest scales, which have no levels
    scores = case.grades.scores[case.rows]
    if (
        case.is_tiny
        or not _WHOLE_LEVELS <= whole <= _MAX_LEVELS
        or not _all_whole(scores)
        or not case.on_scale
    ):
        return
    levels, counts = np.unique(scores, return_counts=True)
    if len(levels) < 2:
        return
    used = np.sort(levels[np.argsort(-counts, kind="stable")[:2]])
    if used[0] == lo and used[1] == hi:
        return
    stuck = np.isin(scores, used)
    message = (
        f"uses two levels of {whole:g}: {percent(float(stuck.mean()))} of {len(scores):,} scores are "
        f"{used[0]:g} or {used[1]:g}"
    )
    advice = "define in the criterion what each level means, with an example of each"
    finding = case.finding(
        "few-levels", Severity.WARNING, "share on two levels", message, advice, case.rows[stuck]
    )
    yield share_claim(finding, share(stuck, case.scored_groups), _STUCK)


def _all_whole(scores: NDArray[np.float64]) -> bool:
    return bool(len(scores)) and bool((scores == np.round(scores)).all())
