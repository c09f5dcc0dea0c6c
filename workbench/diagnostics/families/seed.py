"""Preset `seed`: fixed cut-offs on the rows there are, as the grader-setup documents give them.

All scores above 0.9 "too lenient", all below 0.1 "too strict", std below 0.1 "no variance". They are
reported literally, without an interval: on five rows they call about one healthy grader in six bad.
The documents do not say which std; the rule here reads the sample std (ddof=1) and names both.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import sqrt

from workbench.diagnostics.case import Case
from workbench.diagnostics.finding import Finding, Severity
from workbench.diagnostics.registry import diagnostic
from workbench.diagnostics.row_numbers import RowNumbers
from workbench.display_text import counted
from workbench.statistics import sample_sd

__all__ = ["lenient_rule", "strict_rule", "variance_rule"]

_HIGH, _LOW, _STD = 0.9, 0.1, 0.1


@diagnostic("seed-too-lenient", presets=("seed",))
def lenient_rule(case: Case) -> Iterable[Finding]:
    """All scores above 0.9."""
    if len(case.scores) and (case.scores > _HIGH).all():
        least = float(case.scores.min())
        said = f"all scores are above {_HIGH}, the lowest is {least:.4g} (too lenient)"
        advice = "add stricter criteria"
        yield _fired(case, "seed-too-lenient", said, advice, least)


@diagnostic("seed-too-strict", presets=("seed",))
def strict_rule(case: Case) -> Iterable[Finding]:
    """All scores below 0.1."""
    if len(case.scores) and (case.scores < _LOW).all():
        most = float(case.scores.max())
        said = f"all scores are below {_LOW}, the highest is {most:.4g} (too strict)"
        advice = "relax the criteria or expect less"
        yield _fired(case, "seed-too-strict", said, advice, most)


@diagnostic("seed-no-variance", presets=("seed",))
def variance_rule(case: Case) -> Iterable[Finding]:
    """Sample std (ddof=1) below 0.1; needs two scores."""
    sample = sample_sd(case.scores)
    if sample < _STD:
        n = len(case.scores)
        population = sample * sqrt((n - 1) / n)
        said = f"std is below {_STD}: sample {sample:.3g} (ddof=1), population {population:.3g} (no variance)"
        advice = "the criteria may be too vague: be specific"
        yield _fired(case, "seed-no-variance", said, advice, sample)


def _fired(case: Case, kind: str, said: str, advice: str, value: float) -> Finding:
    n, proof = len(case.scores), RowNumbers(case.rows)
    statistic = {"seed-too-lenient": "lowest score", "seed-too-strict": "highest score"}.get(kind, "std")
    message = f"seed rule fired, on {counted(n, 'row')}, no interval; {said}"
    return Finding(case.grader, kind, Severity.WARNING, statistic, value, None, n, 0, message, advice, proof)
