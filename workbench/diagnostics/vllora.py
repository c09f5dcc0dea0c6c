"""Preset `vllora`: the dry run's verdict and the readiness gate, literal cut-offs without intervals."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from workbench.diagnostics.case import Case, evidence
from workbench.diagnostics.dry_run import dry_run
from workbench.diagnostics.finding import Finding, Severity
from workbench.diagnostics.readiness import readiness
from workbench.diagnostics.registry import diagnostic

__all__ = ["dry_run_verdict", "readiness_verdict"]

_SEVERITY = {
    "GO": Severity.NOTE,
    "WARNING": Severity.WARNING,
    "NO-GO": Severity.ERROR,
    "PASS": Severity.NOTE,
    "WARN": Severity.WARNING,
    "FAIL": Severity.ERROR,
}
_WORDS = {
    "mean_low": "the mean is below 0.25 (too hard or too strict)",
    "mean_high": "the mean is above 0.65 (too easy or too lenient)",
    "std_low": "the population std is below 0.10 (too flat)",
    "std_high": "the population std is above 0.25",
    "low_success": "fewer than 10 % of scores are above 0",
    "high_perfect": "more than 50 % of scores are perfect",
}


@diagnostic("vllora-dry-run", presets=("vllora",))
def dry_run_verdict(case: Case) -> Iterable[Finding]:
    """GO, WARNING or NO-GO; a row without a score counts as 0, as the script has it."""
    column = np.zeros(len(case.grades))
    column[case.rows] = case.scores
    result = dry_run(column.tolist())
    told = "; ".join(_WORDS[issue.partition(":")[0]] for issue in result.issues) or "nothing stands out"
    missing = len(column) - len(case.rows)
    counted = f", {missing:,} rows without a score counted as 0" if missing else ""
    said = f"dry run {result.verdict}, mean {result.mean:.3g}, std {result.std:.3g}{counted}: {told}"
    advice = (
        "go on to training" if result.verdict == "GO" else "mend the grader or the dataset, then run it again"
    )
    yield Finding(
        case.grader, "vllora-dry-run", _SEVERITY[result.verdict], "mean", result.mean, None, len(column), 0, said, advice,
        evidence(case.rows),
    )  # fmt: skip


@diagnostic("vllora-readiness", presets=("vllora",))
def readiness_verdict(case: Case) -> Iterable[Finding]:
    """PASS, WARN or FAIL on the rows that have a score."""
    result = readiness(case.scores.tolist(), prompts=case.scored_groups.tolist())
    broken = [
        f"{check.name} is {check.value:.3g}, limit {check.limit:g}"
        for check in result.checks
        if not check.holds
    ]
    said = f"readiness gate {result.verdict}: {'; '.join(broken) or 'all checks hold'}"
    yield Finding(
        case.grader, "vllora-readiness", _SEVERITY[result.verdict], "checks that hold",
        float(sum(check.holds for check in result.checks)), None, len(case.rows), 0, said,
        "see what each check asks in workbench.diagnostics.readiness", evidence(case.rows),
    )  # fmt: skip
