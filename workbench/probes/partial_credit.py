"""Scores of more than two levels: texts that are paid in part without what the grader is there for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from workbench.probes.acceptance import HALF, MOST
from workbench.probes.board import Board
from workbench.probes.probe_basis import Base
from workbench.probes.tried import Family, TriedText
from workbench.probes.variants import Variant

_ROWS, _TIMES = 12, (3, 12)
_RISE = 0.02
"""Share of the span of scores that counts as higher. Workbench limit."""
_MIN_SHARE = 0.8
"""Share of the rows on which the score has to rise. Workbench limit: chance gives as many falls as rises."""

MORE = Variant(
    "more-of-the-same", "reject", "the same text repeated, and scores it higher than once", lambda _: (), alarm="always", rank=18, least=2,
    judges=False, advice="count a repeated text once: a score that grows with repeats rewards length",
)  # fmt: skip


def monotone(board: Board, base: Base, like: Family) -> list[Family]:
    """Grade wrong and correct completions once and repeated; a family if the score rises with every repeat.

    Only for scores with more than two levels: for two levels acceptance already shows it.
    """
    rows = [row for row in base.rows[:_ROWS] if row.reference and row.others]
    if base.rule.mark is not None or not rows:
        return []
    once = {row.number: (row.say(row.other), row.say(row.reference)) for row in rows}
    pairs = [
        (number, " ".join([text] * times))
        for number, both in once.items()
        for text in both
        for times in (1, *_TIMES)
    ]
    board.grade(pairs)
    texts = [
        _judged(board, base, number, [" ".join([one] * times) for times in (1, *_TIMES)])
        for number, both in once.items()
        for one in both
        if (number, " ".join([one] * _TIMES[-1])) in board.outcomes  # a probe may end early
    ]
    rises = np.mean([text.wrong for text in texts]) if texts else 0.0
    kept = texts if rises >= _MIN_SHARE / 2 else [replace(text, wrong=False) for text in texts]
    return [Family(MORE, tuple(kept), like.groups, float("nan"))]


_PAID = 0.25
"""Share of the span of scores from which a form alone is paid. Workbench limit: a tenth for the form is usual."""

FORM = Variant(
    "form-paid", "reject", "the form alone, or with a wrong result: it gets a part of the reward", lambda _: (), alarm="always", rank=48, least=2,
    judges=False, question=True, asked=True, advice="pay for the form only if the result is right: multiply instead of adding",
)  # fmt: skip


def form_paid(base: Base, found: Sequence[Family]) -> list[Family]:
    """Empty forms, and wrong results in the right form, that get a part of the reward, while a text without content gets the least; none if scores have two levels."""
    by_name = {family.variant.name: family for family in found}
    shells, plain = by_name.get("format-shell"), by_name.get("gibberish")
    others = by_name.get("other-answer")
    rule = base.rule
    if rule.mark is not None or shells is None or plain is None:
        return []
    span = rule.usual - rule.floor
    least = rule.floor + _PAID * span
    nothing = [text.outcome.score for text in plain.texts if text.outcome.score == text.outcome.score]
    if span <= 0 or not nothing or max(nothing) >= least:
        return []
    texts = tuple(
        replace(text, wrong=bool(text.outcome.score >= least) and not rule.accepts(text.row, text.outcome))
        for text in (*shells.texts, *(others.texts if others is not None else ()))
    )
    return [Family(FORM, texts, shells.groups, float("nan"))] if any(text.wrong for text in texts) else []


def _judged(board: Board, base: Base, row: int, chain: Sequence[str]) -> TriedText:
    """The longest of a chain of repeats, wrong if every step scores higher than the one before."""
    outcomes = [board.outcomes[row, text] for text in chain if (row, text) in board.outcomes]
    scores = [outcome.score for outcome in outcomes]
    span = max(base.rule.usual - base.rule.floor, 1e-9)
    rises = len(scores) == len(chain) and scores[-1] - scores[0] > _RISE * span and all(np.diff(scores) >= 0)
    return TriedText(row, chain[-1], outcomes[-1], bool(rises))


UNEARNED = Variant(
    "paid-for-nothing", "reject", "a text without content, and pays it more than half of what a correct completion gets", lambda _: (),
    alarm="always", rank=47, least=2, judges=False, question=True, asked=True,
    advice="require a part of the content first: what is paid for not doing something is paid to an empty completion too",
)  # fmt: skip


def paid_for_nothing(board: Board, base: Base, found: Sequence[Family]) -> list[Family]:
    """Empty and meaningless texts above half of the span, where some of the rows' own completions get less; only for more than two levels."""
    by_name = {family.variant.name: family for family in found}
    some = [by_name[name] for name in ("empty", "gibberish") if name in by_name]
    rule = base.rule
    least = rule.floor + HALF * (rule.usual - rule.floor)
    own = [
        outcome.score
        for row in range(len(board.samples))
        for text in board.own_texts(row)
        if (outcome := board.outcomes.get((row, text))) is not None
    ]
    if (
        rule.mark is not None
        or not some
        or rule.usual <= rule.floor
        or not any(score < least for score in own)
    ):
        return []
    texts = tuple(
        replace(text, wrong=bool(text.outcome.score >= least) and not rule.accepts(text.row, text.outcome))
        for family in some
        for text in family.texts
    )
    paid = {text.row for text in texts if text.wrong}
    return (
        [Family(UNEARNED, texts, some[0].groups, float("nan"))] if len(paid) >= MOST * len(base.rows) else []
    )
