"""The pass threshold compared with the labels: whether another one would separate good from bad better."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from workbench.analysis.diagnostics.case import Case
from workbench.analysis.diagnostics.claim import Claim, claim_of
from workbench.analysis.diagnostics.families.label_agreement import against_labels
from workbench.analysis.diagnostics.finding import Finding, Severity, percent
from workbench.analysis.diagnostics.labels import drawn
from workbench.analysis.diagnostics.registry import diagnostic
from workbench.analysis.statistics import Confusion, bounded_mean, compact
from workbench.analysis.statistics.marks import Marks

_GAIN = 0.1  # minimum gain in balanced accuracy for a finding; this project's limit
_MAX_ROWS = 20_000  # maximum rows for one threshold: they determine it within 0.01
_EXPLAINED = (
    "too-lenient", "too-strict", "disagrees-with-labels", "no-better-than-chance", "accepts-known-bad",
)  # fmt: skip


@diagnostic("suboptimal-pass-threshold", explains=_EXPLAINED)
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
    finding = replace(_mark_finding(case, confusion, marks, gain.value), value=gain.value, n=len(rows))
    yield claim_of(finding, gain.p_above(_GAIN), gain.interval, limit=_GAIN, units=gain.clusters)


def _mark_finding(case: Case, confusion: Confusion, marks: Marks, gain: float) -> Finding:
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
