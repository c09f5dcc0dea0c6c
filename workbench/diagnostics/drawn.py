"""A random part of very many rows, for statistics that need no more of them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["drawn"]


def drawn(rows: NDArray[np.bool_], most: int) -> NDArray[np.intp]:
    """Numbers of these rows; of very many a random part, since sorting them all would take seconds for no digit more.

    Args:
        rows: Which rows, (n,).
        most: How many are enough.

    Returns:
        Ascending, at most `most`; the same ones each time.
    """
    at = np.flatnonzero(rows)
    if len(at) <= most:
        return at
    return np.sort(np.random.default_rng(0).choice(at, most, replace=False))
