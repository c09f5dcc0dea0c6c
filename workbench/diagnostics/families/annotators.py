"""One annotator against all others: labels that are wrong must not be blamed on the grader."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from workbench.diagnostics.case import Case
from workbench.diagnostics.claim import Claim, share_claim
from workbench.diagnostics.families.human import against_labels
from workbench.diagnostics.finding import Severity, percent
from workbench.diagnostics.registry import diagnostic
from workbench.display_text import one_line
from workbench.statistics import compact, share

__all__ = ["annotator_disagrees"]

_FEWEST = 8  # labels of an annotator; chosen here
_HALF = 0.5  # of labels that a coin would share with the grader


@diagnostic(
    "annotator-disagrees",
    explains=(
        "too-lenient",
        "too-strict",
        "disagrees-with-labels",
        "no-better-than-chance",
        "worse-than-chance",
        "accepts-known-bad",
    ),
)
def annotator_disagrees(case: Case) -> Iterable[Claim]:
    """One annotator's labels contradict the verdicts more often than not, while all others' agree with them.

    Both are shown by bounds: over half of this annotator's labels contradict the verdicts, at a level shared among all
    annotators, and over half of the others' agree (95 %). Annotators are named by a column such as `annotator`.
    """
    names = None if case.context is None else case.context.annotators
    if names is None:
        return
    confusion, rows = against_labels(case)
    differs = confusion.truth != confusion.verdict
    labellers = np.array([names[row] for row in rows], dtype=object)
    known = [
        name for name in dict.fromkeys(labellers) if name is not None and (labellers == name).sum() >= _FEWEST
    ]
    claims = [_claim(case, str(name), rows, differs, labellers == name) for name in known if len(known) > 1]
    shown = [claim for claim in claims if claim is not None]
    # Two who contradict the verdicts may well be right: then no single one disagrees with all others.
    if len([claim for claim in shown if claim.finding.value > _HALF]) == 1:
        worst = min(shown, key=lambda claim: claim.p)
        yield replace(worst, p=min(1.0, worst.p * len(known)))


def _claim(
    case: Case, name: str, rows: NDArray[np.intp], differs: NDArray[np.bool_], own: NDArray[np.bool_]
) -> Claim | None:
    others = share(~differs[~own], compact(case.groups[rows[~own]]))
    if others.interval().lo <= _HALF:
        return None  # nobody agrees with the grader: the fault need not be this annotator's
    contradicted = share(differs[own], compact(case.groups[rows[own]]))
    message = (
        f"annotator {one_line(name, 40)!r} disagrees with all others: they agree with {percent(others.value)} of the "
        f"verdicts, this one contradicts {contradicted.k:,} of {contradicted.n:,}, {percent(contradicted.value)}"
    )
    advice = (
        "read these rows: their labels look turned round, or the grader is wrong on the kind of rows this one "
        "labelled; correct the labels or leave them out, then look again"
    )
    finding = case.finding(
        "annotator-disagrees", Severity.WARNING, "share of verdicts contradicted", message, advice,
        rows[own & differs], unit="label",
    )  # fmt: skip
    return share_claim(finding, contradicted, _HALF)
