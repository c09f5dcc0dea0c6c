"""Preset `seed`: fixed thresholds on the available rows, as in the grader-setup documents.

All scores above 0.9 "too lenient", all below 0.1 "too strict", std below 0.1 "no variance". They are
applied literally, without an interval: on five rows they report about one valid grader in six (by simulation).
The documents do not specify which std; here the sample std (ddof=1) decides, and the message gives both.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import sqrt

from workbench.analysis.diagnostics.case import Case
from workbench.analysis.diagnostics.finding import Finding, Severity
from workbench.analysis.diagnostics.registry import diagnostic
from workbench.analysis.diagnostics.row_numbers import RowNumbers
from workbench.analysis.statistics import sample_sd
from workbench.core.display_text import counted

__all__ = ["lenient_rule", "strict_rule", "variance_rule"]

_HIGH, _LOW, _STD = 0.9, 0.1, 0.1  # on scores of 0 to 1


@diagnostic("seed-too-lenient", presets=("seed",))
def lenient_rule(case: Case) -> Iterable[Finding]:
    """All scores above 0.9."""
    if len(case.scores) and (case.scores > _HIGH).all():
        least = float(case.scores.min())
        message = f"all scores are above {_HIGH}, the lowest is {least:.4g} (too lenient)"
        advice = "add stricter criteria"
        yield _finding(case, "seed-too-lenient", message, advice, least)


@diagnostic("seed-too-strict", presets=("seed",))
def strict_rule(case: Case) -> Iterable[Finding]:
    """All scores below 0.1."""
    if len(case.scores) and (case.scores < _LOW).all():
        most = float(case.scores.max())
        message = f"all scores are below {_LOW}, the highest is {most:.4g} (too strict)"
        advice = "relax the criteria or expect less"
        yield _finding(case, "seed-too-strict", message, advice, most)


@diagnostic("seed-no-variance", presets=("seed",))
def variance_rule(case: Case) -> Iterable[Finding]:
    """Sample std (ddof=1) below 0.1; needs two scores."""
    sample = sample_sd(case.scores)
    if sample < _STD:
        n = len(case.scores)
        population = sample * sqrt((n - 1) / n)
        message = (
            f"std is below {_STD}: sample {sample:.3g} (ddof=1), population {population:.3g} (no variance)"
        )
        advice = "the criteria may be too vague: be specific"
        yield _finding(case, "seed-no-variance", message, advice, sample)


def _finding(case: Case, kind: str, description: str, advice: str, value: float) -> Finding:
    n, evidence = len(case.scores), RowNumbers(case.rows)
    statistic = {"seed-too-lenient": "lowest score", "seed-too-strict": "highest score"}.get(kind, "std")
    message = f"seed rule applies on {counted(n, 'row')}, without an interval; {description}"
    return Finding(
        case.grader, kind, Severity.WARNING, statistic, value, None, n, 0, message, advice, evidence
    )
