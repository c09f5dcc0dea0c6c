"""Grades against labels: false accepts and false rejects."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from workbench.analysis.diagnostics.case import Case
from workbench.analysis.diagnostics.claim import Claim, share_claim
from workbench.analysis.diagnostics.finding import Severity, percent
from workbench.analysis.diagnostics.registry import diagnostic
from workbench.analysis.diagnostics.row_numbers import RowNumbers
from workbench.analysis.statistics import compact, share

__all__ = ["FALSE_ACCEPTS", "FALSE_REJECTS", "accepts_known_bad", "too_lenient", "too_strict"]

_BAD, _GOOD = 0, 1
FALSE_ACCEPTS = (
    0.05  # share of known-bad rows; this project's limit. None of 60 accepted is within it (bound 4.9 %)
)
FALSE_REJECTS = (
    0.1  # share of known-good rows; this project's limit. None of 30 rejected is within it (bound 9.5 %)
)
_LABEL_ERROR = 0.01
"""Share of wrong labels that is assumed before a code grader's mistakes count: ten widely used test sets have
3.3 % on average (Northcutt 2021, arXiv 2103.14749); manual labels for a specific grader should have fewer."""


@diagnostic("too-lenient")
def too_lenient(case: Case) -> Iterable[Claim]:
    """Over 5 % of known-bad rows accepted (lower bound), or more than 1 % of wrong labels would explain; within the limit if at most 5 % are (upper bound), for example 0 of 60.

    Lenient judges: Zhao 2025, arXiv 2507.08794; Thakur 2024, arXiv 2406.12624.
    Evidence: the accepted known-bad rows, highest score first.
    """
    advice = "read these rows, find what they lack, and make the grader require it; if one is right after all, correct its label"
    yield from _mistakes(case, "too-lenient", "accepts {k} of {n} known-bad rows, {part}", advice)


@diagnostic("too-strict")
def too_strict(case: Case) -> Iterable[Claim]:
    """Over 10 % of known-good rows rejected (lower bound), or more than 1 % of wrong labels would explain; within the limit if at most 10 % are (upper bound), for example 0 of 30.

    EvalGen's false failure rate: Shankar 2024, arXiv 2404.12272. Evidence: the rejected known-good
    rows, lowest score first.
    """
    advice = "read these rows, and accept the forms of a correct completion that the grader misses; if one is wrong after all, correct its label"
    yield from _mistakes(case, "too-strict", "rejects {k} of {n} known-good rows, {part}", advice)


@diagnostic("accepts-known-bad", unless="too-lenient")
def accepts_known_bad(case: Case) -> Iterable[Claim]:
    """Code accepted known-bad rows: a verdict if wrong labels cannot explain it, else a note with the share that would.

    For the verdict the share must exceed what 1 % of wrong labels would cause (lower bound): 1 % of the known-good
    rows, wrongly labelled as bad. Only for code graders: a judge model makes occasional mistakes, and its rate of false
    accepts is what counts.
    """
    bad = case.labels[case.rows] == _BAD
    at = np.flatnonzero(bad & case.accepted)
    if not case.is_code or not len(at):
        return
    accepted = share(case.accepted[bad], compact(case.scored_groups[bad]))
    n_good = int((case.labels[case.rows] == _GOOD).sum())
    explained = _explained_by_labels(n_good, accepted.n)
    order = np.argsort(-case.scores[at], kind="stable")
    advice = "read these rows: either the grader misses something, or the label is wrong"
    statistic, rows = "share of known-bad rows accepted", RowNumbers(case.rows[at[order]])
    message = f"accepts {accepted.k:,} of {accepted.n:,} known-bad rows; a code grader should accept none"
    finding = case.finding("accepts-known-bad", Severity.WARNING, statistic, message, advice, rows)
    wrong_labels = percent(accepted.k / (accepted.n + n_good))
    note = f"{message}, unless {wrong_labels} of all labels are wrong"
    fact = replace(finding, severity=Severity.NOTE, message=note, value=accepted.value, n=accepted.n)
    yield replace(share_claim(finding, accepted, explained), otherwise=fact)


def _explained_by_labels(n_others: int, n: int) -> float:
    """The share of n rows with one label that would be of the other kind if 1 % of all labels were wrong."""
    return min(0.5, _LABEL_ERROR * max(1.0, n_others / n))


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
    message = f"{kind.replace('-', ' ')}: {counts}"
    unit = "known-bad row" if is_lenient else "known-good row"
    finding = case.finding(kind, Severity.ERROR, statistic, message, advice, rows, unit=unit)
    n_others = int((case.labels[case.rows] == (_GOOD if is_lenient else _BAD)).sum())
    usual = FALSE_ACCEPTS if is_lenient else FALSE_REJECTS
    limit = max(case.limits.get(kind, usual), _explained_by_labels(n_others, mistake_share.n))
    verb, kind_of_row = ("accepts", "known-bad") if is_lenient else ("rejects", "known-good")
    kept = (
        f"{verb} at most {{bound}} of {kind_of_row} rows, {mistake_share.k:,} of {mistake_share.n:,} here; "
        f"limit {percent(limit)}"
    )
    yield share_claim(finding, mistake_share, limit, cleared=kept)
