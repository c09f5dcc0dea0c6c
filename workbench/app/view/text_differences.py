"""The differences of two texts, marked: what is removed in the first, what is added in the second."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Sequence
from itertools import pairwise

from rapidfuzz import fuzz
from rapidfuzz.distance import LCSseq

from workbench.core.display_text import visible

__all__ = ["Pieces", "cut", "marked", "similarity"]

Pieces = list[list[str]]
"""Pieces of a text: the text, and "" or a mark."""

_SHOWN = 300  # maximum characters of a text to show
_BEFORE = 60  # of these, before the first difference
_COMPARED = 1_000  # maximum characters for a similarity: whole books would take seconds
_SHORT = 30  # texts below this length are compared by character
_WORD = re.compile(r"\d+(?:\.\d+)?|[^\W\d]+|\s+|[^\w\s]|_")


def similarity(a: str, b: str) -> float:
    """The share of their beginnings that two texts have in common, 0 to 1."""
    return fuzz.ratio(a[:_COMPARED], b[:_COMPARED]) / 100


def cut(text: str) -> Pieces:
    """The beginning of a text, without marks."""
    return [[visible(text[:_SHOWN]) + ("…" if len(text) > _SHOWN else ""), ""]]


def marked(a: str, b: str) -> tuple[Pieces, Pieces]:
    """Two texts cut around their first difference, with marks "gone" in the first and "new" in the second.

    There are no marks if the two share at most half of their text: everything would be marked.
    """
    shared = _n_shared(a, b)
    start = max(shared - _BEFORE, 0) if max(len(a), len(b)) > _SHOWN else 0
    parts = (a[start : start + _SHOWN], b[start : start + _SHOWN])
    gone, new, n_same = _differences(*parts)
    # The text before the cut is the same in both.
    if 2 * (n_same + start) <= 0.5 * (len(parts[0]) + len(parts[1]) + 2 * start):
        gone, new = [[parts[0], ""]], [[parts[1], ""]]
    return _ends(gone, a, start), _ends(new, b, start)


def _n_shared(a: str, b: str) -> int:
    """Length of the common prefix of two texts."""
    lengths = range(1, min(len(a), len(b)) + 1)
    return bisect_left(lengths, 1, key=lambda length: int(a[:length] != b[:length]))


def _differences(a: str, b: str) -> tuple[Pieces, Pieces, int]:
    """Both texts in pieces, and how many characters they share."""
    by_character = len(a) < _SHORT and len(b) < _SHORT
    words = [list(text) if by_character else _WORD.findall(text) for text in (a, b)]
    gone: Pieces = []
    new: Pieces = []
    n_same = 0
    for part in LCSseq.opcodes(*words):
        old = "".join(words[0][part.src_start : part.src_end])
        now = "".join(words[1][part.dest_start : part.dest_end])
        same = part.tag == "equal"
        n_same += len(old) * same
        _add(gone, old, "" if same else "gone")
        _add(new, now, "" if same else "new")
    return _joined(gone), _joined(new), n_same


def _add(pieces: Pieces, text: str, mark: str) -> None:
    """Append a piece; blanks are never marked."""
    if text:
        pieces.append([text, mark if text.strip() else ""])


def _joined(pieces: Pieces) -> Pieces:
    """Neighbours of one mark as one piece, and blanks between two marked pieces as part of them."""
    bridged = [list(piece) for piece in pieces]
    for (before, at), (_, after) in zip(pairwise(bridged), pairwise(bridged[1:]), strict=False):
        if before[1] and before[1] == after[1] and not at[0].strip():
            at[1] = before[1]
    joined: Pieces = []
    for text, mark in bridged:
        if joined and joined[-1][1] == mark:
            joined[-1][0] += text
        else:
            joined.append([text, mark])
    return joined


def _ends(pieces: Pieces, text: str, start: int) -> Pieces:
    """The pieces as shown, with dots if the text continues."""
    shown = [[visible(part), mark] for part, mark in pieces] or [["", ""]]
    return _dotted(shown, before=start > 0, behind=len(text) > start + _SHOWN)


def _dotted(pieces: Sequence[list[str]], *, before: bool, behind: bool) -> Pieces:
    return [*([["… ", ""]] if before else []), *pieces, *([["…", ""]] if behind else [])]
