"""Contribution of each grader of a suite to the combined score, compared with its weight and its cost."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from workbench.analysis.diagnostics.claim import Claim, bootstrap_claim, share_claim
from workbench.analysis.diagnostics.finding import Severity, percent
from workbench.analysis.diagnostics.suite_case import SuiteCase, missing_units
from workbench.analysis.diagnostics.suite_registry import suite_diagnostic
from workbench.analysis.statistics import Interval, share
from workbench.analysis.statistics.variance_shares import variance_share
from workbench.core.display_text import one_line
from workbench.core.grades import Grades

__all__ = ["decides_little", "effective_weight", "expensive", "price_shares"]

_GAP = 0.2  # a fifth of the whole; this project's limit
_LITTLE = 0.05  # share of rows: one verdict of twenty
_PRICE, _DECISIONS = 0.5, 0.1  # half of the cost for less than a tenth of the verdicts
_SLOW = 0.05  # seconds per row: if all graders together are faster, time does not count as cost


@suite_diagnostic("effective-weight")
def effective_weight(case: SuiteCase) -> Iterable[Claim]:
    """A grader's share of the combined score's variance differs from its weight by over 0.2 (bound), with at least 50 rows.

    The share is w_i cov(s_i, T) / var(T); the shares of a suite sum to 1.
    """
    if case.rule is None or case.parts is None or len(case.rows) < 2:
        return
    for at, (entry, weight) in enumerate(zip(case.entries, case.parts.weights, strict=True)):
        found = case.variance_shares[at]
        # Others could not be claimed; a bootstrap is slow.
        if not abs(found - weight) > _GAP:
            continue
        finding = case.finding(
            entry.name,
            "effective-weight",
            Severity.WARNING,
            "share of the total's variance",
            f"determines {percent(found)} of the variance of {one_line(case.parts.column)} at a weight of {percent(weight)}",
            _weight_advice(case, at),
            np.zeros(len(case.groups), bool),
        )
        boot = variance_share(case.contributions[:, at], case.contributions.sum(1), case.prompts)
        sign = 1 if found > weight else -1
        yield bootstrap_claim(
            replace(finding, n=len(case.rows)),
            boot,
            float(weight + sign * _GAP),
            above=sign > 0,
            missing=missing_units(len(case.rows), case.prompts),
        )


def _weight_advice(case: SuiteCase, at: int) -> str:
    spread = case.contributions.std(0)
    assert case.parts is not None
    weights = case.parts.weights
    if not spread[at] > 0:
        return "its scores do not vary, so its weight has no effect: fix or remove the grader"
    # Weights that give contributions of equal spread a size in proportion to the intended weight.
    wanted = np.divide(weights**2, spread, out=np.zeros_like(weights), where=spread > 0)
    return (
        f"its scores vary {'more' if spread[at] > spread.mean() else 'less'} than the others': a weight of about "
        f"{wanted[at] / wanted.sum():.2g} (of 1) would give it the intended influence, or scale all scores to one spread"
    )


@suite_diagnostic("decides-little")
def decides_little(case: SuiteCase) -> Iterable[Claim]:
    """A note if omitting a grader would change less than 5 % of the combined verdicts (upper bound).

    Omitted if the verdicts do not differ, and if no grader decides more: then all agree, which shows nothing about one.
    """
    if (
        case.rule is None
        or len(case.entries) < 2
        or len(case.rows) < 2
        or case.accepted.all()
        or not case.accepted.any()
    ):
        return
    decisions = {entry.name: case.decides(entry.name) for entry in case.entries if entry.weight > 0}
    little = {name: turned for name, turned in decisions.items() if turned.mean() <= _LITTLE}
    for name, turned in little.items() if len(little) < len(decisions) else ():
        finding = case.finding(
            name,
            "decides-little",
            Severity.NOTE,
            "share of verdicts changed",
            f"decides little: without it {int(turned.sum()):,} of {len(turned):,} combined verdicts would change",
            "remove it, give it more weight, or keep it for the information next to the verdict",
            case.among_all(turned),
        )
        yield _at_most(share_claim(finding, share(~turned, case.prompts), 1 - _LITTLE))


@suite_diagnostic("expensive")
def expensive(case: SuiteCase) -> Iterable[Claim]:
    """A grader causes over half of the cost (or time) and decides under 10 % of the combined verdicts (upper bound)."""
    if case.rule is None or len(case.rows) < 2 or len(case.entries) < 2:
        return
    for what, shares in price_shares(case).items():
        for entry, price in zip(case.entries, shares, strict=True):
            if not price > _PRICE:
                continue
            turned = case.decides(entry.name)
            part = share(~turned, case.prompts)
            finding = case.finding(
                entry.name,
                "expensive",
                Severity.WARNING,
                "share of verdicts changed",
                f"expensive: {percent(price)} of the {what} for {percent(1 - part.value)} of the decisions",
                "run it only where the cheaper graders leave the verdict open, or use a cheaper one",
                case.among_all(turned),
            )
            yield _at_most(
                share_claim(
                    finding, part, 1 - _DECISIONS, missing=missing_units(len(case.rows), case.prompts)
                )
            )
        return  # money if it is known, else time


def price_shares(case: SuiteCase) -> dict[str, list[float]]:
    """Each entry's share of the money and of the time that all entries took; without unknown or negligible ones."""
    columns = [case.grades[entry.name] for entry in case.entries]
    money, seconds = ([_total(grades, name) for grades in columns] for name in ("cost", "seconds"))
    slow = sum(seconds) > _SLOW * len(case.groups)
    totals = {"money": money if sum(money) > 0 else [], "time": seconds if slow else []}
    return {what: [value / sum(values) for value in values] for what, values in totals.items() if values}


def _total(grades: Grades, column: str) -> float:
    return float(np.nansum(getattr(grades, column)))


def _at_most(claim: Claim) -> Claim:
    """A claim about the share of unchanged rows, expressed as one about those that change."""

    def interval(confidence: float) -> Interval:
        lo, hi = claim.interval(confidence)
        return Interval(1 - hi, 1 - lo)

    finding = replace(claim.finding, value=1 - claim.finding.value, limit=1 - (claim.finding.limit or 0.0))
    return replace(claim, finding=finding, interval=interval)
