"""How rows came to be labelled, as labels keep it, and what each then stands for. No widget is imported here."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from fractions import Fraction

__all__ = ["BALANCED", "CHOSEN", "DISAGREEING", "RANDOM", "is_at_random", "of_stratum", "weights_of"]

RANDOM, BALANCED, DISAGREEING, CHOSEN = "random", "class-balanced", "disagreement first", "as shown"

_STRATUM = re.compile(rf"{BALANCED} (\d{{1,12}})/(\d{{1,12}})")


def is_at_random(drawn: str) -> bool:
    """Whether labels of such rows make a rate as they are: drawn at random, or given by hand."""
    return drawn in {"", RANDOM}


def of_stratum(size: int, n: int) -> str:
    """A row drawn out of one class of verdicts.

    Args:
        size: Rows in the class.
        n: Rows in all.
    """
    return f"{BALANCED} {size}/{n}"


def weights_of(drawn: Sequence[str]) -> list[float | None]:
    """How many rows each labelled row stands for, against one drawn at random; None for one that was chosen.

    A row out of a class of verdicts stands for the class: its share of all rows over its share of the labels so
    drawn (Begg & Greenes 1983, "Assessment of diagnostic tests when disease verification is subject to selection
    bias"). The rows drawn so count together for as many as they are. This holds for any grader, as it rests on
    how rows were drawn, and not on whose verdict is looked at.

    Args:
        drawn: How each row was drawn.

    Example:
        >>> weights_of(["random", "class-balanced 3/4", "class-balanced 1/4", "as shown"])
        [1.0, 1.5, 0.5, None]
    """
    strata = [_stratum(one) for one in drawn]
    seen = Counter(one for one in strata if one is not None)
    each = Fraction(sum(seen.values())) / sum(seen) if seen else Fraction(0)
    return [
        float(share / seen[share] * each) if share is not None else 1.0 if is_at_random(one) else None
        for one, share in zip(drawn, strata, strict=True)
    ]


def _stratum(drawn: str) -> Fraction | None:
    """The share of rows in a class of verdicts; None for rows drawn otherwise."""
    found = _STRATUM.fullmatch(drawn)
    if found is None:
        return None
    size, n = map(int, found.groups())
    return Fraction(size, n) if 0 < size <= n else None
