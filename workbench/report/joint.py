"""Two graders' scores counted jointly in bins, so that a figure of them does not grow with the rows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from workbench.core.grades import SCORED, Grades
from workbench.report.bins import edges_of, within

__all__ = ["Joint", "joint"]


@dataclass(frozen=True, eq=False)
class Joint:
    """Number of rows for each pair of scores.

    Attributes:
        a_edges: float64, ends of the first grader's bins; by default the 21 of its histogram.
        b_edges: float64, those of the second's.
        counts: int64 (i, j): rows with a score of the first grader in its bin i and of the second in bin j.
    """

    a_edges: NDArray[np.float64]
    b_edges: NDArray[np.float64]
    counts: NDArray[np.int64]


def joint(
    a: Grades,
    b: Grades,
    *,
    a_edges: NDArray[np.float64] | None = None,
    b_edges: NDArray[np.float64] | None = None,
) -> Joint:
    """Count the rows that both scored. A bin contains the same rows as the histogram's bin with these ends.

    Args:
        a: One grader's grades, n rows.
        b: The other's, over the same rows.
        a_edges: Ends of adjacent bins that contain every score of `a`; those of its histogram by default.
        b_edges: The same for `b`.
    """
    both = (a.codes == SCORED) & (b.codes == SCORED)
    (a_ends, i), (b_ends, j) = _binned(a, a_edges), _binned(b, b_edges)
    shape = tuple(max(len(ends) - 1, 0) for ends in (a_ends, b_ends))
    counts = np.bincount(i[both] * shape[1] + j[both], minlength=shape[0] * shape[1])
    return Joint(a_ends, b_ends, counts.reshape(shape).astype(np.int64))


def _binned(grades: Grades, ends: NDArray[np.float64] | None) -> tuple[NDArray[np.float64], NDArray[np.intp]]:
    """The edges, and the bin of each row, (n,); 0 if there is no score."""
    scored = grades.codes == SCORED
    scores = grades.scores[scored]
    edges = edges_of(scores) if ends is None else ends
    bins, scored_bins = np.zeros(len(grades), np.intp), np.zeros(len(scores), np.intp)
    # The first bin needs no search: rows in no other bin are in that one.
    for at in range(1, len(edges) - 1):
        scored_bins[within(scores, edges[at], edges[at + 1])] = at
    bins[scored] = scored_bins
    return edges, bins
