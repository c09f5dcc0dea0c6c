"""Grades against what is known of the rows: false accepts and false rejects."""

from __future__ import annotations

from collections.abc import Iterable
from math import nan

import numpy as np

from workbench.diagnostics.case import Case
from workbench.diagnostics.claim import Claim, about_share
from workbench.diagnostics.finding import Finding, Severity, percent
from workbench.diagnostics.registry import diagnostic
from workbench.diagnostics.row_numbers import RowNumbers
from workbench.statistics import compact, share

__all__ = ["accepts_known_bad", "too_lenient", "too_strict"]

_BAD, _GOOD = 0, 1
# 60 known-bad rows without one accepted bound the rate at 4.9 % (exact, one-sided 95 %).
_FALSE_ACCEPTS, _BAD_ROWS = 0.05, 60
_FALSE_REJECTS, _GOOD_ROWS = 0.1, 30


@diagnostic("too-lenient")
def too_lenient(case: Case) -> Iterable[Claim]:
    """Over 5 % of known-bad rows accepted (lower bound), from 60 of them on.

    Zhao 2025, arXiv 2507.08794; Thakur 2024, arXiv 2406.12624. Evidence: the accepted known-bad
    rows, highest score first.
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
    """Code accepted a known-bad row, be it one of a thousand; silent where *too lenient* fires.

    A fact about these rows and no claim of a rate, hence without an interval. Only for code that ran in a
    sandbox: a judge model errs now and then, and its rate of false accepts is what counts.
    """
    bad = case.labels[case.rows] == _BAD
    at = np.flatnonzero(bad & case.accepted)
    if not case.is_code or not len(at):
        return
    n, order = int(bad.sum()), np.argsort(-case.scores[at], kind="stable")
    said = f"accepts {len(at):,} of {n:,} known-bad rows; a code grader should accept none"
    advice = "read these rows: either the grader misses something, or the label is wrong"
    statistic, rows = "known-bad rows accepted", RowNumbers(case.rows[at[order]])
    yield Finding(
        case.grader, "accepts-known-bad", Severity.WARNING, statistic, len(at), None, n, 0, said, advice, rows
    )


def _mistakes(case: Case, kind: str, what: str, advice: str) -> Iterable[Claim]:
    lenient = kind == "too-lenient"
    judged = case.labels[case.rows] == (_BAD if lenient else _GOOD)
    if not judged.any():
        return
    wrong = case.accepted if lenient else ~case.accepted
    found = share(wrong[judged], compact(case.scored_groups[judged]))
    said = what.format(k=f"{found.k:,}", n=f"{found.n:,}", part=percent(found.value))
    at = np.flatnonzero(judged & wrong)
    order = np.argsort(-case.scores[at] if lenient else case.scores[at], kind="stable")
    statistic = "share of known-bad accepted" if lenient else "share of known-good rejected"
    rows = RowNumbers(case.rows[at[order]])
    message = f"{kind.replace('-', ' ')}, {said}"
    unit = "known-bad row" if lenient else "known-good row"
    finding = Finding(
        case.grader, kind, Severity.ERROR, statistic, nan, None, 0, 0, message, advice, rows, unit=unit
    )
    limit, minimum = (_FALSE_ACCEPTS, _BAD_ROWS) if lenient else (_FALSE_REJECTS, _GOOD_ROWS)
    yield about_share(finding, found, limit, short=minimum - found.n)
