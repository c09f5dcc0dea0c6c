"""The shape of the scores: at one end, on one level, without spread, or off the scale.

A high mean is not leniency: good answers deserve high scores. So this file says *saturated*; *too
lenient* takes known-bad rows, in `agreement`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from math import ceil, nan

import numpy as np
from numpy.typing import NDArray

from workbench.diagnostics.case import Case
from workbench.diagnostics.claim import Claim, about_bootstrap, about_share
from workbench.diagnostics.finding import Finding, Severity, percent
from workbench.diagnostics.registry import diagnostic
from workbench.diagnostics.row_numbers import RowNumbers
from workbench.statistics import bootstrap, effective_n, share
from workbench.statistics.resampling import sd_bootstrap
from workbench.statistics.spread import level_counts, levels_of

__all__ = ["collapsed", "no_variance", "out_of_scale", "saturated_high", "saturated_low"]

_CEILING, _FLOOR = 0.95, 0.05
_SATURATED, _NEARLY = 0.9, 0.8
_SATURATED_ROWS, _NEARLY_ROWS = 35, 16  # where n rows, all at the end, first pass 0.9 and 0.8
_SPREAD_ROWS = 20
_LEVELS, _FEW_LEVELS = 1.5, 3.0
_CONTINUOUS = 6  # distinct scores that no pass/fail or five-point scale has
_SD = 0.1


@diagnostic("saturated-high")
def saturated_high(case: Case) -> Iterable[Claim]:
    """Over 90 % of scores at 0.95 or above (lower bound; a note over 80 %), from 35 (16) rows on.

    Floor and ceiling effects: Terwee 2007.
    """
    if case.on_scale and not case.is_tiny:
        what = f"saturated high, {{}} of {{}} scores at {_CEILING} or above"
        advice = "label some known-bad rows: only they tell a lenient grader from good answers"
        yield from _saturated(case, "saturated-high", case.scores >= _CEILING - 1e-9, what, advice)


@diagnostic("saturated-low")
def saturated_low(case: Case) -> Iterable[Claim]:
    """Over 90 % of scores at 0.05 or below (lower bound; a note over 80 %), from 35 (16) rows on."""
    if case.on_scale and not case.is_tiny:
        what = f"saturated low, {{}} of {{}} scores at {_FLOOR} or below"
        advice = "label some known-good rows: only they tell a strict grader from bad answers"
        yield from _saturated(case, "saturated-low", case.scores <= _FLOOR + 1e-9, what, advice)


def _saturated(case: Case, kind: str, flags: NDArray[np.bool_], what: str, advice: str) -> Iterable[Claim]:
    found = share(flags, case.scored_groups)
    said = what.format(percent(found.value), f"{found.n:,}")
    statistic = f"share at {_CEILING} or above" if kind.endswith("high") else f"share at {_FLOOR} or below"
    rows = RowNumbers(case.rows[flags])
    finding = Finding(case.grader, kind, Severity.WARNING, statistic, nan, None, 0, 0, said, advice, rows)
    note = replace(finding, severity=Severity.NOTE, message=f"nearly {said}")
    yield about_share(finding, found, _SATURATED, short=_SATURATED_ROWS - found.n)
    yield about_share(note, found, _NEARLY, short=_NEARLY_ROWS - found.n)


@diagnostic("collapsed")
def collapsed(case: Case) -> Iterable[Claim]:
    """Fewer than 1.5 levels of 21 in real use (upper bound), from 20 rows on.

    A note below 3 where six or more distinct scores show a continuous scale (Stureborg 2024). A
    grader that only ever says 0 or 1 has no scale to collapse: saturation speaks of it.
    """
    if not case.on_scale or case.is_tiny or np.isin(case.scores, (0.0, 1.0)).all():
        return
    boot = bootstrap(level_counts(case.scores), levels_of, groups=case.scored_groups)
    said = f"the scores use {boot.value:.2f} levels in effect, out of 21 between 0 and 1"
    finding = _about_spread(case, "collapsed", "levels in use", f"collapsed, {said}", np.median(case.scores))
    yield about_bootstrap(finding, boot, _LEVELS, short=_short(case))
    if len(np.unique(np.round(case.scores, 9))) >= _CONTINUOUS:
        note = replace(finding, severity=Severity.NOTE, message=f"nearly collapsed, {said}")
        yield about_bootstrap(note, boot, _FEW_LEVELS, short=_short(case))


@diagnostic("no-variance")
def no_variance(case: Case) -> Iterable[Claim]:
    """Sample sd (ddof=1) below 0.1 (bootstrap upper bound), from 20 rows on.

    Scores that hardly differ leave training nothing to climb, whatever their accuracy: Razin 2025,
    arXiv 2503.15477.
    """
    if not case.on_scale or case.is_tiny:
        return
    boot = sd_bootstrap(case.scores, case.scored_groups)
    said = f"no variance, the scores' sd (ddof=1) is {boot.value:.3g}"
    finding = _about_spread(case, "no-variance", "sd", said, np.median(case.scores))
    yield about_bootstrap(finding, boot, _SD, short=_short(case))


def _about_spread(case: Case, kind: str, statistic: str, said: str, centre: float) -> Finding:
    nearest = case.rows[np.argsort(np.abs(case.scores - centre), kind="stable")]
    advice = "ask the grader for finer distinctions, and say what each level means"
    n = len(case.scores)
    return Finding(
        case.grader, kind, Severity.WARNING, statistic, nan, None, n, 0, said, advice, RowNumbers(nearest)
    )


def _short(case: Case) -> int:
    """Rows missing to 20 independent ones: scores that are alike within prompts count for less."""
    n = len(case.scores)
    worth = effective_n(case.scores, case.scored_groups)
    return ceil((_SPREAD_ROWS - worth) * n / worth - 1e-9) if n else _SPREAD_ROWS


@diagnostic("out-of-scale", presets=("workbench", "seed"))
def out_of_scale(case: Case) -> Iterable[Finding]:
    """Scores outside the scale: a fact, and the reason why the rules about its ends stay silent."""
    if not case.off_scale.any():
        return
    scores, (lo, hi) = case.grades.scores[case.rows], case.scale
    worst = np.argsort(-np.abs(case.scores - 0.5), kind="stable")
    rows = case.rows[worst][case.off_scale[worst]]
    said = (
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
        said,
        f"return scores from {lo:g} to {hi:g}, or name the scale: diagnose(scale=(lowest, highest))",
        RowNumbers(rows),
    )
