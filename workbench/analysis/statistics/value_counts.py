"""Counts of the values of a column in bounded memory: parts of a column are counted separately and merged."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import nan

import numpy as np
from numpy.typing import NDArray

__all__ = ["MAX_VALUES", "ValueCounts"]

MAX_VALUES = 16_384
"""Maximum number of different values: more than any rating scale has, and 256 kB of memory."""
_MANTISSA = 52
"""Bits of a float64 after its first digit."""


def _no_values() -> NDArray[np.float64]:
    return np.zeros(0)


def _no_counts() -> NDArray[np.int64]:
    return np.zeros(0, np.int64)


@dataclass(frozen=True, eq=False)
class ValueCounts:
    """How often each value of a column occurs. Exact up to 16,384 different values.

    If there are more, values lose their last binary digits, the fewest that reduce their number to the maximum. That number
    of digits depends only on the values: the counts are the same for any parts, merged in any order.

    Attributes:
        values: Different values, ascending, (v,).
        counts: Rows with each value, (v,).
        dropped: Binary digits of 52 that the values have lost; 0 if they are exact.
    """

    values: NDArray[np.float64] = field(default_factory=_no_values)
    counts: NDArray[np.int64] = field(default_factory=_no_counts)
    dropped: int = 0

    @classmethod
    def of(cls, values: NDArray[np.float64]) -> ValueCounts:
        """The counts of a column.

        Args:
            values: Finite numbers, (n,).
        """
        return _shortened(values, np.ones(len(values), np.int64), 0)

    def merged(self, other: ValueCounts) -> ValueCounts:
        """The counts of both columns together."""
        values = np.concatenate([self.values, other.values])
        counts = np.concatenate([self.counts, other.counts])
        return _shortened(values, counts, max(self.dropped, other.dropped))

    @property
    def is_exact(self) -> bool:
        """Whether no value has lost a digit."""
        return self.dropped == 0

    @property
    def precision(self) -> float:
        """Maximum relative error of a value towards 0; 0 if values are exact."""
        return 2.0 ** (self.dropped - _MANTISSA) if self.dropped else 0.0

    def quantiles(self, at: Sequence[float] = (0.25, 0.5, 0.75)) -> list[float]:
        """Quantiles by linear interpolation (numpy's default, type 7), NaN over no values; see `precision`."""
        if not len(self.values):
            return [nan] * len(at)
        ends = np.cumsum(self.counts)
        places = (int(ends[-1]) - 1) * np.asarray(at, float)
        below = np.floor(places)
        low, high = (
            self.values[np.searchsorted(ends, place, side="right")] for place in (below, np.ceil(places))
        )
        share = places - below
        found = low * (1 - share) + high * share  # the difference of two finite values may be infinite
        return [float(value) for value in found]


def _shortened(values: NDArray[np.float64], counts: NDArray[np.int64], dropped: int) -> ValueCounts:
    """Counted values, with the fewest lost digits that leave at most 16,384 of them, and at least `dropped`."""
    order = np.argsort(values, kind="stable")
    # 0.0 is added, which converts -0.0 to 0.0; as integers, equal values are adjacent before and after losing digits.
    bits = (values[order] + 0.0).view(np.int64)
    ordered = counts[order]
    while True:
        mask = np.int64(-1) << np.int64(dropped)
        starts = np.flatnonzero(np.diff(bits & mask, prepend=~bits[:1] & mask))
        if len(starts) <= MAX_VALUES or dropped == _MANTISSA:
            break
        dropped += 1
    found = (bits[starts] & mask).view(np.float64)
    return ValueCounts(found, np.add.reduceat(ordered, starts) if len(starts) else _no_counts(), dropped)
