"""Repetition is never better: a score that grows with repeats rewards length."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from workbench.probes.base import Base
from workbench.probes.board import Board
from workbench.probes.tried import Family, TriedText
from workbench.probes.variant import Variant

__all__ = ["MORE", "monotone"]

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
    rows = [row for row in base.rows[:_ROWS] if row.reference]
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
    ]
    rises = np.mean([text.wrong for text in texts])
    kept = texts if rises >= _MIN_SHARE / 2 else [replace(text, wrong=False) for text in texts]
    return [Family(MORE, tuple(kept), like.groups, float("nan"))]


def _judged(board: Board, base: Base, row: int, chain: Sequence[str]) -> TriedText:
    """The longest of a chain of repeats, wrong if every step scores higher than the one before."""
    outcomes = [board.outcomes[row, text] for text in chain if (row, text) in board.outcomes]
    scores = [outcome.score for outcome in outcomes]
    span = max(base.rule.usual - base.rule.floor, 1e-9)
    rises = len(scores) == len(chain) and scores[-1] - scores[0] > _RISE * span and all(np.diff(scores) >= 0)
    return TriedText(row, chain[-1], outcomes[-1], bool(rises))
