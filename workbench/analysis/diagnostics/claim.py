"""Statistical claims: a statistic that may exceed its limit, and the decision whether there are enough rows to report it.

Diagnostics yield claims; `decide` turns them into findings:

* A claim whose estimate does not exceed its limit is dropped, or reports that the limit is met if it can show that.
* A claim becomes a verdict if its bound exceeds the limit. If not, it is inconclusive, with the number of rows still needed
  if that can be planned.
* Verdicts (errors and warnings) of one diagnosis share Holm's correction at 5 %. Claims enter with
  twice their one-sided p value: having dropped the claims with p above a half, p / 0.5 is what
  remains to be corrected (Zhao, Small & Su 2019, "Multiple testing when many p-values are uniformly
  conservative"). A single claim is then judged by the end of its 95 % interval.
* The displayed interval is the ordinary 95 % one at every level of the verdict.
* Notes are not verdicts and stay at 95 %.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from functools import cache

from workbench.analysis.diagnostics.finding import Finding, Severity, percent
from workbench.analysis.statistics import Bootstrap, Estimate, Interval, Share, growth_needed, holm

_ALPHA = 0.05  # probability of at least one false verdict in a diagnosis, the usual 5 %
_KEEP = "keep these labels to test the next version of the grader"
_MAX_PLANNED = 1_000  # maximum planned rows: more are not worth collecting for one finding


@dataclass(frozen=True)
class Claim:
    """One statistic against one limit.

    Attributes:
        finding: The finding if the claim is shown; `decide` fills in its interval and the rows still needed.
        p: One-sided p value of "not beyond the limit".
        interval: Function from a confidence level to the interval.
        units: Current rows, or prompts, in the finding's unit: the basis of a plan.
        missing: Units missing to the diagnostic's minimum; 0 if there are enough.
        otherwise: The finding if the claim is not a verdict, for example that the limit is met; None for the
            usual note, or nothing.
        plans: Whether more rows of the same kind could decide it.
    """

    finding: Finding
    p: float
    interval: Callable[[float], Interval] = field(repr=False)
    units: int = 0
    missing: int = 0
    otherwise: Finding | None = None
    plans: bool = True

    @property
    def is_verdict(self) -> bool:
        """Whether this is more than a note."""
        return self.finding.severity is not Severity.NOTE

    def needed(self, confidence: float) -> int | None:
        """Additional units needed to decide it with 90 % power; None if the current ones are too few to plan."""
        growth = growth_needed(self.p, (1 - confidence) / 2) if self.plans else None
        more = math.inf if growth is None else self.units * (growth - 1)
        return max(1, math.ceil(more)) if more <= _MAX_PLANNED else None


def claim_of(
    finding: Finding,
    p: float,
    interval: Callable[[float], Interval],
    *,
    limit: float,
    units: int = 0,
    missing: int = 0,
    plans: bool = True,
) -> Claim:
    """A claim from its parts; the default of `units` is the finding's rows."""
    at_limit = replace(finding, limit=limit)
    # Cached: claims of unchanged graders are judged again with those of a changed one.
    return Claim(at_limit, p, cache(interval), units or finding.n, max(missing, 0), plans=plans)


def share_claim(
    finding: Finding, share: Share, threshold: float, *, missing: int = 0, within_limit: str = ""
) -> Claim:
    """The claim that a share exceeds `threshold`.

    Args:
        finding: What it is about.
        share: The share.
        threshold: Its limit.
        missing: Rows missing to the diagnostic's minimum.
        within_limit: The sentence if the share is shown to be below the limit, with "{bound}" for its upper bound; ""
            to report nothing then.
    """
    filled = _in_units(replace(finding, value=share.value, n=share.n), share.units)
    claim = claim_of(
        filled, share.p_above(threshold), share.interval, limit=threshold, units=share.units, missing=missing
    )
    bound = share.upper() if within_limit and share.n else 1.0
    return (
        replace(claim, otherwise=_within_limit(claim.finding, within_limit, bound))
        if bound < threshold
        else claim
    )


def _in_units(finding: Finding, units: int) -> Finding:
    """Plans count prompts if rows share prompts: more completions of the same prompts would add little information."""
    return replace(finding, unit="prompt") if units < finding.n and finding.unit != "prompt" else finding


def _within_limit(finding: Finding, message: str, bound: float) -> Finding:
    """The limit is met: a bound at 95 % confidence, one-sided since only one side matters."""
    text = message.format(bound=percent(bound))
    return replace(
        finding,
        severity=Severity.WITHIN_LIMIT,
        message=f"not {finding.kind.replace('-', ' ')}: {text}",
        interval=Interval(0.0, bound),
        advice=_KEEP,
        rows=(),
    )


def bootstrap_claim(
    finding: Finding, boot: Bootstrap, threshold: float, *, above: bool = False, missing: int = 0
) -> Claim:
    """The claim that a bootstrapped statistic is below (or, with `above`, above) `threshold`."""
    p = boot.p_above(threshold) if above else boot.p_below(threshold)
    filled = _in_units(replace(finding, value=boot.value), boot.units)
    return claim_of(filled, p, boot.interval, limit=threshold, units=boot.units, missing=missing)


def estimate_claim(
    finding: Finding, estimate: Estimate, threshold: float, *, missing: int = 0, plan_rows: bool = True
) -> Claim:
    """The claim that an estimate is below `threshold`; without `plan_rows` nothing is reported until it is shown."""
    p = estimate.p_below(threshold)
    filled = replace(finding, value=estimate.value)
    return claim_of(
        filled, p, estimate.interval, limit=threshold, units=estimate.units, missing=missing, plans=plan_rows
    )


def decide(claims: Iterable[Claim]) -> list[Finding]:
    """Judge claims together: one finding per grader and kind, a conclusive one before an inconclusive one."""
    every = list(claims)
    candidates = [claim for claim in every if claim.p <= 0.5]  # a half: the estimate exceeds the limit
    levels = _levels(candidates)
    # Claims outside the family, including notes, have the uncorrected level.
    judged = [_judge(claim, *levels.get(id(claim), (2 * claim.p <= _ALPHA, _ALPHA))) for claim in candidates]
    kept = [claim.otherwise for claim in every if claim.p > 0.5]
    return _one_per_kind(finding for finding in judged + kept if finding is not None)


def _levels(claims: list[Claim]) -> dict[int, tuple[bool, float]]:
    # A claim with too few rows cannot become a verdict, and must not make the others' levels stricter.
    family = [claim for claim in claims if claim.is_verdict and not claim.missing]
    results = holm([2 * claim.p for claim in family], alpha=_ALPHA)
    return {id(claim): result for claim, result in zip(family, results, strict=True)}


def _judge(claim: Claim, is_shown: bool, level: float) -> Finding | None:
    finding = replace(claim.finding, interval=claim.interval(0.95), claims=max(1, round(_ALPHA / level)))
    if is_shown and not claim.missing:
        return finding
    if claim.otherwise is not None or not claim.is_verdict or not (claim.plans or claim.missing):
        return claim.otherwise
    planned = claim.needed(1 - level)
    needed = 0 if planned is None else max(planned, claim.missing)
    message = f"possibly {finding.message}"
    return replace(finding, severity=Severity.NOTE, needed=needed, message=message, undecided=True)


def _one_per_kind(findings: Iterable[Finding]) -> list[Finding]:
    best: dict[tuple[str, str], Finding] = {}
    for finding in findings:
        key = (finding.grader, finding.kind)
        best[key] = _decided(best[key], finding) if key in best else finding
    return list(best.values())


def _decided(a: Finding, b: Finding) -> Finding:
    """The conclusive one of two; a conclusive note also carries the rows that its inconclusive verdict needs."""
    decided, undecided = (b, a) if a.undecided and not b.undecided else (a, b)
    if decided.severity is not Severity.NOTE or decided.undecided:
        return decided
    return replace(decided, needed=undecided.needed)
