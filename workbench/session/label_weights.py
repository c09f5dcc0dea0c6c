"""How rows came to be labelled, as labels keep it, and what each then stands for. No widget is imported here."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from fractions import Fraction

__all__ = ["BALANCED", "CHOSEN", "DISAGREEING", "RANDOM", "is_at_random", "of_stratum", "weights_of"]

RANDOM, BALANCED, DISAGREEING, CHOSEN = "random", "class-balanced", "disagreement first", "as shown"

_CLASSES = {1: "accepted", 0: "refused", -1: "neither"}
_STRATUM = re.compile(rf"{BALANCED} (?:({'|'.join(_CLASSES.values())}) )?(\d{{1,12}})/(\d{{1,12}})")

_Stratum = tuple[str, Fraction]
"""A class of verdicts, and its share of all rows. Labels of older releases do not say which class: ""."""


def is_at_random(drawn: str) -> bool:
    """Whether labels of such rows make a rate as they are: drawn at random, or given by hand."""
    return drawn in {"", RANDOM}


def of_stratum(verdict: int, size: int, n: int) -> str:
    """A row drawn out of one class of verdicts.

    Args:
        verdict: The class: 1 accepted, 0 refused, -1 neither.
        size: Rows in the class.
        n: Rows in all.
    """
    return f"{BALANCED} {_CLASSES[verdict]} {size}/{n}"


def weights_of(drawn: Sequence[str]) -> list[float | None]:
    """How many rows each labelled row stands for, against one drawn at random; None for one that was chosen.

    A row out of a class of verdicts stands for the class: its share of all rows over its share of the labels so
    drawn (Begg & Greenes 1983, "Assessment of diagnostic tests when disease verification is subject to selection
    bias"). The rows drawn so count together for as many as they are. This holds for any grader, as it rests on
    how rows were drawn, and not on whose verdict is looked at. Where a grader's classes changed between draws, the share
    of a class is the mean of those its labels were drawn with, and the shares are scaled to add up to 1.

    Args:
        drawn: How each row was drawn.

    Example:
        >>> weights_of(["random", "class-balanced accepted 3/4", "class-balanced refused 1/4", "as shown"])
        [1.0, 1.5, 0.5, None]
    """
    drawn_from = _joined([_stratum(one) for one in drawn])
    strata = [None if one is None else one[0] or one for one in drawn_from]
    seen = Counter(one for one in strata if one is not None)
    shares = {at: total / seen[at] for at, total in _totals(drawn_from).items()}
    each = Fraction(sum(seen.values())) / sum(shares.values()) if seen else Fraction(0)
    return [
        float(shares[at] / seen[at] * each) if at is not None else 1.0 if is_at_random(one) else None
        for one, at in zip(drawn, strata, strict=True)
    ]


def _totals(drawn_from: list[_Stratum | None]) -> dict[str | _Stratum, Fraction]:
    """Sum of the shares that the labels of each class were drawn with: they differ where a grader ran again."""
    found: dict[str | _Stratum, Fraction] = {}
    for one, times in Counter(one for one in drawn_from if one is not None).items():
        at = one[0] or one
        found[at] = found.get(at, Fraction(0)) + one[1] * times
    return found


def _joined(strata: list[_Stratum | None]) -> list[_Stratum | None]:
    """Rows of a class that is not said go to the class of their share, where there is one such class only."""
    known: dict[Fraction, set[_Stratum]] = {}
    for one in strata:
        if one is not None and one[0]:
            known.setdefault(one[1], set()).add(one)
    fits = {("", share): next(iter(those)) for share, those in known.items() if len(those) == 1}
    return [None if one is None else fits.get(one, one) for one in strata]


def _stratum(drawn: str) -> _Stratum | None:
    """The class of verdicts a row was drawn from; None for rows drawn otherwise."""
    found = _STRATUM.fullmatch(drawn)
    if found is None:
        return None
    size, n = map(int, found.groups()[1:])
    return (found[1] or "", Fraction(size, n)) if 0 < size <= n else None
