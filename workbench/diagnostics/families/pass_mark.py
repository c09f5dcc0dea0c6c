"""The pass mark beside the labels: whether another one would tell good from bad better."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from workbench.diagnostics.case import Case
from workbench.diagnostics.claim import Claim, claim_of
from workbench.diagnostics.drawn import drawn
from workbench.diagnostics.families.human import against_labels
from workbench.diagnostics.finding import Finding, Severity, percent
from workbench.diagnostics.registry import diagnostic
from workbench.statistics import Confusion, bounded_mean, compact
from workbench.statistics.marks import Marks

__all__ = ["wrong_pass_mark"]

_GAIN = 0.1  # of balanced accuracy that a better pass mark must bring; this project's limit
_MOST_ROWS = 20_000  # for one pass mark: known to 0.01 by then
_EXPLAINED = (
    "too-lenient", "too-strict", "disagrees-with-labels", "no-better-than-chance", "accepts-known-bad",
)  # fmt: skip


@diagnostic("wrong-pass-mark", explains=_EXPLAINED)
def wrong_pass_mark(case: Case) -> Iterable[Claim]:
    """Another pass mark would tell good from bad better, by over 0.1 of balanced accuracy (lower bound).

    The other mark is chosen on one half of the prompts and tried on the other half, both ways round, so that it gains
    nothing by luck. Not for graders that give a verdict of their own.
    """
    confusion, rows = against_labels(case)
    if (case.grades.passed[rows] >= 0).any() or not case.on_scale:
        return
    part = drawn(np.ones(len(rows), bool), _MOST_ROWS)
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
        f"the pass mark of {case.pass_threshold:.4g} is in the wrong place: at {at} ({ends[0]:.3g} to {ends[1]:.3g}) "
        f"{percent(marks.accuracy)} of good and bad rows would be told apart (balanced accuracy), now {percent(now)}; "
        f"tried on the other half of the prompts, a gain of {gain:.2f}"
    )
    advice = f"set pass_threshold={at}, then label some new rows to try it on"
    wrong = against_labels(case)[1][confusion.truth != confusion.verdict]
    return case.finding(
        "wrong-pass-mark", Severity.WARNING, "gain in balanced accuracy", message, advice, wrong
    )
