"""The shape of the scores: at one end, on one level, without spread, or off the scale.

A high mean is not leniency: good answers deserve high scores. So the findings here say *saturated*; *too
lenient* needs known-bad rows, see `agreement`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from math import ceil, nan

import numpy as np
from numpy.typing import NDArray

from workbench.diagnostics.case import Case
from workbench.diagnostics.claim import Claim, bootstrap_claim, share_claim
from workbench.diagnostics.finding import Finding, Severity, percent
from workbench.diagnostics.registry import diagnostic
from workbench.diagnostics.row_numbers import RowNumbers
from workbench.statistics import bootstrap, effective_n, share
from workbench.statistics.resampling import sd_bootstrap
from workbench.statistics.spread import SAME, level_counts, levels_of

__all__ = ["collapsed", "no_variance", "out_of_scale", "saturated_high", "saturated_low"]

# Scores and sds on a scale of 0 to 1, shares of scored rows. Where no source is named, the number is this project's.
_CEILING, _FLOOR = 0.95, 0.05  # the outermost twentieth, one bin of the histogram
_SATURATED, _NEARLY = 0.9, 0.8
_SATURATED_ROWS, _NEARLY_ROWS = (
    35,
    16,
)  # so many rows, all at the end, have a 95 % lower bound above 0.9 and 0.8
_SPREAD_ROWS = 20  # by simulation a bootstrap bound calls a healthy grader (sd 0.16) flat in 9 % of runs at 5 rows, 0 at 20
_LEVELS, _FEW_LEVELS = 1.5, 3.0  # effective levels of 21 (Hill 1973); 2 is an even pass/fail
_CONTINUOUS = 6  # distinct scores: more than a pass/fail or five-point scale has
_SD = 0.1  # sample sd: the cut-off of the `seed` and `vllora` presets, here against a bound


@diagnostic("saturated-high")
def saturated_high(case: Case) -> Iterable[Claim]:
    """Over 90 % of scores at 0.95 or above (lower bound; a note over 80 %), from 35 (16) rows on.

    Floor and ceiling effects: Terwee 2007, "Quality criteria were proposed for measurement properties of health
    status questionnaires".
    """
    if case.on_scale and not case.is_tiny:
        template = f"saturated high, {{}} of {{}} scores at {_CEILING} or above"
        advice = "label some known-bad rows: only they tell a lenient grader from good answers"
        yield from _saturated(case, "saturated-high", case.scores >= _CEILING - SAME, template, advice)


@diagnostic("saturated-low")
def saturated_low(case: Case) -> Iterable[Claim]:
    """Over 90 % of scores at 0.05 or below (lower bound; a note over 80 %), from 35 (16) rows on."""
    if case.on_scale and not case.is_tiny:
        template = f"saturated low, {{}} of {{}} scores at {_FLOOR} or below"
        advice = "label some known-good rows: only they tell a strict grader from bad answers"
        yield from _saturated(case, "saturated-low", case.scores <= _FLOOR + SAME, template, advice)


def _saturated(
    case: Case, kind: str, flags: NDArray[np.bool_], template: str, advice: str
) -> Iterable[Claim]:
    end_share = share(flags, case.scored_groups)
    message = template.format(percent(end_share.value), f"{end_share.n:,}")
    statistic = f"share at {_CEILING} or above" if kind.endswith("high") else f"share at {_FLOOR} or below"
    finding = case.finding(kind, Severity.WARNING, statistic, message, advice, case.rows[flags])
    note = replace(finding, severity=Severity.NOTE, message=f"nearly {message}")
    yield share_claim(finding, end_share, _SATURATED, missing=_SATURATED_ROWS - end_share.n)
    yield share_claim(note, end_share, _NEARLY, missing=_NEARLY_ROWS - end_share.n)


@diagnostic("collapsed")
def collapsed(case: Case) -> Iterable[Claim]:
    """Fewer than 1.5 levels of 21 in real use (upper bound), from 20 rows on.

    A note below 3 where six or more distinct scores show a continuous scale (judges use few of its levels: Stureborg
    2024, arXiv 2405.01724). Not for graders that only give 0 or 1: *saturated* covers them.
    """
    if not case.on_scale or case.is_tiny or np.isin(case.scores, (0.0, 1.0)).all():
        return
    boot = bootstrap(level_counts(case.scores), levels_of, groups=case.scored_groups)
    levels = f"the scores use {boot.value:.2f} levels in effect, out of 21 between 0 and 1"
    finding = _about_spread(
        case, "collapsed", "levels in use", f"collapsed, {levels}", np.median(case.scores)
    )
    yield bootstrap_claim(finding, boot, _LEVELS, missing=_missing_rows(case))
    # Rounded: scores that differ by rounding alone are one level.
    if len(np.unique(np.round(case.scores, 9))) >= _CONTINUOUS:
        note = replace(finding, severity=Severity.NOTE, message=f"nearly collapsed, {levels}")
        yield bootstrap_claim(note, boot, _FEW_LEVELS, missing=_missing_rows(case))


@diagnostic("no-variance")
def no_variance(case: Case) -> Iterable[Claim]:
    """Sample sd (ddof=1) below 0.1 (bootstrap upper bound), from 20 rows on.

    Training on rewards that hardly differ is slow however accurate they are: Razin 2025, arXiv 2503.15477.
    """
    if not case.on_scale or case.is_tiny:
        return
    boot = sd_bootstrap(case.scores, case.scored_groups)
    message = f"no variance, the scores' sd (ddof=1) is {boot.value:.3g}"
    finding = _about_spread(case, "no-variance", "sd", message, np.median(case.scores))
    yield bootstrap_claim(finding, boot, _SD, missing=_missing_rows(case))


def _about_spread(case: Case, kind: str, statistic: str, message: str, centre: float) -> Finding:
    nearest = case.rows[np.argsort(np.abs(case.scores - centre), kind="stable")]
    advice = "ask the grader for finer distinctions, and say what each level means"
    n = len(case.scores)
    return Finding(
        case.grader, kind, Severity.WARNING, statistic, nan, None, n, 0, message, advice, RowNumbers(nearest)
    )


def _missing_rows(case: Case) -> int:
    """Rows missing for 20 independent ones: rows whose scores are alike within prompts count for less."""
    n = len(case.scores)
    independent = effective_n(case.scores, case.scored_groups)
    return ceil((_SPREAD_ROWS - independent) * n / independent - 1e-9) if n else _SPREAD_ROWS


@diagnostic("out-of-scale", presets=("workbench", "seed"))
def out_of_scale(case: Case) -> Iterable[Finding]:
    """Scores outside the scale: a fact, and the reason why nothing is said about saturation, levels and variance."""
    if not case.off_scale.any():
        return
    scores, (lo, hi) = case.grades.scores[case.rows], case.scale
    worst = np.argsort(-np.abs(case.scores - 0.5), kind="stable")
    rows = case.rows[worst][case.off_scale[worst]]
    message = (
        f"{len(rows):,} of {len(scores):,} scores lie outside {lo:g} to {hi:g}, from {scores.min():.4g} "
        f"to {scores.max():.4g}, so saturation, levels and variance were not judged"
    )
    yield Finding(
        case.grader,
        "out-of-scale",
        Severity.WARNING,
        "share outside the scale",
        len(rows) / len(scores),
        None,
        len(scores),
        0,
        message,
        f"return scores from {lo:g} to {hi:g}, or name the scale: diagnose(scale=(lowest, highest))",
        RowNumbers(rows),
    )
