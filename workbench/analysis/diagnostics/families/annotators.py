"""One annotator against all others: wrong labels must not be blamed on the grader."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from workbench.analysis.diagnostics.case import Case
from workbench.analysis.diagnostics.claim import Claim, share_claim
from workbench.analysis.diagnostics.families.human import against_labels
from workbench.analysis.diagnostics.finding import Severity, percent
from workbench.analysis.diagnostics.registry import diagnostic
from workbench.analysis.diagnostics.votes import Raters
from workbench.analysis.statistics import compact, share
from workbench.core.display_text import one_line

__all__ = ["annotator_disagrees"]

_MIN_LABELS = 8  # minimum labels of an annotator; this project's choice
_HALF = 0.5  # share of labels on which a random annotator agrees with the grader
_SEVERAL = 3  # minimum annotators of the same rows: of two, it is undecidable which one is wrong
_ADVICE = (
    "review these rows: the annotator may have inverted the labels, seen other data, or read the task differently; "
    "correct or remove the labels, then diagnose again"
)


@diagnostic(
    "annotator-disagrees",
    explains=(
        "too-lenient",
        "too-strict",
        "disagrees-with-labels",
        "no-better-than-chance",
        "worse-than-chance",
        "accepts-known-bad",
        "labels-disagree",
        "below-human-ceiling",
    ),
)
def annotator_disagrees(case: Case) -> Iterable[Claim]:
    """One annotator's labels contradict the verdicts, or the majority of the others, more often than not; all others' agree.

    Both are shown by bounds: over half of this annotator's labels contradict, at a level shared among all annotators, and
    over half of the others' agree (95 %). Annotators are named by a column such as `annotator`, or are separate columns
    (`labels=["ann", "ben", "cyd"]`). If three or more labelled the same rows, they are compared with each other.
    """
    raters = case.raters
    if raters is not None and len(raters.names) >= _SEVERAL:
        yield from _among_people(case, raters)
    elif case.context is not None and case.context.annotators is not None:
        yield from _beside_verdicts(case, case.context.annotators)


def _among_people(case: Case, raters: Raters) -> Iterator[Claim]:
    """One annotator against the majority of the others on the same rows."""
    claims = [_against_others(case, raters, rater) for rater in range(len(raters.names))]
    yield from _only_one([claim for claim in claims if claim is not None], len(claims))


def _against_others(case: Case, raters: Raters, rater: int) -> Claim | None:
    own, others = raters.votes[:, [rater]], np.delete(raters.votes, rater, axis=1)
    both = (own[:, 0] >= 0) & ((others >= 0).sum(1) >= _SEVERAL - 1)
    if both.sum() < _MIN_LABELS:
        return None
    # A tie among the others counts against neither side.
    differs = (((others == 1 - own).sum(1)) > (others == own).sum(1))[both]
    contradicted = share(differs, compact(raters.groups[both]))
    message = (
        f"annotator {one_line(raters.names[rater], 40)!r} disagrees with all others: contradicts their majority "
        f"on {contradicted.k:,} of {contradicted.n:,} rows, {percent(contradicted.value)}"
    )
    finding = case.finding(
        "annotator-disagrees", Severity.WARNING, "share of labels contradicted", message, _ADVICE,
        raters.rows[both][differs], unit="label",
    )  # fmt: skip
    return share_claim(finding, contradicted, _HALF)


def _beside_verdicts(case: Case, names: Sequence[Hashable | None]) -> Iterator[Claim]:
    """One annotator against the grader's verdicts, with which the others agree."""
    confusion, rows = against_labels(case)
    differs = confusion.truth != confusion.verdict
    labellers = np.array([names[row] for row in rows], dtype=object)
    known = [
        name
        for name in dict.fromkeys(labellers)
        if name is not None and (labellers == name).sum() >= _MIN_LABELS
    ]
    claims = [_claim(case, str(name), rows, differs, labellers == name) for name in known if len(known) > 1]
    yield from _only_one([claim for claim in claims if claim is not None], len(known))


def _only_one(claims: list[Claim], tried: int) -> Iterator[Claim]:
    """The claim about the one annotator who contradicts most, its level shared among all examined annotators."""
    # Two annotators who contradict the verdicts may well be right: then no single one disagrees with all others.
    if len([claim for claim in claims if claim.finding.value > _HALF]) == 1:
        worst = min(claims, key=lambda claim: claim.p)
        yield replace(worst, p=min(1.0, worst.p * tried))


def _claim(
    case: Case, name: str, rows: NDArray[np.intp], differs: NDArray[np.bool_], own: NDArray[np.bool_]
) -> Claim | None:
    others = share(~differs[~own], compact(case.groups[rows[~own]]))
    if others.interval().lo <= _HALF:
        return None  # no annotator agrees with the grader: this annotator need not be at fault
    contradicted = share(differs[own], compact(case.groups[rows[own]]))
    message = (
        f"annotator {one_line(name, 40)!r} disagrees with all others: they agree with {percent(others.value)} of the "
        f"verdicts, this annotator contradicts {contradicted.k:,} of {contradicted.n:,}, {percent(contradicted.value)}"
    )
    finding = case.finding(
        "annotator-disagrees", Severity.WARNING, "share of verdicts contradicted", message, _ADVICE,
        rows[own & differs], unit="label",
    )  # fmt: skip
    return share_claim(finding, contradicted, _HALF)
