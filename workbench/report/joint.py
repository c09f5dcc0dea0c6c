"""Two graders' scores counted together into fixed bins, so that a figure of them does not grow with the rows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from workbench.columns import SCORED, Grades
from workbench.report.bins import BINS, edges_of, within

__all__ = ["Joint", "joint"]


@dataclass(frozen=True, eq=False)
class Joint:
    """How many rows got which pair of scores.

    Attributes:
        a_edges: float64 (21,), the bins of the first grader's own histogram.
        b_edges: float64 (21,), those of the second's.
        counts: int64 (20, 20): rows with a score of the first grader in bin i and of the second in bin j.
    """

    a_edges: NDArray[np.float64]
    b_edges: NDArray[np.float64]
    counts: NDArray[np.int64]


def joint(a: Grades, b: Grades) -> Joint:
    """Count the rows both have scored. The bins of each are those of its histogram, and open the same rows."""
    both = (a.codes == SCORED) & (b.codes == SCORED)
    (a_edges, i), (b_edges, j) = _binned(a), _binned(b)
    counts = np.bincount(i[both] * BINS + j[both], minlength=BINS * BINS)
    return Joint(a_edges, b_edges, counts.reshape(BINS, BINS).astype(np.int64))


def _binned(grades: Grades) -> tuple[NDArray[np.float64], NDArray[np.intp]]:
    """The edges, and the bin of each row, (n,); 0 where there is no score."""
    scored = grades.codes == SCORED
    scores = grades.scores[scored]
    edges, bins = edges_of(scores), np.zeros(len(grades), np.intp)
    found = np.zeros(len(scores), np.intp)
    for at in range(1, BINS):
        found[within(scores, edges[at], edges[at + 1])] = at
    bins[scored] = found
    return edges, bins
