"""Several annotators of the same rows: their agreement with each other limits what any grader can be shown to reach."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from workbench.analysis.diagnostics.case import Case
from workbench.analysis.diagnostics.claim import Claim, estimate_claim
from workbench.analysis.diagnostics.families.human import KAPPA
from workbench.analysis.diagnostics.finding import Finding, Severity
from workbench.analysis.diagnostics.registry import diagnostic
from workbench.analysis.diagnostics.votes import Raters, Votes
from workbench.analysis.statistics import Estimate
from workbench.core.display_text import one_line

__all__ = ["below_human_ceiling", "labels_disagree"]

_MIN_ROWS = 30  # minimum rows that several annotators labelled: below it kappa's large-sample interval is not reliable
_BELOW = 0.1  # maximum difference of kappa to the annotators; this project's limit
_CONSEQUENCES = (
    "too-lenient", "too-strict", "accepts-known-bad", "disagrees-with-labels", "no-better-than-chance",
    "below-human-ceiling",
)  # fmt: skip
_NOT_SHOWN = 0.025  # p value above which annotators are not shown to agree beyond chance


@diagnostic("labels-disagree", unless="annotator-disagrees", explains=_CONSEQUENCES)
def labels_disagree(case: Case) -> Iterable[Claim]:
    """The annotators of the same rows agree too little: mean kappa of all pairs below 0.6 (upper bound).

    With at least 30 rows that several annotators labelled (Light 1971 for the mean of pairs). It explains mistakes of a
    grader that is shown to agree with annotators about as well as they do with each other, and those of any grader if
    annotators are not shown to agree beyond chance.
    """
    raters = _raters(case)
    if raters is None or np.isnan(raters.among.value):
        return
    among = raters.among
    disputed = raters.rows[(raters.votes == 1).any(1) & (raters.votes == 0).any(1)]
    message = (
        f"the labels contradict each other: on {among.n:,} rows the grader agrees with {_people(raters)} by a mean kappa "
        f"of {raters.with_grader.value:.2f}, and they with each other by {among.value:.2f}"
    )
    advice = "define what makes a row good, with these rows as examples, and label them again; no grader can be shown to do better"
    finding = case.finding(
        "labels-disagree",
        Severity.WARNING,
        "mean kappa among annotators",
        message,
        advice,
        disputed,
        unit="label",
    )
    # Labels that agree only by chance give no evidence about any grader.
    leads = _is_kept(raters.gap) or among.p_above(0.0) > _NOT_SHOWN
    finding = replace(finding, n=among.n, leads=leads)
    yield estimate_claim(finding, among, KAPPA)


@diagnostic("below-human-ceiling")
def below_human_ceiling(case: Case) -> Iterable[Claim]:
    """The grader agrees with annotators less than they do with each other: mean kappa lower by over 0.1 (upper bound).

    Within the limit if it is shown to be lower by at most 0.1: then better labels, not a better grader, are needed. With
    at least 30 rows that several annotators labelled.
    """
    raters = _raters(case)
    if raters is None or np.isnan(raters.gap.value) or np.isnan(raters.among.value):
        return
    gap, with_grader, among = raters.gap, raters.with_grader.value, raters.among.value
    kappas = f"mean kappa {with_grader:.2f} with {_people(raters)}, {among:.2f} among them"
    message = (
        f"agrees with annotators less than they do with each other: {kappas}, a difference of {gap.value:.2f}"
    )
    advice = "read the rows on which it differs from the majority of the annotators"
    majority = Votes(raters.names, raters.votes).majority
    differ = raters.rows[(majority >= 0) & (majority != raters.verdicts)]
    finding = case.finding(
        "below-human-ceiling", Severity.WARNING, "kappa with annotators less kappa among them", message, advice,
        differ, unit="label",
    )  # fmt: skip
    claim = estimate_claim(replace(finding, n=gap.n), gap, -_BELOW)
    yield replace(claim, otherwise=_at_ceiling(claim.finding, gap, kappas)) if _is_kept(gap) else claim


def _raters(case: Case) -> Raters | None:
    raters = case.raters
    return raters if raters is not None and len(raters.rows) >= _MIN_ROWS else None


def _is_kept(gap: Estimate) -> bool:
    """Whether a grader is shown to agree with annotators about as well as they do (95 %, one-sided)."""
    return gap.interval(0.9).lo > -_BELOW


def _at_ceiling(finding: Finding, gap: Estimate, kappas: str) -> Finding:
    bound = gap.interval(0.9).lo
    lower = f"at most {-bound:.2f} less" if bound < 0 else "no less"
    message = (
        f"not below the human ceiling: agrees with annotators {lower} than they do with each other, {kappas}"
    )
    advice = "review the labels from which it still differs"
    return replace(
        finding,
        severity=Severity.WITHIN_LIMIT,
        message=message,
        interval=gap.interval(),
        advice=advice,
        rows=(),
    )


def _people(raters: Raters) -> str:
    """The annotators: "Ann, Ben and Cyd", or their number."""
    names = [one_line(name, 30) for name in raters.names]
    return f"{', '.join(names[:-1])} and {names[-1]}" if len(names) <= 4 else f"{len(names)} annotators"
