"""Score difference between some rows and others with the same label, and the claim that it exceeds a limit."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.analysis.diagnostics.case import Case
from workbench.analysis.diagnostics.claim import Claim, claim_of
from workbench.analysis.diagnostics.confounders import (
    explained_share,
    explaining_column,
    length_levels,
    within,
)
from workbench.analysis.diagnostics.finding import Finding, Severity
from workbench.analysis.statistics import Estimate, Interval
from workbench.analysis.statistics.differences import within_levels
from workbench.core.display_text import one_line

__all__ = ["beyond", "favoured", "in_user_units"]

Flags = NDArray[np.bool_]
_FAVOUR = (
    0.05  # of the scale; this project's limit, as for self-preference (Panickssery 2024, arXiv 2404.13076)
)
_FEWEST = 8  # minimum labelled rows of a kind; this project's choice
_MAX_KINDS = 50  # a column of more values does not define kinds


@dataclass(frozen=True)
class _Kind:
    """Labelled rows of one kind: those of a writer, or those shown at one position.

    Attributes:
        name: The column's value for them.
        own: Which of the labelled rows they are, (m,).
        found: How much higher they score than the others with the same label.
    """

    name: str
    own: Flags
    found: Estimate


def favoured(
    case: Case, names: Sequence[Hashable | None] | None, kind: str, what: str, advice: str
) -> Iterator[Claim]:
    """The claim that rows of one kind score higher, or lower, than others with the same label, by over a twentieth.

    Args:
        case: The grader's grades, with labels.
        names: Kind of each row, (n,), None if it has none; None for no column.
        kind: The name of the finding.
        what: The kind as text, with "{name}", such as "writer {name}".
        advice: What to do next.
    """
    labelled = case.labels[case.rows] >= 0
    if names is None or not labelled.any() or not case.on_scale:
        return
    rows = case.rows[labelled]
    kinds = list(_kinds(case, np.array([names[row] for row in rows], dtype=object), labelled))
    if not kinds:
        return
    most = max(kinds, key=lambda each: (round(abs(each.found.value), 9), each.found.value))
    if _is_explained(case, np.flatnonzero(labelled), most):
        return
    finding = _finding(
        case, kind, what.format(name=repr(one_line(most.name, 40))), advice, rows[most.own], most.found
    )
    finding = replace(finding, leads=_makes_the_mistakes(case, labelled, most))
    yield in_user_units(beyond(finding, most.found, _FAVOUR, tried=2 * len(kinds)), case.span)


def _makes_the_mistakes(case: Case, labelled: Flags, kind: _Kind) -> bool:
    """Whether at least half of the wrong verdicts would be right without the bias."""
    rows = case.rows[labelled]
    if (case.grades.passed[rows] >= 0).any():
        return False  # the grader returns a verdict, which need not depend on the score
    good = case.labels[rows] == 1
    mark = (case.pass_threshold - case.scale[0]) / case.span
    fair = case.scores[labelled] - np.where(kind.own, kind.found.value, 0.0) >= mark
    wrong = case.accepted[labelled] != good
    return bool(wrong.any()) and 2 * int((fair != good).sum()) <= int(wrong.sum())


def _is_explained(case: Case, places: NDArray[np.intp], kind: _Kind) -> bool:
    """Whether another column, or the length, explains more of the scores, and no bias remains given that column."""
    scores, groups, labels = case.scores[places], case.scored_groups[places], case.labels[case.rows[places]]

    def left(levels: NDArray[Any]) -> float:
        return within_levels(scores, groups, levels, kind.own).value

    share = explained_share(scores, labels, kind.own.astype(np.intp))
    if explaining_column(case, places, labels, left, limit=_FAVOUR, share=share) is not None:
        return True
    if case.context is None:
        return False
    lengths = case.context.lengths_of(case.rows[places])
    levels = length_levels(lengths)
    gone = abs(left(within(labels, levels))) <= _FAVOUR  # not if it is NaN
    return bool(gone and explained_share(scores, labels, levels) > share)


def _kinds(case: Case, names: NDArray[np.object_], labelled: Flags) -> Iterator[_Kind]:
    """The kinds with enough labelled rows; their level is shared."""
    frequent = Counter(name for name in names if name is not None).most_common(_MAX_KINDS)
    for name in (name for name, count in frequent if count >= _FEWEST):
        own = names == name
        found = _difference(case, own, labelled)
        if not np.isnan(found.value):
            yield _Kind(str(name), own, found)


def _difference(case: Case, own: Flags, labelled: Flags) -> Estimate:
    """How much higher these rows score than others with the same label: a better writer does not count as bias."""
    scores, codes = case.scores[labelled], case.scored_groups[labelled]
    return within_levels(scores, codes, case.labels[case.rows][labelled], own)


def beyond(finding: Finding, found: Estimate, limit: float, *, tried: int = 2) -> Claim:
    """The claim that an estimate is further from 0 than its limit; `tried` alternatives share the level."""
    up = found.value > 0
    p = found.p_above(limit) if up else found.p_below(-limit)
    signed = limit if up else -limit
    return claim_of(
        finding, min(1.0, tried * p), found.interval, limit=signed, units=found.units, plans=False
    )


def in_user_units(claim: Claim, span: float) -> Claim:
    """A claim about a difference of scores, in the units of the user's scale."""

    def interval(confidence: float) -> Interval:
        lo, hi = claim.interval(confidence)
        return Interval(lo * span, hi * span)

    finding = replace(
        claim.finding, value=claim.finding.value * span, limit=(claim.finding.limit or 0.0) * span
    )
    return replace(claim, finding=finding, interval=interval)


def _finding(
    case: Case, kind: str, what: str, advice: str, rows: NDArray[np.intp], found: Estimate
) -> Finding:
    verb, direction = ("biased towards", "above") if found.value > 0 else ("biased against", "below")
    size = abs(found.value) * case.span
    message = f"{verb} {what}: scores {size:.2g} {direction} other completions with the same label"
    finding = case.finding(
        kind, Severity.WARNING, "score difference to others with the label", message, advice, rows
    )
    return replace(finding, value=found.value, n=found.n)
