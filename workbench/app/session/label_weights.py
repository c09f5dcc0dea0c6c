"""How rows were selected for labelling, as stored with labels, and the sampling weight of each."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "BALANCED",
    "CHOSEN",
    "DISAGREEING",
    "RANDOM",
    "WeightedLabels",
    "is_at_random",
    "of_stratum",
    "weights_of",
]

RANDOM, BALANCED, DISAGREEING, CHOSEN = "random", "class-balanced", "disagreement first", "as shown"

_CLASSES = {1: "accepted", 0: "refused", -1: "neither"}
_STRATUM = re.compile(rf"{BALANCED} (?:({'|'.join(_CLASSES.values())}) )?(\d{{1,12}})/(\d{{1,12}})")

_Stratum = tuple[str, Fraction]
"""A class of verdicts, and its share of all rows. Labels of older releases have no class: ""."""


@dataclass(frozen=True)
class WeightedLabels:
    """Users' labels with their sampling weights.

    Attributes:
        labels: True good, False bad, None for none that counts, one per row.
        weights: How many rows each represents, (n,), NaN for unlabelled rows.
        n: Rows whose label counts.
        n_chosen: Labelled rows that were selected by their grades: no rate is estimated from these.
    """

    labels: list[bool | None]
    weights: NDArray[np.float64]
    n: int
    n_chosen: int


def is_at_random(drawn: str) -> bool:
    """Whether labels of such rows need no weights in a rate: drawn at random, or given by hand."""
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
    """How many rows each labelled row represents, relative to one drawn at random; None for one selected by its grades.

    A row drawn from a class of verdicts represents the class: its share of all rows over its share of the labels so
    drawn (Begg & Greenes 1983, "Assessment of diagnostic tests when disease verification is subject to selection
    bias"). The weights sum to the number of rows drawn. This is valid for any grader, because it depends on
    how rows were drawn, not on whose verdict is evaluated. If a grader's classes changed between draws, the share
    of a class is the mean of those its labels were drawn with, and the shares are scaled to sum to 1.

    Args:
        drawn: How each row was drawn.

    Example:
        >>> weights_of(["random", "class-balanced accepted 3/4", "class-balanced refused 1/4", "as shown"])
        [1.0, 1.5, 0.5, None]
    """
    strata = _with_classes([_stratum(text) for text in drawn])
    groups = [None if stratum is None else _group(stratum) for stratum in strata]
    counts = Counter(group for group in groups if group is not None)
    shares = {group: total / counts[group] for group, total in _totals(strata).items()}
    scale = Fraction(sum(counts.values())) / sum(shares.values()) if counts else Fraction(0)
    return [
        float(shares[group] / counts[group] * scale)
        if group is not None
        else 1.0
        if is_at_random(text)
        else None
        for text, group in zip(drawn, groups, strict=True)
    ]


def _group(stratum: _Stratum) -> str | _Stratum:
    """The strata counted together: all of its class; the stratum alone if its class is unknown."""
    return stratum[0] or stratum


def _totals(strata: list[_Stratum | None]) -> dict[str | _Stratum, Fraction]:
    """Sum of the shares that the labels of each class were drawn with: they differ if a grader ran again."""
    totals: dict[str | _Stratum, Fraction] = {}
    for stratum, times in Counter(stratum for stratum in strata if stratum is not None).items():
        group = _group(stratum)
        totals[group] = totals.get(group, Fraction(0)) + stratum[1] * times
    return totals


def _with_classes(strata: list[_Stratum | None]) -> list[_Stratum | None]:
    """Strata without a class get the class with their share, if exactly one class has that share."""
    by_share: dict[Fraction, set[_Stratum]] = {}
    for stratum in strata:
        if stratum is not None and stratum[0]:
            by_share.setdefault(stratum[1], set()).add(stratum)
    classes = {
        ("", share): next(iter(strata_of_share))
        for share, strata_of_share in by_share.items()
        if len(strata_of_share) == 1
    }
    return [None if stratum is None else classes.get(stratum, stratum) for stratum in strata]


def _stratum(drawn: str) -> _Stratum | None:
    """The class of verdicts a row was drawn from; None for rows drawn otherwise."""
    match = _STRATUM.fullmatch(drawn)
    if match is None:
        return None
    size, n = map(int, match.groups()[1:])
    return (match[1] or "", Fraction(size, n)) if 0 < size <= n else None
