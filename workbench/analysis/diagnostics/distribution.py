"""Findings about the distribution of the scores, over all rows and within prompts.

A high mean is not leniency: good completions deserve high scores. So these findings only describe where the scores are;
*too lenient* needs known-bad rows, see `label_agreement`. Scores with little variance may still rank good above bad, which
is all that group-relative training needs: if labels show that they do, the findings about spread are notes.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from math import nan

import numpy as np
from numpy.typing import NDArray

from workbench.analysis.case import Case, Claim, bootstrap_claim, claim_of, share_claim
from workbench.analysis.diagnostics import diagnostic
from workbench.analysis.finding import Finding, RowNumbers, Severity, percent
from workbench.analysis.statistics import (
    LEVELS,
    SAME,
    Interval,
    group_spans,
    group_sums,
    icc_of,
    level_counts,
    levels,
    levels_of,
    sample_sd,
)
from workbench.analysis.statistics.means import likely_scale, share
from workbench.analysis.statistics.noise import sd_interval, squared_spread
from workbench.analysis.statistics.resampling import bootstrap

# Scores and sds on a scale of 0 to 1, shares of scored rows. Numbers without a source are this project's choice.
_CEILING, _FLOOR = 0.95, 0.05  # the outermost twentieth, one bin of the histogram
_SATURATED, _NEARLY = 0.9, 0.8
_LEVELS, _FEW_LEVELS = 1.5, 3.0  # effective levels of 21 (Hill 1973); 2 is an even pass/fail
_CONTINUOUS = 6  # distinct scores: more than a pass/fail or five-point scale has
_SD = 0.1  # sample sd: the threshold of the `seed` and `vllora` presets, here for a bound
_NARROW = 0.05  # distance from the median: together a tenth of the scale
_RANKS = 0.7  # AUROC above which scores separate good from bad, by the usual interpretation of the curve

_LABEL_BAD = "label some known-bad rows: only they distinguish a lenient grader from good completions"
_LABEL_GOOD = "label some known-good rows: only they distinguish a strict grader from bad completions"
_READ_BAD = (
    "review its scores of the known-bad rows: only they distinguish a lenient grader from good completions"
)
_READ_GOOD = (
    "review its scores of the known-good rows: only they distinguish a strict grader from bad completions"
)
_FINER = "make the grader distinguish more levels, and define each level"
_LABELLED = (
    "writer-bias",
    "accepts-known-bad",
    "too-lenient",
    "too-strict",
    "disagrees-with-labels",
    "no-better-than-chance",
)


@diagnostic("same-score", explains=(*_LABELLED, "zero-variance-groups", "prompt-decides"))
def same_score(case: Case) -> Iterable[Claim]:
    """Every row has the same score, and over 90 % of all rows would (lower bound): 36 rows show it."""
    scores = case.scores
    if case.is_tiny or case.varies:
        return
    n = len(scores)
    message = f"gives every row the same score, {case.in_units(float(scores[0])):.4g} on {n:,} of {n:,} rows"
    advice = "read its code or its prompt: no difference between the rows changes this score"
    statistic = "share with one score"
    finding = case.finding("same-score", Severity.WARNING, statistic, message, advice, case.rows)
    yield share_claim(finding, share(np.ones(n, bool), case.scored_groups), _SATURATED)


@diagnostic("saturated-high", explains=("collapsed", "no-variance", "zero-variance-groups"))
def saturated_high(case: Case) -> Iterable[Claim]:
    """Over 90 % of scores in the top twentieth of the scale (lower bound; a note over 80 %).

    Floor and ceiling effects: Terwee 2007, "Quality criteria were proposed for measurement properties of health
    status questionnaires".
    """
    if _has_shape(case):
        end = f"{case.in_units(_CEILING):.4g} or above"
        yield from _saturated(
            case,
            "saturated-high",
            case.scores >= _CEILING - SAME,
            end,
            _READ_BAD if (case.labels == 0).any() else _LABEL_BAD,
        )


@diagnostic("saturated-low", explains=("collapsed", "no-variance", "zero-variance-groups"))
def saturated_low(case: Case) -> Iterable[Claim]:
    """Over 90 % of scores in the lowest twentieth of the scale (lower bound; a note over 80 %)."""
    if _has_shape(case):
        end = f"{case.in_units(_FLOOR):.4g} or below"
        yield from _saturated(
            case,
            "saturated-low",
            case.scores <= _FLOOR + SAME,
            end,
            _READ_GOOD if (case.labels == 1).any() else _LABEL_GOOD,
        )


def _saturated(case: Case, kind: str, flags: NDArray[np.bool_], end: str, advice: str) -> Iterable[Claim]:
    if flags.mean() <= _NEARLY:
        return
    end_share = share(flags, case.scored_groups)
    place = "top" if kind.endswith("high") else "bottom"
    counts = f"{percent(end_share.value)} of {end_share.n:,} scores are {end}"
    message = f"nearly every score is at the {place}: {counts}"
    finding = case.finding(kind, Severity.WARNING, f"share at {end}", message, advice, case.rows[flags])
    yield share_claim(finding, end_share, _SATURATED)
    note = replace(finding, severity=Severity.NOTE, message=f"most scores are at the {place}: {counts}")
    yield share_claim(note, end_share, _NEARLY)


@diagnostic("collapsed")
def collapsed(case: Case) -> Iterable[Claim]:
    """Fewer than 1.5 effective levels of 21 (upper bound, with one additional unseen level).

    A note below 3 if six or more distinct scores indicate a continuous scale (judges use few of its levels: Stureborg
    2024, arXiv 2405.01724). Not for graders that only give 0 or 1: *saturated* covers them.
    """
    if not _has_shape(case) or np.isin(case.scores, (0.0, 1.0)).all():
        return
    if levels_of(np.bincount(levels(case.scores), minlength=LEVELS).astype(float)) >= _FEW_LEVELS:
        return
    counts = level_counts(case.scores)
    boot = bootstrap(counts, levels_of, groups=case.scored_groups, unseen=_rarest(counts))
    uses = f"{boot.value:.2f} of {LEVELS} effective levels"
    message = f"collapsed: hardly more than one level of the scale is in use, {uses}"
    finding = _about_spread(case, "collapsed", "levels in use", message)
    yield bootstrap_claim(finding, boot, _LEVELS)
    # Rounded: scores that differ only by rounding are one level.
    if len(np.unique(np.round(case.scores, 9))) >= _CONTINUOUS:
        message = f"nearly collapsed: few levels of the scale are in use, {uses}"
        yield bootstrap_claim(replace(finding, severity=Severity.NOTE, message=message), boot, _FEW_LEVELS)


def _rarest(counts: NDArray[np.float64]) -> NDArray[np.float64]:
    """One row on the least used level: it would raise the number of levels most."""
    row: NDArray[np.float64] = np.zeros(counts.shape[1])
    row[int(counts.sum(0).argmin())] = 1.0
    return row


@diagnostic("no-variance")
def no_variance(case: Case) -> Iterable[Claim]:
    """Sample sd (ddof=1) below a tenth of the scale (upper bound, which allows for unseen scores).

    Training on rewards of low variance is slow even if they are accurate: Razin 2025, arXiv 2503.15477.
    """
    if not _has_shape(case):
        return
    sd, span = sample_sd(case.scores), case.span
    if sd >= _SD:
        return
    squares = squared_spread(case.scores, case.scored_groups)
    message = f"scores hardly vary: their sd (ddof=1) is {sd * span:.3g}"
    finding = replace(_about_spread(case, "no-variance", "sd", message), value=sd * span)
    p = squares.p_below(min(_SD**2, squares.high))
    yield claim_of(finding, p, _SdInterval(case), limit=_SD * span, units=squares.clusters)


class _SdInterval:
    """Function from a confidence level to the interval of the sd, in the user's units."""

    def __init__(self, case: Case) -> None:
        self._case = case

    def __call__(self, confidence: float) -> Interval:
        lo, hi = sd_interval(self._case.scores, self._case.scored_groups, confidence=confidence)
        return Interval(lo * self._case.span, hi * self._case.span)


@diagnostic("narrow-range", explains=("collapsed", "no-variance", "zero-variance-groups"))
def narrow_range(case: Case) -> Iterable[Claim]:
    """Over 90 % of scores within a twentieth of the scale from their median (lower bound).

    Like *no variance*, but decidable with fewer rows: an sd may depend on one rare distant score, a share
    does not.
    """
    if not _has_shape(case):
        return
    centre = float(np.median(case.scores))
    if not _FLOOR < centre < _CEILING:
        return
    close = np.abs(case.scores - centre) <= _NARROW + SAME
    if close.mean() <= _SATURATED:
        return
    near = share(close, case.scored_groups)
    lo, hi = (case.in_units(end) for end in (centre - _NARROW, centre + _NARROW))
    message = f"nearly all scores are close together: {percent(near.value)} of {near.n:,} between {lo:.4g} and {hi:.4g}"
    yield share_claim(
        _about_spread(case, "narrow-range", "share close to the median", message), near, _SATURATED
    )


def _has_shape(case: Case) -> bool:
    """Whether there are enough scores on the scale, and not all are equal: *same score* covers that."""
    return case.on_scale and case.varies and not case.is_tiny


def _about_spread(case: Case, kind: str, statistic: str, message: str) -> Finding:
    nearest = case.rows[np.argsort(np.abs(case.scores - np.median(case.scores)), kind="stable")]
    severity, advice = Severity.WARNING, _FINER
    if case.separation[1].lo > _RANKS:
        severity = Severity.NOTE
        ranks = f"good rows still score above bad ones (AUROC {case.separation[0]:.2f})"
        advice = f"{ranks}: sufficient for group-relative training, which ranks; the pass threshold must be between the two"
    finding = case.finding(kind, severity, statistic, message, advice, RowNumbers(nearest))
    return replace(finding, n=len(case.scores))


@diagnostic("out-of-scale", presets=("workbench", "seed"), explains=_LABELLED)
def out_of_scale(case: Case) -> Iterable[Finding]:
    """Scores outside the scale: a fact, because of which saturation, levels and variance are not judged."""
    if not case.off_scale.any():
        return
    scores, (lo, hi) = case.grades.scores[case.rows], case.scale
    worst = np.argsort(-np.abs(case.scores - 0.5), kind="stable")
    rows = case.rows[worst][case.off_scale[worst]]
    message = (
        f"{len(rows):,} of {len(scores):,} scores are outside {lo:g} to {hi:g}, from {scores.min():.4g} "
        f"to {scores.max():.4g}, so saturation, levels and variance were not judged"
    )
    likely = likely_scale(scores)
    ends = "(lowest, highest)" if likely is None else f"({likely[0]:g}, {likely[1]:g})"
    advice = f"return scores from {lo:g} to {hi:g}, or pass the scale: diagnose(scale={ends})"
    finding = case.finding(
        "out-of-scale", Severity.WARNING, "share outside the scale", message, advice, RowNumbers(rows)
    )
    yield replace(finding, value=len(rows) / len(scores), n=len(scores))


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
    zero_variance = several & (spans <= SAME)
    zero_variance_share = share(zero_variance[several])
    rows = case.rows[zero_variance[case.scored_groups]]
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
