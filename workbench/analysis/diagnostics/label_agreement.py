"""Findings about grades against labels: wrong verdicts, agreement beyond chance, and the pass threshold.

*Too lenient* and *too strict* give the direction of a grader's errors. If one of them is found, a finding about overall
agreement would only repeat it, so it is omitted.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from math import nan

import numpy as np
from numpy.typing import NDArray

from workbench.analysis.case import Case, Claim, claim_of, estimate_claim, share_claim
from workbench.analysis.confounders import where_mistakes_are
from workbench.analysis.diagnostics import diagnostic
from workbench.analysis.finding import Finding, RowNumbers, Severity, percent
from workbench.analysis.labels import drawn
from workbench.analysis.statistics import compact
from workbench.analysis.statistics.confusion import Confusion, Marks
from workbench.analysis.statistics.means import Share, bounded_mean, share

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


_BIASES = ("writer-bias", "score-position-bias")
"""Consequences of mistakes that are all at one writer, or one position: its scores differ from the others'."""


@diagnostic("too-lenient", explains=_BIASES)
def too_lenient(case: Case) -> Iterable[Claim]:
    """Over 5 % of known-bad rows accepted (lower bound), or more than 1 % of wrong labels would explain; within the limit if at most 5 % are (upper bound), for example 0 of 60.

    Lenient judges: Zhao 2025, arXiv 2507.08794; Thakur 2024, arXiv 2406.12624.
    Evidence: the accepted known-bad rows, highest score first.
    """
    advice = "read these rows, find what they lack, and make the grader require it; if one is right after all, correct its label"
    yield from _mistakes(case, "too-lenient", "accepts {k} of {n} known-bad rows{where}, {part}", advice)


@diagnostic("too-strict", explains=_BIASES)
def too_strict(case: Case) -> Iterable[Claim]:
    """Over 10 % of known-good rows rejected (lower bound), or more than 1 % of wrong labels would explain; within the limit if at most 10 % are (upper bound), for example 0 of 30.

    EvalGen's false failure rate: Shankar 2024, arXiv 2404.12272. Evidence: the rejected known-good
    rows, lowest score first.
    """
    advice = "read these rows, and accept the forms of a correct completion that the grader misses; if one is wrong after all, correct its label"
    yield from _mistakes(case, "too-strict", "rejects {k} of {n} known-good rows{where}, {part}", advice)


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
    subset = where_mistakes_are(case, np.flatnonzero(judged), wrong[judged])
    counts = template.format(
        k=f"{mistake_share.k:,}",
        n=f"{mistake_share.n:,}",
        where="" if subset is None else f" ({subset})",
        part=percent(mistake_share.value),
    )
    at = np.flatnonzero(judged & wrong)
    order = np.argsort(-case.scores[at] if is_lenient else case.scores[at], kind="stable")
    statistic = "share of known-bad accepted" if is_lenient else "share of known-good rejected"
    rows = RowNumbers(case.rows[at[order]])
    message = f"{kind.replace('-', ' ')}: {counts}"
    unit = "known-bad row" if is_lenient else "known-good row"
    finding = case.finding(kind, Severity.ERROR, statistic, message, advice, rows, unit=unit)
    finding = replace(finding, leads=subset is not None and _is_of_writers(case, subset.column))
    n_others = int((case.labels[case.rows] == (_GOOD if is_lenient else _BAD)).sum())
    usual = FALSE_ACCEPTS if is_lenient else FALSE_REJECTS
    limit = max(case.limits.get(kind, usual), _explained_by_labels(n_others, mistake_share.n))
    verb, kind_of_row = ("accepts", "known-bad") if is_lenient else ("rejects", "known-good")
    kept = (
        f"{verb} at most {{bound}} of {kind_of_row} rows, {mistake_share.k:,} of {mistake_share.n:,} here; "
        f"limit {percent(limit)}"
    )
    yield share_claim(finding, mistake_share, limit, within_limit=kept)


def _is_of_writers(case: Case, column: str) -> bool:
    """Whether a column names the writers, or the positions, of the completions."""
    if case.context is None:
        return False
    codes = case.context.coded[column].codes
    named = (case.context.writers, case.context.positions)
    return any(one is not None and np.array_equal(one.codes, codes) for one in named)


KAPPA = 0.6
"""Kappa from which agreement with annotators counts as good: "substantial" in Landis & Koch 1977."""

LABELS = 100
"""Minimum labels for a verdict on agreement: a kappa of 0.6 then has a margin of 0.16 (95 %), at 30 of 0.29."""

_MIN_LABELS = 30  # below it kappa's large-sample interval is not reliable at the levels of a verdict
_NOT_SHOWN = 0.025  # p value above which verdicts are not shown to be better than random
_EVEN = (
    0.2,
    0.8,
)  # shares of good labels between which kappa by itself is a fair measure (this project's; see Gwet 2008)


_CONSEQUENCES = ("writer-bias", "too-lenient", "too-strict", "disagrees-with-labels", "accepts-known-bad")
_CHANCE = 0.2  # TPR - FPR below which verdicts are hardly better than random; TPR + TNR of 1.2 in `confusion`


@diagnostic("no-better-than-chance", unless="worse-than-chance", explains=_CONSEQUENCES)
def no_better_than_chance(case: Case) -> Iterable[Claim]:
    """Good rows are accepted hardly more often than bad ones: the difference is below 0.2 (upper bound).

    The difference is Youden's index (1950), TPR - FPR: 0 for random verdicts, and for a grader that gives all rows one verdict.
    """
    confusion, rows = against_labels(case)
    gain = confusion.youden
    if np.isnan(gain.value):
        return
    good, bad = percent(confusion.sensitivity.value), percent(1 - confusion.specificity.value)
    advice = "its verdicts are unrelated to these labels: check that both are about the same criterion"
    message = f"agrees with the labels no better than chance: accepts {good} of good rows and {bad} of bad ones, a difference of {gain.value:.2f}"
    wrong = rows[confusion.truth != confusion.verdict]
    finding = case.finding(
        "no-better-than-chance",
        Severity.ERROR,
        "accepted more often if good",
        message,
        advice,
        wrong,
        unit="label",
    )
    finding = replace(finding, n=len(confusion))
    yield estimate_claim(finding, gain, _CHANCE, plan_rows=gain.p_above(0.0) > _NOT_SHOWN)


@diagnostic("worse-than-chance", explains=_CONSEQUENCES)
def worse_than_chance(case: Case) -> Iterable[Claim]:
    """Cohen's kappa against labels below 0 (upper bound), with at least 30 labels: the scale may be reversed.

    No note on how many more labels are needed: a grader that accepts everything has a kappa of about 0.
    """
    confusion, rows = against_labels(case)
    if len(confusion) >= _MIN_LABELS and confusion.kappa.value < 0:
        advice = "good and bad seem inverted: check the direction of the score, and that of the labels"
        finding = _agreement_finding(case, "worse-than-chance", confusion, advice, rows)
        yield estimate_claim(finding, confusion.kappa, 0.0, plan_rows=False)


@diagnostic(
    "disagrees-with-labels",
    unless=("too-lenient", "too-strict", "worse-than-chance", "no-better-than-chance"),
)
def disagrees_with_labels(case: Case) -> Iterable[Claim]:
    """Cohen's kappa against labels below 0.6 (upper bound), with at least 30 labels.

    0.6 is where Landis & Koch 1977 begin to call agreement substantial. AC1 (Gwet 2008) is shown as well
    if fewer than 20 % or more than 80 % of labels are good: a few mistakes then make kappa low. Evidence:
    the rows on which the two differ, those first whose score is furthest from the label.
    """
    confusion, rows = against_labels(case)
    if len(confusion) < _MIN_LABELS or np.isnan(confusion.kappa.value):
        return
    advice = "read the rows on which the two differ, and fix the grader or the labels"
    finding = _agreement_finding(case, "disagrees-with-labels", confusion, advice, rows)
    yield estimate_claim(finding, confusion.kappa, KAPPA)


def against_labels(case: Case) -> tuple[Confusion, NDArray[np.intp]]:
    """Verdicts against labels on the scored rows that have a label, and the numbers of these rows."""
    is_labelled = case.labels[case.rows] >= 0
    rows = case.rows[is_labelled]
    return Confusion(case.labels[rows] == 1, case.accepted[is_labelled], compact(case.groups[rows])), rows


def is_lopsided(base_rate: Share) -> bool:
    """Whether so few or many rows are good that AC1 should be read together with kappa."""
    return bool(base_rate.n) and not _EVEN[0] <= base_rate.value <= _EVEN[1]


def _agreement_finding(
    case: Case, kind: str, confusion: Confusion, advice: str, rows: NDArray[np.intp]
) -> Finding:
    same, n, beside = confusion.observed.k, len(confusion), ""
    if is_lopsided(confusion.base_rate):
        beside = f" ({percent(confusion.base_rate.value)} of them good, AC1 {confusion.ac1.value:.2f})"
    message = f"{kind.replace('-', ' ')}: the same verdict on {same:,} of {n:,} labelled rows{beside}, kappa {confusion.kappa.value:.2f}"
    severity = Severity.ERROR if kind == "worse-than-chance" else Severity.WARNING
    differ = np.flatnonzero(confusion.truth != confusion.verdict)
    # `case.rows` ascends, so that each row's index in it is found by bisection.
    scores = case.scores[np.searchsorted(case.rows, rows[differ])]
    order = np.argsort(-np.abs(scores - confusion.truth[differ]), kind="stable")
    evidence = RowNumbers(rows[differ[order]])
    return Finding(
        case.grader, kind, severity, "kappa", nan, None, n, 0, message, advice, evidence, unit="label"
    )  # fmt: skip


_GAIN = 0.1  # minimum gain in balanced accuracy for a finding; this project's limit
_MAX_ROWS = 20_000  # maximum rows for one threshold: they determine it within 0.01
_EXPLAINED = (
    "too-lenient", "too-strict", "disagrees-with-labels", "no-better-than-chance", "accepts-known-bad",
)  # fmt: skip


@diagnostic("suboptimal-pass-threshold", explains=_EXPLAINED, order=1)
def suboptimal_pass_threshold(case: Case) -> Iterable[Claim]:
    """Another pass threshold would separate good from bad better, by over 0.1 of balanced accuracy (lower bound).

    The other threshold is chosen on one half of the prompts and tested on the other half, in both directions, so that it
    gains nothing by chance. Not for graders that return a verdict.
    """
    confusion, rows = against_labels(case)
    if (case.grades.passed[rows] >= 0).any() or not case.on_scale:
        return
    part = drawn(np.ones(len(rows), bool), _MAX_ROWS)
    rows, good, verdict = rows[part], confusion.truth[part], confusion.verdict[part]
    if not len(rows) or good.all() or not good.any():
        return
    scores = case.scores[np.searchsorted(case.rows, rows)]
    codes = compact(case.groups[rows])
    marks = Marks(scores, good, codes)
    if not len(marks.candidates):
        return
    changed = marks.crossed_verdicts()
    weights = np.where(good, 0.5 / good.mean(), 0.5 / (~good).mean())
    gains = weights * ((changed == good).astype(float) - (verdict == good))
    most = float(weights.max())
    if gains.mean() <= _GAIN:
        return
    gain = bounded_mean(gains, codes, low=-most, high=most)
    finding = replace(_threshold_finding(case, confusion, marks, gain.value), value=gain.value, n=len(rows))
    yield claim_of(finding, gain.p_above(_GAIN), gain.interval, limit=_GAIN, units=gain.clusters)


def _threshold_finding(case: Case, confusion: Confusion, marks: Marks, gain: float) -> Finding:
    lo, hi = marks.interval()
    now = (confusion.sensitivity.value + confusion.specificity.value) / 2
    at, ends = marks.written(case.in_units), (case.in_units(lo), case.in_units(hi))
    message = (
        f"pass_threshold={case.pass_threshold:.4g} is suboptimal: {at} ({ends[0]:.3g} to {ends[1]:.3g}) "
        f"raises balanced accuracy to {percent(marks.accuracy)} from {percent(now)}; "
        f"tested on the other half of the prompts, a gain of {gain:.2f}"
    )
    advice = f"set pass_threshold={at}, then label some new rows to test it"
    wrong = against_labels(case)[1][confusion.truth != confusion.verdict]
    return case.finding(
        "suboptimal-pass-threshold", Severity.WARNING, "gain in balanced accuracy", message, advice, wrong
    )
