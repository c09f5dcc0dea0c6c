"""Grades against labels: false accepts and false rejects."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from workbench.diagnostics.case import Case
from workbench.diagnostics.claim import Claim, share_claim
from workbench.diagnostics.finding import Finding, Severity, percent
from workbench.diagnostics.registry import diagnostic
from workbench.diagnostics.row_numbers import RowNumbers
from workbench.statistics import compact, share

__all__ = ["accepts_known_bad", "too_lenient", "too_strict"]

_BAD, _GOOD = 0, 1
# Rates: share of labelled rows; the limits are this project's. Minimum rows: those with which none wrong bounds the rate
# (exact, one-sided 95 %) just below its limit: 0 of 60 at 4.9 %, 0 of 30 at 9.5 %.
_FALSE_ACCEPTS, _BAD_ROWS = 0.05, 60
_FALSE_REJECTS, _GOOD_ROWS = 0.1, 30


@diagnostic("too-lenient")
def too_lenient(case: Case) -> Iterable[Claim]:
    """Over 5 % of known-bad rows accepted (lower bound), from 60 of them on.

    Lenient judges: Zhao 2025, arXiv 2507.08794; Thakur 2024, arXiv 2406.12624.
    Evidence: the accepted known-bad rows, highest score first.
    """
    advice = "read these rows, say what they lack, and make the grader ask for it"
    yield from _mistakes(case, "too-lenient", "accepts {k} of {n} known-bad rows, {part}", advice)


@diagnostic("too-strict")
def too_strict(case: Case) -> Iterable[Claim]:
    """Over 10 % of known-good rows rejected (lower bound), from 30 of them on.

    EvalGen's false failure rate: Shankar 2024, arXiv 2404.12272. Evidence: the rejected known-good
    rows, lowest score first.
    """
    advice = "read these rows, and accept the forms of a right answer that the grader misses"
    yield from _mistakes(case, "too-strict", "rejects {k} of {n} known-good rows, {part}", advice)


@diagnostic("accepts-known-bad", unless="too-lenient")
def accepts_known_bad(case: Case) -> Iterable[Finding]:
    """Code accepted a known-bad row, even if only one of a thousand; silent where *too lenient* fires.

    A fact about these rows and not a claim about a rate, hence without an interval. Only for graders that are
    code: a judge model errs now and then, and its rate of false accepts is what counts.
    """
    bad = case.labels[case.rows] == _BAD
    at = np.flatnonzero(bad & case.accepted)
    if not case.is_code or not len(at):
        return
    n, order = int(bad.sum()), np.argsort(-case.scores[at], kind="stable")
    message = f"accepts {len(at):,} of {n:,} known-bad rows; a code grader should accept none"
    advice = "read these rows: either the grader misses something, or the label is wrong"
    statistic, rows = "known-bad rows accepted", RowNumbers(case.rows[at[order]])
    yield Finding(
        case.grader,
        "accepts-known-bad",
        Severity.WARNING,
        statistic,
        len(at),
        None,
        n,
        0,
        message,
        advice,
        rows,
    )


def _mistakes(case: Case, kind: str, template: str, advice: str) -> Iterable[Claim]:
    is_lenient = kind == "too-lenient"
    judged = case.labels[case.rows] == (_BAD if is_lenient else _GOOD)
    if not judged.any():
        return
    wrong = case.accepted if is_lenient else ~case.accepted
    mistake_share = share(wrong[judged], compact(case.scored_groups[judged]))
    counts = template.format(
        k=f"{mistake_share.k:,}", n=f"{mistake_share.n:,}", part=percent(mistake_share.value)
    )
    at = np.flatnonzero(judged & wrong)
    order = np.argsort(-case.scores[at] if is_lenient else case.scores[at], kind="stable")
    statistic = "share of known-bad accepted" if is_lenient else "share of known-good rejected"
    rows = RowNumbers(case.rows[at[order]])
    message = f"{kind.replace('-', ' ')}, {counts}"
    unit = "known-bad row" if is_lenient else "known-good row"
    finding = case.finding(kind, Severity.ERROR, statistic, message, advice, rows, unit=unit)
    limit, minimum = (_FALSE_ACCEPTS, _BAD_ROWS) if is_lenient else (_FALSE_REJECTS, _GOOD_ROWS)
    yield share_claim(finding, mistake_share, limit, missing=minimum - mistake_share.n)
