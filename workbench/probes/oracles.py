"""Texts that are wrong by logic alone: one text that is accepted in rows whose correct completions exclude each other."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from workbench.probes.base import Base
from workbench.probes.board import Board
from workbench.probes.tried import Family, TriedText
from workbench.probes.variants import Variant

_MAX_TEXTS, _MAX_ACCEPTED = 48, 3
"""Texts that are graded in every row, and accepted completions that represent a row. Workbench limits."""
_MIN_ROWS = 3
"""Fewest rows, each excluding all the others, that one text has to pass. With two, it may be correct in both."""
_SHORT = 60
_ENTRY = re.compile(r"\[\d+\]|[^\s,;\[\]]+")
_ENTRY_KINDS = (
    re.compile(r"\[\d+\]"),
    re.compile(r"[A-Za-z]"),
    re.compile(r"\d+"),
    re.compile(r"[^\W\d]{2,}"),
)
"""Entries of one kind: sources, letters, numbers and words."""
_SEPARATORS = (", ", "", "\n", "; ", " ")

UNIVERSAL = Variant(
    "one-for-all", "reject", "one text in rows whose correct completions exclude each other", lambda _: (), alarm="always", rank=29,
    least=_MIN_ROWS, judges=False, advice="make every wrong or superfluous part cost: a text that combines all of it is accepted everywhere",
)  # fmt: skip


def universal(board: Board, base: Base, groups: Sequence[Family]) -> list[Family]:
    """The text that most rows accept although their correct completions exclude each other, as a family; none if there is none.

    No label is needed and no opinion on what a change means: what is right in a row is what the grader accepts there, of the
    rows' own completions and of the reference. Two rows exclude each other if each rejects what the other accepts.
    """
    accepted = _accepted(board, base)
    if len(accepted) < _MIN_ROWS or not groups:
        return []
    own = list(dict.fromkeys(text for texts in accepted.values() for text in texts[:_MAX_ACCEPTED]))
    tried = list(dict.fromkeys([*_unions(own), *_completions(board), *own]))[:_MAX_TEXTS]
    board.grade((row, text) for row in accepted for text in dict.fromkeys([*own[:_MAX_TEXTS], *tried]))
    best: list[int] = []
    passed, chosen = 0, ""
    for text in tried:
        rows = [row for row in accepted if _accepts(board, base, row, text)]
        others = {row: [one for one in accepted[row] if one != text] for row in rows}
        clique = _exclusive(board, base, [row for row in rows if others[row]], others)
        if (len(clique), len(rows)) > (len(best), passed):
            best, passed, chosen = clique, len(rows), text
    if len(best) < _MIN_ROWS:
        return []
    texts = tuple(
        TriedText(row, chosen, board.outcomes[row, chosen], row in best)
        for row in accepted
        if (row, chosen) in board.outcomes
    )
    return [
        Family(
            replace(UNIVERSAL, says=_says(chosen, [accepted[row][0] for row in best])),
            texts,
            groups[0].groups,
            float("nan"),
        )
    ]


def _accepted(board: Board, base: Base) -> Mapping[int, list[str]]:
    """The accepted completions of each row's prompt, and its reference, the shortest first; rows without one are left out."""
    groups = board.samples.group_codes.tolist()
    found: dict[int, list[str]] = {}
    for row in range(len(groups)):
        for text in (board.samples_text(row), base.right.get(row, "")):
            if text and _accepts(board, base, row, text):
                found.setdefault(groups[row], []).append(text)
    first = {group: row for row, group in reversed(list(enumerate(groups)))}
    return {first[group]: sorted(dict.fromkeys(texts), key=len) for group, texts in found.items()}


def _accepts(board: Board, base: Base, row: int, text: str) -> bool:
    outcome = board.outcomes.get((row, text))
    return outcome is not None and base.rule.accepts(row, outcome)


def _completions(board: Board) -> list[str]:
    """The rows' own completions, the longest of the short ones first: they are the most likely to combine everything."""
    texts = {board.samples_text(row) for row in range(len(board.samples))}
    return sorted((text for text in texts if 0 < len(text) <= _SHORT), key=len, reverse=True)


def _unions(texts: Sequence[str]) -> Iterator[str]:
    """All entries of the accepted texts in one text, with the separators that they use."""
    short = [text for text in texts if len(text) <= _SHORT]
    found = {entry for text in short for entry in _entries(text)}
    for kind in _ENTRY_KINDS:
        entries = sorted(entry for entry in found if kind.fullmatch(entry))
        if 1 < len(entries) <= _MAX_TEXTS:
            yield from (mark.join(entries) for mark in _SEPARATORS)


def _entries(text: str) -> set[str]:
    return {entry.strip(".:;!?") for entry in _ENTRY.findall(text)}


def _exclusive(board: Board, base: Base, rows: Sequence[int], accepted: Mapping[int, list[str]]) -> list[int]:
    """Rows that exclude each other, chosen one after the other."""
    chosen: list[int] = []
    for row in rows:
        if all(
            _rejects(board, base, row, accepted[other]) and _rejects(board, base, other, accepted[row])
            for other in chosen
        ):
            chosen.append(row)
    return chosen


def _rejects(board: Board, base: Base, row: int, texts: Sequence[str]) -> bool:
    """Whether a row was shown the texts, at most a few of them, and accepts none."""
    known = [text for text in texts[:_MAX_ACCEPTED] if (row, text) in board.outcomes]
    return bool(known) and not any(_accepts(board, base, row, text) for text in known)


def _says(text: str, others: Sequence[str]) -> str:
    parts = _entries(text)
    kinds = [kind for kind in _ENTRY_KINDS if any(map(kind.fullmatch, parts))]
    if all(
        parts > {one for one in _entries(other) if any(kind.fullmatch(one) for kind in kinds)}
        for other in others
        if other != text
    ):
        return "one text with every entry, a superset of each reference, in rows whose correct completions exclude each other"
    return UNIVERSAL.says
