"""Random subsets of very many rows, for statistics that need no more."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["drawn"]


def drawn(rows: NDArray[np.bool_], most: int) -> NDArray[np.intp]:
    """Indices of these rows; of very many a random subset, since sorting all of them takes seconds without adding precision.

    Args:
        rows: Which rows, (n,).
        most: Maximum number of rows.

    Returns:
        Ascending, at most `most`; the same ones each time.
    """
    at = np.flatnonzero(rows)
    if len(at) <= most:
        return at
    return np.sort(np.random.default_rng(0).choice(at, most, replace=False))
