"""Bias: for or against one writer, one position, or the first of two compared completions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from workbench.analysis.diagnostics.case import Case
from workbench.analysis.diagnostics.claim import Claim, claim_of, share_claim
from workbench.analysis.diagnostics.column_bias import favoured
from workbench.analysis.diagnostics.finding import Severity, percent
from workbench.analysis.diagnostics.registry import diagnostic
from workbench.analysis.statistics import compact, share

__all__ = ["order_decides", "position_bias", "score_position_bias", "writer_bias"]

_ORDERS = 2  # the completion first, then the other completion first
_LETTERS = ("A", "B")
_MISTAKES = ("too-lenient", "too-strict", "accepts-known-bad", "disagrees-with-labels")
"""Consequences: findings whose mistakes would disappear without the bias."""
_FLAT = ("order-decides", "same-score", "narrow-range", "no-variance", "collapsed")
"""Consequences: two orders that contradict each other are a tie, so that all scores are alike."""
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
    yield from favoured(case, names, "writer-bias", "writer {name}", advice)


@diagnostic("score-position-bias", explains=_MISTAKES)
def score_position_bias(case: Case) -> Iterable[Claim]:
    """Completions shown at one position score higher, or lower, than others with the same label, by over a twentieth of the scale.

    Positions are named by a column such as `position`; the level is shared among them.
    """
    places = None if case.context is None else case.context.positions
    advice = (
        "show the same completions in another order: the position of a completion should not change its score"
    )
    yield from favoured(case, places, "score-position-bias", "position {name}", advice)


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
