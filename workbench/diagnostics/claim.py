"""A claim: a statistic past its threshold, before it is known whether the rows can carry it.

Diagnostics hand in claims; `settle` turns them into findings:

* A claim whose estimate is not past its threshold is dropped: it cannot fire.
* A claim short of its minimum of rows, or whose bound cannot decide, says how many more it needs.
* Verdicts (errors and warnings) of one diagnosis share Holm's correction at 5 %. Claims enter with
  twice their one-sided p value: having dropped the claims with p above a half, p / 0.5 is what
  remains to be corrected (Zhao, Small & Su 2019, "Multiple testing when many p-values are uniformly
  conservative"). One claim alone is then judged by the end of its ordinary 95 % interval.
* The interval shown is the one at the corrected level: it excludes the threshold when the claim fires.
* Notes are no verdicts and stay at 95 %.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace

from workbench.diagnostics.finding import Finding, Severity
from workbench.statistics import Bootstrap, Estimate, Interval, Share, holm

__all__ = ["Claim", "about_bootstrap", "about_estimate", "about_share", "settle"]

_ALPHA = 0.05


@dataclass(frozen=True)
class Claim:
    """One statistic against one threshold.

    Attributes:
        finding: What is said if the claim holds; its interval, needed and confidence are filled in.
        p: One-sided p value of "not past the threshold".
        interval: Confidence level to interval.
        needed: Confidence level to rows still needed; None where no number would do.
        short: Rows missing to the diagnostic's minimum.
    """

    finding: Finding
    p: float
    interval: Callable[[float], Interval] = field(repr=False)
    needed: Callable[[float], int | None] = field(repr=False)
    short: int = 0

    @property
    def is_verdict(self) -> bool:
        """Whether this is more than a note."""
        return self.finding.severity is not Severity.NOTE


def about_share(finding: Finding, share: Share, threshold: float, *, short: int = 0) -> Claim:
    """The claim that a share lies above `threshold`."""
    return Claim(
        replace(finding, value=share.value, n=share.n),
        share.p_above(threshold),
        share.interval,
        lambda confidence: share.needed_above(threshold, confidence),
        max(short, 0),
    )


def about_bootstrap(
    finding: Finding, boot: Bootstrap, threshold: float, *, above: bool = False, short: int = 0
) -> Claim:
    """The claim that a bootstrapped statistic lies below (or, with `above`, above) `threshold`.

    Rows still needed are planned on the half-width shrinking with the root of the rows.
    """

    def interval(confidence: float) -> Interval:
        return boot.interval(confidence, bca=False)

    def needed(confidence: float) -> int | None:
        room = abs(threshold - boot.value)
        bound = interval(confidence).lo if above else interval(confidence).hi
        growth = (abs(bound - boot.value) / room) ** 2 if room > 0 else float("inf")
        return None if growth > 1e6 or growth != growth else max(1, round(finding.n * (growth - 1)))  # noqa: PLR0124

    p = boot.p_above(threshold) if above else boot.p_below(threshold)
    past = boot.value > threshold if above else boot.value < threshold
    return Claim(replace(finding, value=boot.value), p if past else 1.0, interval, needed, max(short, 0))


def about_estimate(
    finding: Finding, estimate: Estimate, threshold: float, *, short: int = 0, plans: bool = True
) -> Claim:
    """The claim that an estimate lies below `threshold`; without `plans` it holds its peace until it is shown."""

    def needed(confidence: float) -> int | None:
        return estimate.needed(threshold, confidence) if plans else None

    p = estimate.p_below(threshold)
    return Claim(replace(finding, value=estimate.value), p, estimate.interval, needed, max(short, 0))


def settle(claims: Iterable[Claim]) -> list[Finding]:
    """Judge claims together: one finding a grader and kind, the verdict before a note before a wish."""
    pointing = [claim for claim in claims if claim.p <= 0.5]
    levels = _levels(pointing)
    judged = [_judge(claim, *levels.get(id(claim), (2 * claim.p <= _ALPHA, _ALPHA))) for claim in pointing]
    return _one_a_kind(finding for finding in judged if finding is not None)


def _levels(claims: list[Claim]) -> dict[int, tuple[bool, float]]:
    family = [claim for claim in claims if claim.is_verdict and not claim.short]
    results = holm([2 * claim.p for claim in family], alpha=_ALPHA)
    return {id(claim): result for claim, result in zip(family, results, strict=True)}


def _judge(claim: Claim, fires: bool, level: float) -> Finding | None:
    shown = replace(claim.finding, interval=claim.interval(1 - level), confidence=1 - level)
    if fires and not claim.short:
        return shown
    needed = claim.needed(1 - level) or 0
    if not needed and not claim.short:
        return None
    wish = max(needed, claim.short)
    said = f"perhaps {claim.finding.message}"
    return replace(shown, severity=Severity.NOTE, needed=wish, message=said) if claim.is_verdict else None


def _one_a_kind(findings: Iterable[Finding]) -> list[Finding]:
    best: dict[tuple[str, str], Finding] = {}
    for finding in findings:
        key = (finding.grader, finding.kind)
        best[key] = _better(best[key], finding) if key in best else finding
    return list(best.values())


def _better(one: Finding, two: Finding) -> Finding:
    """The decided one of two; a decided note keeps what its undecided verdict still needs."""
    decided, open_one = (one, two) if one.needed <= two.needed else (two, one)
    if decided.severity is not Severity.NOTE:
        return decided
    return replace(decided, needed=open_one.needed)
