"""Findings about those who judge rows: annotators and members of a panel who disagree, and labels that contradict rows.

The verdicts of a panel's members are columns, read from the metadata of the panel's grades.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.analysis.case import Case, Claim, bootstrap_claim, estimate_claim, share_claim
from workbench.analysis.diagnostics import diagnostic
from workbench.analysis.diagnostics.label_agreement import KAPPA, against_labels
from workbench.analysis.finding import Finding, Severity, percent
from workbench.analysis.labels import Raters, Votes, drawn
from workbench.analysis.statistics import Codes, Estimate, Flags, Floats, compact
from workbench.analysis.statistics.means import share
from workbench.analysis.statistics.resampling import Bootstrap, krippendorff_alpha
from workbench.core.display_text import one_line
from workbench.core.grades import Grades

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
        yield from _against_annotators(case, raters)
    elif case.context is not None and case.context.annotators is not None:
        yield from _against_verdicts(case, case.context.annotators)


def _against_annotators(case: Case, raters: Raters) -> Iterator[Claim]:
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


def _against_verdicts(case: Case, names: Sequence[Hashable | None]) -> Iterator[Claim]:
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


_MIN_ROWS = 30  # minimum rows that several annotators labelled: below it kappa's large-sample interval is not reliable
_BELOW = 0.1  # maximum difference of kappa to the annotators; this project's limit
_CONSEQUENCES = (
    "too-lenient", "too-strict", "accepts-known-bad", "disagrees-with-labels", "no-better-than-chance",
    "below-human-ceiling",
)  # fmt: skip
_NOT_SHOWN = 0.025  # p value above which annotators are not shown to agree beyond chance


@diagnostic("labels-disagree", unless="annotator-disagrees", explains=_CONSEQUENCES, order=2)
def labels_disagree(case: Case) -> Iterable[Claim]:
    """The annotators of the same rows agree too little: mean kappa of all pairs below 0.6 (upper bound).

    With at least 30 rows that several annotators labelled (Light 1971 for the mean of pairs). It explains mistakes of a
    grader that is shown to agree with annotators about as well as they do with each other, and those of any grader if
    annotators are not shown to agree beyond chance.
    """
    raters = _raters_of_case(case)
    if raters is None or np.isnan(raters.among.value):
        return
    among = raters.among
    disputed = raters.rows[(raters.votes == 1).any(1) & (raters.votes == 0).any(1)]
    message = (
        f"the labels contradict each other: on {among.n:,} rows the grader agrees with {_annotators_as_text(raters)} by a mean kappa "
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
    raters = _raters_of_case(case)
    if raters is None or np.isnan(raters.gap.value) or np.isnan(raters.among.value):
        return
    gap, with_grader, among = raters.gap, raters.with_grader.value, raters.among.value
    kappas = f"mean kappa {with_grader:.2f} with {_annotators_as_text(raters)}, {among:.2f} among them"
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


def _raters_of_case(case: Case) -> Raters | None:
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


def _annotators_as_text(raters: Raters) -> str:
    """The annotators: "Ann, Ben and Cyd", or their number."""
    names = [one_line(name, 30) for name in raters.names]
    return f"{', '.join(names[:-1])} and {names[-1]}" if len(names) <= 4 else f"{len(names)} annotators"


_WRONG = 0.01  # maximum share of wrong labels, as in `label_agreement`
_MIN_PROMPTS = 2  # minimum prompts with contradicted labels
_MAX_TEXTS = 5_000  # maximum rows whose texts are read: reading more would take seconds


@diagnostic(
    "wrong-labels",
    explains=("too-lenient", "too-strict", "accepts-known-bad", "disagrees-with-labels"),
    order=4,
)
def wrong_labels(case: Case) -> Iterable[Claim]:
    """Over 1 % of the labels that can be checked contradict the rows (lower bound).

    Two rules can be checked automatically: the same completion of the same prompt has one label, and a completion that
    equals the reference is good. Of completions with both labels the rarer one counts as wrong. Examined in up to
    5,000 labelled rows. It explains the grader's mistakes if they are no more frequent than wrong labels may be.
    """
    labels = case.labels[case.rows]
    if case.context is None or not (labels >= 0).any():
        return
    part = drawn(labels >= 0, _MAX_TEXTS)
    rows, prompts, labels = case.rows[part], case.scored_groups[part], labels[part]
    repeated, rarer = _repeats(prompts, case.context.hashes_of(rows), labels)
    if case.raters is not None:  # differences between annotators are another finding
        repeated, rarer = np.zeros_like(repeated), np.zeros_like(rarer)
    is_reference = case.context.is_reference(rows)
    refused = is_reference & (labels == 0)
    checked, wrong = repeated | is_reference, refused | (rarer & ~is_reference)
    # If all rows have one prompt, the task may be in another column.
    if not wrong.any() or len(np.unique(prompts[wrong])) < _MIN_PROMPTS:
        return
    found = share(wrong[checked], compact(prompts[checked]))
    message = (
        f"labels are wrong: {_ways(int(refused.sum()), int((wrong & ~refused).sum()))}; that is {found.k:,} of "
        f"{found.n:,} labels that can be checked, {percent(found.value)}"
    )
    advice = "correct these labels and review some others: the labels that cannot be checked are probably wrong as often"
    finding = case.finding(
        "wrong-labels", Severity.WARNING, "share of labels contradicted", message, advice, rows[wrong], unit="label"
    )  # fmt: skip
    mistakes = float((case.accepted[part] != (labels == 1)).mean())
    # Wrong labels explain at most as many mistakes as their own number.
    yield share_claim(replace(finding, leads=mistakes <= found.interval().hi), found, _WRONG)


def _repeats(
    prompts: NDArray[np.intp], answers: NDArray[np.int64], labels: NDArray[np.int8]
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Which rows repeat a completion of their prompt, and which of those have its rarer label; in a tie, the later ones."""
    _, same = np.unique(np.column_stack([prompts, answers]), axis=0, return_inverse=True)
    same = same.ravel()
    count, good = np.bincount(same)[same], np.bincount(same, weights=labels)[same]
    first = np.zeros(same.max(initial=-1) + 1, np.int8)
    first[same[::-1]] = labels[::-1]
    usual = np.where(2 * good == count, first[same], 2 * good > count)
    return count > 1, (count > 1) & (labels != usual)


def _ways(refused: int, differing: int) -> str:
    """What contradicts them, as text."""
    ways = [
        (refused, "mark a completion bad that equals the reference"),
        (differing, "differ from others of the same completion"),
    ]
    return ", ".join(f"{count:,} {way}" for count, way in ways if count)


@dataclass(frozen=True, eq=False)
class PanelVerdicts:
    """The votes of m members on r rows.

    Attributes:
        rows: Number of each row in the report, (r,).
        names: The members, (m,).
        by_score: Whether the panel combines scores rather than verdicts.
        verdicts: 1 pass, 0 fail, 0.5 neither, NaN without a vote, (r, m).
        scores: NaN without one, (r, m).
        is_called: Whether the member was called, (r, m): with early stopping only some are.
        is_failed: (r, m).
        is_dissent: Whether the member's vote is against the outcome, (r, m).
        is_tie: (r,).
    """

    rows: Codes
    names: tuple[str, ...]
    by_score: bool
    verdicts: Floats
    scores: Floats
    is_called: Flags
    is_failed: Flags
    is_dissent: Flags
    is_tie: Flags

    @property
    def has_dissent(self) -> Flags:
        """Whether a row is a tie or a member is against its outcome, (r,)."""
        dissent: Flags = self.is_dissent.any(1) | self.is_tie
        return dissent

    @cached_property
    def always_called(self) -> Codes:
        """Indices of the members that were called on every row.

        The others were called on disputed rows only, so that their agreement would be understated.
        """
        return np.flatnonzero(self.is_called.all(0))

    def alpha(self, prompts: Codes) -> Bootstrap:
        """Krippendorff's alpha of the members that were called on every row.

        Args:
            prompts: Prompt of each row of the report, (n,).
        """
        values = (self.scores if self.by_score else self.verdicts)[:, self.always_called]
        return krippendorff_alpha(values, compact(prompts[self.rows]))


def panel_verdicts(grades: Grades) -> PanelVerdicts | None:
    """The votes in a grader's metadata; None if it is not a panel."""
    found = [(row, metadata) for row, metadata in grades.metadata.items() if _is_panel(metadata)]
    if not found:
        return None
    names = tuple(dict.fromkeys(str(vote["judge"]) for _, metadata in found for vote in metadata["votes"]))
    place = {name: at for at, name in enumerate(names)}
    shape = (len(found), len(names))
    verdicts, scores = np.full(shape, np.nan), np.full(shape, np.nan)
    is_called, is_failed, is_dissent = np.zeros(shape, bool), np.zeros(shape, bool), np.zeros(shape, bool)
    for at, (_, metadata) in enumerate(found):
        for vote in metadata["votes"]:
            cell = at, place[str(vote["judge"])]
            is_called[cell], is_failed[cell] = True, vote["status"] == "failed"
            if vote.get("score") is not None:
                verdicts[cell], scores[cell] = float(vote["passes"]), float(vote["score"])
        is_dissent[at, [place[name] for name in metadata.get("dissent", ()) if name in place]] = True
    return PanelVerdicts(
        np.array([row for row, _ in found], np.intp), names, found[0][1].get("vote") != "majority", verdicts, scores,
        is_called, is_failed, is_dissent, np.array([bool(metadata.get("tie")) for _, metadata in found]),
    )  # fmt: skip


def _is_panel(metadata: Mapping[str, Any]) -> bool:
    votes = metadata.get("votes")
    return "members" in metadata and isinstance(votes, list) and bool(votes)


_ALPHA = 0.667
"""Krippendorff's (2004) lowest alpha for tentative conclusions."""
_MIN_PANEL_ROWS = 20  # with fewer the interval of alpha is not simulated


@diagnostic("panel-disagrees")
def panel_disagrees(case: Case) -> Iterable[Claim]:
    """Krippendorff's alpha of a panel's members is below 0.667 (upper bound), from 20 rows on.

    Members called only on disputed rows, as with early stopping, do not count.
    """
    votes = panel_verdicts(case.grades)
    if votes is None or len(votes.always_called) < 2:
        return
    alpha = votes.alpha(case.groups)
    if not len(alpha.draws):
        return
    message = f"its {len(votes.always_called)} judges agree little beyond chance: Krippendorff's alpha {alpha.value:.2f}"
    finding = case.finding(
        "panel-disagrees",
        Severity.WARNING,
        "Krippendorff's alpha",
        message,
        "read the rows with dissent, and make the criterion decide them; a majority of judges that disagree is noise",
        votes.rows[votes.has_dissent],
    )
    missing = max(0, _MIN_PANEL_ROWS - alpha.units)
    yield bootstrap_claim(replace(finding, n=len(votes.rows)), alpha, _ALPHA, missing=missing)


@diagnostic("panel-dissent")
def panel_dissent(case: Case) -> Iterable[Finding]:
    """A note on the rows of a panel on which a member is against the outcome or the vote is a tie: a fact."""
    votes = panel_verdicts(case.grades)
    if votes is None or not votes.has_dissent.any():
        return
    found = share(votes.has_dissent, compact(case.groups[votes.rows]))
    ties = f", {int(votes.is_tie.sum()):,} of them ties" if votes.is_tie.any() else ""
    finding = case.finding(
        "panel-dissent",
        Severity.NOTE,
        "share of rows with dissent",
        f"its judges are divided on {found.k:,} of {found.n:,} rows, {percent(found.value)}{ties}",
        "read them first when you label: they are the rows on which the criterion is unclear or a judge is wrong",
        votes.rows[votes.has_dissent],
    )
    yield replace(finding, value=found.value, n=found.n, interval=found.interval())
