"""Findings about bias: towards a writer, a position, a subset of the rows, or a few levels of the scale."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.analysis.case import Case, Claim, claim_of, share_claim
from workbench.analysis.coded_column import CodedColumn
from workbench.analysis.confounders import (
    beyond,
    explained_share,
    explaining_column,
    in_user_units,
    length_levels,
    within,
)
from workbench.analysis.diagnostics import diagnostic
from workbench.analysis.finding import Finding, Severity, percent
from workbench.analysis.statistics import Codes, Estimate, Flags, compact
from workbench.analysis.statistics.association import difference_within_levels, within_levels
from workbench.analysis.statistics.means import share
from workbench.core.display_text import one_line

_ORDERS = 2  # the completion first, then the other completion first
_LETTERS = ("A", "B")
_MISTAKES = ("too-lenient", "too-strict", "accepts-known-bad", "disagrees-with-labels")
"""Consequences: findings whose mistakes would disappear without the bias."""
_FLAT = ("order-decides", "same-score", "narrow-range", "no-variance", "collapsed")
"""Consequences: two orders that contradict each other are a tie, so that all scores are alike."""
_FAVOUR = (
    0.05  # of the scale; limit of this project, as for self-preference (Panickssery 2024, arXiv 2404.13076)
)
_MIN_ROWS = 8  # minimum labelled rows of a writer, a position or a subset; this project's choice
_MAX_SUBSETS = 50  # a column with more values defines neither
_FIRST = 0.05  # maximum distance from a half of the share of choices for the first completion
_CHANGED = 0.1  # maximum share of pairs whose winner depends on the order
"""Both limits are this project's choice, for the effects in Zheng 2023 (arXiv 2306.05685) and Wang 2024 (arXiv 2305.17926)."""


@diagnostic("writer-bias", explains=_MISTAKES)
def writer_bias(case: Case) -> Iterable[Claim]:
    """Completions of one model score higher, or lower, than others' with the same label, by over a twentieth of the scale.

    Self-preference, if the judge is of the writer's family: Panickssery 2024, arXiv 2404.13076. Writers are named by a
    column such as `writer` or `model`; the level is shared among them.
    """
    names = None if case.context is None else case.context.writers
    advice = "compare these rows with equally good ones of other writers: something in this writer's style changes the score"
    yield from _favoured(case, names, "writer-bias", "writer {name}", advice)


@diagnostic("score-position-bias", explains=_MISTAKES)
def score_position_bias(case: Case) -> Iterable[Claim]:
    """Completions shown at one position score higher, or lower, than others with the same label, by over a twentieth of the scale.

    Positions are named by a column such as `position`; the level is shared among them.
    """
    places = None if case.context is None else case.context.positions
    advice = (
        "show the same completions in another order: the position of a completion should not change its score"
    )
    yield from _favoured(case, places, "score-position-bias", "position {name}", advice)


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


def _favoured(case: Case, names: CodedColumn | None, kind: str, what: str, advice: str) -> Iterator[Claim]:
    """The claim that rows of one kind score higher, or lower, than others with the same label, by over a twentieth.

    Args:
        case: The grader's grades, with labels.
        names: Kind of each row, n cells, missing if it has none; None for no column.
        kind: The name of the finding.
        what: The kind as text, with "{name}", such as "writer {name}".
        advice: What to do next.
    """
    labelled = case.labels[case.rows] >= 0
    if names is None or not labelled.any() or not case.on_scale:
        return
    rows = case.rows[labelled]
    kinds = list(_kinds(case, names.at(rows), labelled))
    if not kinds:
        return
    most = max(kinds, key=lambda each: (round(abs(each.found.value), 9), each.found.value))
    if _is_explained(case, np.flatnonzero(labelled), most):
        return
    finding = _favour_finding(
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


def _is_explained(case: Case, places: Codes, kind: _Kind) -> bool:
    """Whether another column, or the length, explains more of the scores, and no bias remains given that column."""
    scores, labels = case.scores[places], case.labels[case.rows[places]]

    def left(levels: NDArray[Any]) -> float:
        return difference_within_levels(scores, levels, kind.own)

    share = explained_share(scores, labels, kind.own.astype(np.intp))
    if explaining_column(case, places, labels, left, limit=_FAVOUR, share=share) is not None:
        return True
    if case.context is None:
        return False
    lengths = case.context.lengths_of(case.rows[places])
    levels = length_levels(lengths)
    gone = abs(left(within(labels, levels))) <= _FAVOUR  # not if it is NaN
    return bool(gone and explained_share(scores, labels, levels) > share)


def _kinds(case: Case, names: CodedColumn, labelled: Flags) -> Iterator[_Kind]:
    """The kinds with enough labelled rows; their level is shared."""
    frequent = names.by_frequency()[:_MAX_SUBSETS]
    for code in (code for code, count in frequent if count >= _MIN_ROWS):
        own = names.codes == code
        found = _difference(case, own, labelled)
        if not np.isnan(found.value):
            yield _Kind(names.categories[code], own, found)


def _difference(case: Case, own: Flags, labelled: Flags) -> Estimate:
    """How much higher these rows score than others with the same label: a better writer does not count as bias."""
    scores, codes = case.scores[labelled], case.scored_groups[labelled]
    return within_levels(scores, codes, case.labels[case.rows][labelled], own)


def _favour_finding(case: Case, kind: str, what: str, advice: str, rows: Codes, found: Estimate) -> Finding:
    verb, direction = ("biased towards", "above") if found.value > 0 else ("biased against", "below")
    size = abs(found.value) * case.span
    message = f"{verb} {what}: scores {size:.2g} {direction} other completions with the same label"
    finding = case.finding(
        kind, Severity.WARNING, "score difference to others with the label", message, advice, rows
    )
    return replace(finding, value=found.value, n=found.n)


@diagnostic("position-bias", explains=_FLAT)
def position_bias(case: Case) -> Iterable[Claim]:
    """A judge that compares two completions in both orders prefers the first, or the second, in over 55 % of its choices.

    Without an effect of the order a half of all choices are for the first completion, since each pair is judged in both
    orders: Zheng 2023, arXiv 2306.05685.
    """
    rows, letters = _choices(case)
    chosen = letters[np.isin(letters, _LETTERS)]
    if not len(chosen):
        return
    prompts = np.repeat(case.groups[rows], _ORDERS).reshape(-1, _ORDERS)[np.isin(letters, _LETTERS)]
    is_first = (chosen == "A").mean() >= 1 / 2
    place = "first" if is_first else "second"
    wins = share(chosen == ("A" if is_first else "B"), compact(prompts))
    changed = rows[_depends_on_order(letters)]
    message = (
        f"prefers the {place} of two completions: {wins.k:,} of {wins.n:,} choices, "
        f"{percent(wins.value)}, instead of a half"
    )
    advice = "judge both orders, and count only wins in both; a prompt that requires reasons first, or another model, may reduce it"
    finding = case.finding(
        "position-bias", Severity.WARNING, "share of choices", message, advice, changed, unit="pair"
    )
    finding = replace(finding, value=wins.value, n=wins.n)
    # Either position could have been the preferred one.
    limit = 1 / 2 + _FIRST
    p = min(1.0, 2 * wins.p_above(limit))
    yield claim_of(finding, p, wins.interval, limit=limit, units=wins.units, plans=False)


@diagnostic("order-decides")
def order_decides(case: Case) -> Iterable[Claim]:
    """For over 10 % of the pairs of completions the winner depends on the order (lower bound)."""
    rows, letters = _choices(case)
    if not len(rows):
        return
    changed = _depends_on_order(letters)
    part = share(changed, compact(case.groups[rows]))
    message = (
        f"order-dependent: swapping the two completions changes the winner in "
        f"{part.k:,} of {part.n:,} pairs, {percent(part.value)}"
    )
    advice = "these pairs count as ties; require reasons before the verdict, or use another model"
    finding = case.finding(
        "order-decides", Severity.WARNING, "share of pairs", message, advice, rows[changed], unit="pair"
    )
    yield share_claim(finding, part, _CHANGED)


def _choices(case: Case) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Rows that a pairwise judge compared in both orders, (m,), and the letter that won in each order, (m, 2)."""
    none = np.empty(0, np.intp), np.empty((0, _ORDERS), "<U3")
    if case.is_code or not case.grades.metadata:
        return none
    metadata = case.grades.metadata
    found = {int(row): _letters(metadata[int(row)]) for row in case.rows if int(row) in metadata}
    asked = {row: letters for row, letters in found.items() if letters}
    return (np.array(list(asked), np.intp), np.array(list(asked.values()), "<U3")) if asked else none


def _letters(metadata: Mapping[str, Any]) -> tuple[str, ...]:
    """The letters of both orders as stored by `PairwiseJudge`; () for any other grade."""
    verdicts = metadata.get("verdicts")
    if not isinstance(verdicts, list | tuple) or len(verdicts) != _ORDERS or "consistent" not in metadata:
        return ()
    return tuple(verdicts) if all(letter in (*_LETTERS, "TIE") for letter in verdicts) else ()


def _depends_on_order(letters: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Whether both orders chose the same position, that is, another completion, (m,)."""
    depends: np.ndarray[Any, Any] = (letters[:, 0] == letters[:, 1]) & np.isin(letters[:, 0], _LETTERS)
    return depends


_LIMIT = 0.2  # share of a subset's rows of one label with a wrong verdict; this project's limit
_STUCK = 0.9  # share of scores on two levels
_WHOLE_LEVELS = 4  # minimum integers of a scale that is graded in levels: 1 to 4
_MAX_LEVELS = 1_000  # maximum levels of such a scale: includes 0 to 100


@diagnostic(
    "subset-mistakes", unless=("too-lenient", "too-strict", "no-better-than-chance", "worse-than-chance")
)
def subset_mistakes(case: Case) -> Iterable[Claim]:
    """In one subset over 20 % of the rows of one label have a wrong verdict (lower bound, shared among all subsets).

    Only if no mistake of the whole dataset is shown: what is true of all rows may be the opposite in a part of them (Simpson
    1951). Subsets are named by the column `topic`.
    """
    labels = case.labels[case.rows]
    if case.context is None or not (labels >= 0).any():
        return  # before the topics are read, which takes longer than all other steps
    whole = case.context.coded_topics
    if whole is None:
        return
    topics = whole.at(case.rows)
    if not 1 < len(topics.categories) <= _MAX_SUBSETS:
        return
    parts = [
        (topics.categories[code], (topics.codes == code) & (labels == label), label)
        for code in topics.in_order()
        for label in (0, 1)
    ]
    claims = [claim for part in parts if (claim := _subset_claim(case, *part)) is not None]
    if claims:
        worst = min(claims, key=lambda claim: claim.p)
        yield replace(worst, p=min(1.0, worst.p * len(claims)), plans=False)


def _subset_claim(case: Case, name: str, inside: NDArray[np.bool_], label: int) -> Claim | None:
    if inside.sum() < _MIN_ROWS:
        return None
    wrong = case.accepted if label == 0 else ~case.accepted
    mistakes = share(wrong[inside], compact(case.scored_groups[inside]))
    verb, kind = ("accepts", "known-bad") if label == 0 else ("rejects", "known-good")
    others = (case.labels[case.rows] == label) & ~inside
    elsewhere = f", elsewhere {percent(float(wrong[others].mean()))}" if others.any() else ""
    message = (
        f"wrong on one subset: of {one_line(name, 40)!r} it {verb} {mistakes.k:,} of {mistakes.n:,} {kind} rows"
        f"{elsewhere}; here {percent(mistakes.value)}"
    )
    advice = "read these rows: the overall result hides the errors in this subset"
    finding = case.finding(
        "subset-mistakes", Severity.WARNING, "share wrong in the subset", message, advice,
        case.rows[inside & wrong], unit=f"{kind} row",
    )  # fmt: skip
    return share_claim(finding, mistakes, _LIMIT)


@diagnostic("few-levels", unless=("same-score", "narrow-range", "saturated-high", "saturated-low"))
def few_levels(case: Case) -> Iterable[Claim]:
    """Over 90 % of the scores on two levels of a scale of integers, such as 3 and 4 of 1 to 5 (lower bound).

    Judges use few of the available levels: Stureborg 2024, arXiv 2405.01724. Not for scales of two or three levels,
    and not if the two are the ends: that is a verdict.
    """
    lo, hi = case.scale
    whole = hi - lo + 1  # infinite on the widest scales, which have no levels
    scores = case.grades.scores[case.rows]
    if (
        case.is_tiny
        or not _WHOLE_LEVELS <= whole <= _MAX_LEVELS
        or not _all_whole(scores)
        or not case.on_scale
    ):
        return
    levels, counts = np.unique(scores, return_counts=True)
    if len(levels) < 2:
        return
    used = np.sort(levels[np.argsort(-counts, kind="stable")[:2]])
    if used[0] == lo and used[1] == hi:
        return
    stuck = np.isin(scores, used)
    message = (
        f"uses two levels of {whole:g}: {percent(float(stuck.mean()))} of {len(scores):,} scores are "
        f"{used[0]:g} or {used[1]:g}"
    )
    advice = "define in the criterion what each level means, with an example of each"
    finding = case.finding(
        "few-levels", Severity.WARNING, "share on two levels", message, advice, case.rows[stuck]
    )
    yield share_claim(finding, share(stuck, case.scored_groups), _STUCK)


def _all_whole(scores: NDArray[np.float64]) -> bool:
    return bool(len(scores)) and bool((scores == np.round(scores)).all())
