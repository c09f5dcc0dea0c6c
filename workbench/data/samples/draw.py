"""Seeded random selection of rows: uniform, or stratified with proportional shares."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import numpy as np
from numpy.typing import NDArray

__all__ = ["draw_rows", "shares", "strata"]

_Ints = NDArray[np.intp]


def draw_rows(size: int, n: int, *, seed: int | None, groups: _Ints | None = None) -> _Ints:
    """Rows drawn without replacement, in ascending order.

    Args:
        size: Rows to draw from.
        n: Number of rows to draw; all if n is larger.
        seed: Same seed, same rows; None draws differently each time.
        groups: Stratum of each row (size,), numbered from 0; None for a uniform draw.
    """
    n = min(n, size)
    # One key per row, then the n smallest: a larger draw of the same seed contains the smaller one.
    keys = np.random.default_rng(seed).random(size)
    if groups is None:
        return _smallest(keys, n)
    quotas = shares(np.bincount(groups), n)
    order = np.lexsort((keys, groups))
    place = _place_in_stratum(groups[order])
    return np.sort(order[place < quotas[groups[order]]])


def _smallest(keys: NDArray[np.float64], n: int) -> _Ints:
    """Indices of the n smallest keys, ascending; of equal keys the earlier ones."""
    if not 0 < n < len(keys):
        return np.arange(n, dtype=np.intp)
    largest = np.partition(keys, n - 1)[n - 1]  # without sorting all of them
    below, equal = np.flatnonzero(keys < largest), np.flatnonzero(keys == largest)
    return np.sort(np.concatenate([below, equal[: n - len(below)]]))


def shares(sizes: Sequence[int] | _Ints, n: int) -> _Ints:
    """Allocate `n` rows to strata.

    In proportion to their sizes, by largest remainder; at least one each if n is at least the number of
    strata, else one each for the largest (the earlier of two equal ones). The sum is n.

    Args:
        sizes: Rows in each stratum, all at least 1 (k,).
        n: Rows to allocate, at most the sum of `sizes`.
    """
    sizes = np.asarray(sizes, dtype=np.intp)
    result = np.zeros(len(sizes), dtype=np.intp)
    if n < len(sizes):
        result[np.argsort(-sizes, kind="stable")[:n]] = 1
        return result
    small = _below_one(sizes, n)
    result[small] = 1
    result[~small] = _largest_remainder(sizes[~small], n - int(small.sum()))
    return result


def strata(keys: Sequence[Hashable]) -> _Ints:
    """Number the distinct keys in the order they first appear (n,)."""
    numbers: dict[Hashable, int] = {}
    return np.array([numbers.setdefault(key, len(numbers)) for key in keys], dtype=np.intp)


def _below_one(sizes: _Ints, n: int) -> NDArray[np.bool_]:
    """Strata with a fair share below one row; giving them one row reduces the others' shares, so this repeats."""
    is_small = np.zeros(len(sizes), dtype=bool)
    while not is_small.all():
        is_large = ~is_small
        quota = (n - int(is_small.sum())) * sizes / sizes[is_large].sum()
        more = is_large & (quota < 1)
        if not more.any():
            break
        is_small |= more
    return is_small


def _largest_remainder(sizes: _Ints, n: int) -> _Ints:
    if not len(sizes):
        return sizes
    quota = n * sizes / sizes.sum()
    counts: _Ints = np.floor(quota).astype(np.intp)
    remaining = n - int(counts.sum())
    # Stable: of equal remainders the earlier stratum gets the row, on every machine.
    counts[np.argsort(counts - quota, kind="stable")[:remaining]] += 1
    return counts


def _place_in_stratum(ordered: _Ints) -> _Ints:
    places: _Ints = np.arange(len(ordered)) - np.searchsorted(ordered, ordered)
    return places
