"""A claim: a statistic that may be past its threshold; whether there are enough rows to say so is decided here.

Diagnostics yield claims; `decide` turns them into findings:

* A claim whose estimate is not past its threshold is dropped: it cannot fire.
* A claim with fewer rows than its minimum, or whose bound cannot decide, says how many more rows it needs.
* Verdicts (errors and warnings) of one diagnosis share Holm's correction at 5 %. Claims enter with
  twice their one-sided p value: having dropped the claims with p above a half, p / 0.5 is what
  remains to be corrected (Zhao, Small & Su 2019, "Multiple testing when many p-values are uniformly
  conservative"). One claim alone is then judged by the end of its ordinary 95 % interval.
* The interval shown is the one at the corrected level: it excludes the threshold when the claim fires.
* Notes are no verdicts and stay at 95 %.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace

from workbench.diagnostics.finding import Finding, Severity
from workbench.statistics import Bootstrap, Estimate, Interval, Share, holm

__all__ = ["Claim", "bootstrap_claim", "decide", "estimate_claim", "share_claim"]

_ALPHA = 0.05  # chance of even one false verdict in a diagnosis, the usual 5 %
_MAX_GROWTH = 1e6  # times the present rows: a larger number is no advice


@dataclass(frozen=True)
class Claim:
    """One statistic against one threshold.

    Attributes:
        finding: The finding if the claim holds; `decide` fills in its interval, needed and confidence.
        p: One-sided p value of "not past the threshold".
        interval: Function from a confidence level to the interval.
        needed: Function from a confidence level to the rows still needed; None where no number of rows would do.
        missing: How many rows fewer there are than the diagnostic's minimum; 0 where there are enough.
    """

    finding: Finding
    p: float
    interval: Callable[[float], Interval] = field(repr=False)
    needed: Callable[[float], int | None] = field(repr=False)
    missing: int = 0

    @property
    def is_verdict(self) -> bool:
        """Whether this is more than a note."""
        return self.finding.severity is not Severity.NOTE


def share_claim(finding: Finding, share: Share, threshold: float, *, missing: int = 0) -> Claim:
    """The claim that a share lies above `threshold`."""
    return Claim(
        replace(finding, value=share.value, n=share.n),
        share.p_above(threshold),
        share.interval,
        lambda confidence: share.needed_above(threshold, confidence),
        max(missing, 0),
    )


def bootstrap_claim(
    finding: Finding, boot: Bootstrap, threshold: float, *, above: bool = False, missing: int = 0
) -> Claim:
    """The claim that a bootstrapped statistic lies below (or, with `above`, above) `threshold`.

    The rows still needed are estimated as if the interval's half-width shrank with the square root of the rows.
    """

    def interval(confidence: float) -> Interval:
        # Not BCa: only the percentile interval excludes the threshold exactly when p is small enough.
        return boot.interval(confidence, bca=False)

    def needed(confidence: float) -> int | None:
        distance = abs(threshold - boot.value)
        bound = interval(confidence).lo if above else interval(confidence).hi
        growth = (abs(bound - boot.value) / distance) ** 2 if distance > 0 else float("inf")
        return None if growth > _MAX_GROWTH or math.isnan(growth) else max(1, round(finding.n * (growth - 1)))

    p = boot.p_above(threshold) if above else boot.p_below(threshold)
    # The draws may be biased: their p value can be below a half where the estimate is not past the threshold.
    is_past = boot.value > threshold if above else boot.value < threshold
    return Claim(replace(finding, value=boot.value), p if is_past else 1.0, interval, needed, max(missing, 0))


def estimate_claim(
    finding: Finding, estimate: Estimate, threshold: float, *, missing: int = 0, plan_rows: bool = True
) -> Claim:
    """The claim that an estimate lies below `threshold`; without `plan_rows` nothing is said until it is shown."""

    def needed(confidence: float) -> int | None:
        return estimate.needed(threshold, confidence) if plan_rows else None

    p = estimate.p_below(threshold)
    return Claim(replace(finding, value=estimate.value), p, estimate.interval, needed, max(missing, 0))


def decide(claims: Iterable[Claim]) -> list[Finding]:
    """Judge claims together: one finding for each grader and kind, a decided one before one that needs more rows."""
    candidates = [claim for claim in claims if claim.p <= 0.5]  # a half: the estimate is past the threshold
    levels = _levels(candidates)
    # Claims outside the family, notes among them, keep the plain level.
    judged = [_judge(claim, *levels.get(id(claim), (2 * claim.p <= _ALPHA, _ALPHA))) for claim in candidates]
    return _one_per_kind(finding for finding in judged if finding is not None)


def _levels(claims: list[Claim]) -> dict[int, tuple[bool, float]]:
    # A claim with too few rows cannot become a verdict, and must not make the others' levels stricter.
    family = [claim for claim in claims if claim.is_verdict and not claim.missing]
    results = holm([2 * claim.p for claim in family], alpha=_ALPHA)
    return {id(claim): result for claim, result in zip(family, results, strict=True)}


def _judge(claim: Claim, is_shown: bool, level: float) -> Finding | None:
    at_level = replace(claim.finding, interval=claim.interval(1 - level), confidence=1 - level)
    if is_shown and not claim.missing:
        return at_level
    needed = claim.needed(1 - level) or 0
    if not needed and not claim.missing:
        return None
    missing = max(needed, claim.missing)
    message = f"perhaps {claim.finding.message}"
    return (
        replace(at_level, severity=Severity.NOTE, needed=missing, message=message)
        if claim.is_verdict
        else None
    )


def _one_per_kind(findings: Iterable[Finding]) -> list[Finding]:
    best: dict[tuple[str, str], Finding] = {}
    for finding in findings:
        key = (finding.grader, finding.kind)
        best[key] = _decided(best[key], finding) if key in best else finding
    return list(best.values())


def _decided(a: Finding, b: Finding) -> Finding:
    """The one of two that needs fewer rows; a decided note also carries what its undecided verdict still needs."""
    decided, undecided = (a, b) if a.needed <= b.needed else (b, a)
    if decided.severity is not Severity.NOTE:
        return decided
    return replace(decided, needed=undecided.needed)
