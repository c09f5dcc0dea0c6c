"""Scores beside other columns: what a score follows although it should not, given the labels where there are some."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from workbench.diagnostics.case import Case
from workbench.diagnostics.claim import Claim, claim_of
from workbench.diagnostics.families.human import against_labels
from workbench.diagnostics.finding import Finding, Severity, percent
from workbench.diagnostics.registry import diagnostic
from workbench.diagnostics.row_numbers import RowNumbers
from workbench.display_text import one_line
from workbench.statistics import Confusion, Estimate, Interval, bounded_mean, compact, effective_n
from workbench.statistics.marks import Marks
from workbench.statistics.partial import rank_correlation

__all__ = ["drifts", "favours_a_writer", "follows_length", "wrong_pass_mark"]

Floats = NDArray[np.float64]

_CONFOUNDED = 0.3
"""Rank correlation of column and label from which on quality may explain what is left: rows that come sorted by it, or
long answers that are better. A label of two values does not hold quality fixed, so the finding is a note then."""
_DRIVES = 0.7  # absolute rank correlation: the column is then most of the score; this project's limit
_BESIDE_LABELS = 0.3  # absolute rank correlation with the label held fixed, from the register of statistics
_ALONE = 0.6  # without labels, where good answers may well be longer; this project's limit
_FAVOUR = (
    0.05  # of the scale; this project's limit, as for self-preference (Panickssery 2024, arXiv 2404.13076)
)
_FEWEST_OF_WRITER = 8  # rows with one label, of a writer and of all others; chosen here
_GAIN = 0.1  # of balanced accuracy that a better pass mark must bring; this project's limit
_MOST_ROWS = 20_000  # for one pass mark: known to 0.01 by then
_MOST_TEXTS = (
    5_000  # for one rank correlation: known to 0.03 by then, and reading more texts would take seconds
)
_LABELLED = ("too-lenient", "too-strict", "disagrees-with-labels")


@diagnostic("follows-length", explains=_LABELLED)
def follows_length(case: Case) -> Iterable[Claim]:
    """The score goes with the length of the answer: rank correlation above 0.3 given the labels, 0.6 without any.

    Length is the best known bias of judges (Dubois 2024, arXiv 2404.04475). With labels, length may explain no more than
    they do.
    """
    if case.context is None or case.is_tiny or not case.varies:
        return
    lengths = case.context.lengths_of
    yield from _follows(case, lengths, "follows-length", "length of the answer", Severity.WARNING)


@diagnostic("drifts", explains=_LABELLED)
def drifts(case: Case) -> Iterable[Claim]:
    """The score goes with the order of the rows: rank correlation above 0.3 given the labels, a note at 0.6 without.

    Without labels it may be the rows that get better or worse, hence a note.
    """
    if case.is_tiny or not case.varies:
        return
    severity = Severity.WARNING if (case.labels[case.rows] >= 0).any() else Severity.NOTE
    yield from _follows(case, lambda rows: rows.astype(np.float64), "drifts", "order of the rows", severity)


def _follows(
    case: Case, read: Callable[[NDArray[np.intp]], Floats], kind: str, noun: str, severity: Severity
) -> Iterable[Claim]:
    labels = case.labels[case.rows]
    labelled = labels >= 0
    is_beside = bool(labelled.any()) and len(np.unique(labels[labelled])) == 2
    part = _drawn(labelled if is_beside else np.ones(len(labels), bool), _MOST_TEXTS)
    column = read(case.rows[part])
    found = rank_correlation(
        case.scores[part], column,
        given=labels[part].astype(np.float64) if is_beside else None, groups=compact(case.scored_groups[part]),
    )  # fmt: skip
    limit = _BESIDE_LABELS if is_beside else _ALONE
    if not abs(found.value) > limit:  # also without a value
        return
    if is_beside and abs(rank_correlation(labels[part].astype(np.float64), column).value) > _CONFOUNDED:
        severity = Severity.NOTE
    direction = "rises" if found.value > 0 else "falls"
    beside = "rows with the same label" if is_beside else "all rows"
    message = f"the score {direction} with the {noun} over {beside}, rank correlation {found.value:.2f}"
    order = np.argsort(column, kind="stable")
    advice = f"compare these rows, which are in this order: the {noun} should not move the score"
    rows = RowNumbers(case.rows[part][order if found.value < 0 else order[::-1]])
    finding = case.finding(kind, severity, f"rank correlation with the {noun}", message, advice, rows)
    leads = abs(found.value) > _DRIVES
    yield _beyond(replace(finding, value=found.value, n=found.n, leads=leads), found, limit)


def _drawn(rows: NDArray[np.bool_], most: int) -> NDArray[np.intp]:
    """Numbers of these rows; of very many a random part, since sorting them all would take seconds for no digit more."""
    at = np.flatnonzero(rows)
    if len(at) <= most:
        return at
    return np.sort(np.random.default_rng(0).choice(at, most, replace=False))


def _beyond(finding: Finding, found: Estimate, limit: float, *, tried: int = 2) -> Claim:
    """The claim that an estimate is further from 0 than its limit; `tried` ways it could have been found share the level."""
    up = found.value > 0
    p = found.p_above(limit) if up else found.p_below(-limit)
    signed = limit if up else -limit
    return claim_of(
        finding, min(1.0, tried * p), found.interval, limit=signed, units=found.units, plans=False
    )


@diagnostic("favours-a-writer")
def favours_a_writer(case: Case) -> Iterable[Claim]:
    """Answers of one model score higher, or lower, than others' with the same label, by over a twentieth of the scale.

    Self-preference, where the judge is of the writer's family: Panickssery 2024, arXiv 2404.13076. Writers are named by a
    column such as `writer` or `model`; the level is shared among them.
    """
    names = None if case.context is None else case.context.writers
    labelled = case.labels[case.rows] >= 0
    if names is None or not labelled.any() or not case.on_scale:
        return
    rows = case.rows[labelled]
    writers = np.array([names[row] for row in rows], dtype=object)
    known = [name for name in dict.fromkeys(writers) if name is not None]
    favours = [(str(name), writers == name, _favour(case, writers == name, labelled)) for name in known]
    favours = [favour for favour in favours if not np.isnan(favour[2].value)]
    if favours:
        name, own, found = max(favours, key=lambda favour: (round(abs(favour[2].value), 9), favour[2].value))
        claim = _beyond(_favour_finding(case, name, rows[own], found), found, _FAVOUR, tried=2 * len(favours))
        yield _in_user_units(claim, case.span)


def _favour(case: Case, own: NDArray[np.bool_], labelled: NDArray[np.bool_]) -> Estimate:
    """How much higher this writer's answers score than others' with the same label, with Welch's standard error.

    Within good answers and within bad ones, then pooled (Cochran's weights): a writer of better answers is not favoured.
    """
    scores, codes, labels = (
        case.scores[labelled],
        case.scored_groups[labelled],
        case.labels[case.rows][labelled],
    )
    pairs = [(own & (labels == label), ~own & (labels == label)) for label in (0, 1)]
    sizes = [(int(inside.sum()), int(outside.sum())) for inside, outside in pairs]
    used = [at for at, size in enumerate(sizes) if min(size) >= _FEWEST_OF_WRITER]
    if not used:
        return Estimate(np.nan, 0, reason="too few answers with one label")
    weights = np.array([sizes[at][0] * sizes[at][1] / sum(sizes[at]) for at in used])
    weights = weights / weights.sum()
    gaps = [float(scores[pairs[at][0]].mean() - scores[pairs[at][1]].mean()) for at in used]
    variances = [_variance_of_mean(scores[part], codes[part]) for at in used for part in pairs[at]]
    spread = float(np.sqrt(np.repeat(weights, 2) ** 2 @ [variance for variance, _ in variances]))
    value = float(weights @ gaps)
    fewest = min(independent for _, independent in variances)
    return Estimate(
        value, int(sum(map(sum, (sizes[at] for at in used)))), spread, value, spread, max(fewest - 1, 1.0)
    )


def _variance_of_mean(scores: Floats, codes: NDArray[np.intp]) -> tuple[float, float]:
    """Squared standard error of a mean, and the independent rows behind it; two rows half a scale away join them."""
    independent = effective_n(scores, compact(codes))
    # Equal scores in few rows are no certainty.
    return float((scores.var() * independent + 0.5) / (independent + 2) / independent), independent


def _in_user_units(claim: Claim, span: float) -> Claim:
    """A claim about a difference of scores, in the units of the user's scale."""

    def interval(confidence: float) -> Interval:
        lo, hi = claim.interval(confidence)
        return Interval(lo * span, hi * span)

    finding = replace(
        claim.finding, value=claim.finding.value * span, limit=(claim.finding.limit or 0.0) * span
    )
    return replace(claim, finding=finding, interval=interval)


def _favour_finding(case: Case, name: str, rows: NDArray[np.intp], found: Estimate) -> Finding:
    verb, direction = ("favours", "higher") if found.value > 0 else ("is hard on", "lower")
    size = abs(found.value) * case.span
    message = f"{verb} the answers of {one_line(name, 40)!r}: they score {size:.2g} {direction} than others with the same label"
    advice = "compare these rows with equally good ones of others: something in this writer's style moves the score"
    finding = case.finding(
        "favours-a-writer", Severity.WARNING, "score beside others with the label", message, advice, rows
    )
    return replace(finding, value=found.value, n=found.n)


@diagnostic("wrong-pass-mark", explains=(*_LABELLED, "no-better-than-chance", "accepts-known-bad"))
def wrong_pass_mark(case: Case) -> Iterable[Claim]:
    """Another pass mark would tell good from bad better, by over 0.1 of balanced accuracy (lower bound).

    The other mark is chosen on one half of the prompts and tried on the other half, both ways round, so that it gains
    nothing by luck. Not for graders that give a verdict of their own.
    """
    confusion, rows = against_labels(case)
    if (case.grades.passed[rows] >= 0).any() or not case.on_scale:
        return
    part = _drawn(np.ones(len(rows), bool), _MOST_ROWS)
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
