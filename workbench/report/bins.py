"""Scores counted in fixed bins: graders and runs are comparable, and plots do not grow with the rows."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from workbench.core.grades import Grades

__all__ = ["BINS", "Histogram", "bin_counts", "edges_of", "histogram", "within"]

BINS = 20
_EDGE_TOLERANCE = 1e-9
"""Share of the scores' span: 3 * 0.05 is a little above 0.15, and both belong to the same bin."""


@dataclass(frozen=True)
class Histogram:
    """Counts of one grader's rows.

    Attributes:
        edges: float64 (21,), see `edges_of`.
        counts: int64 (20,), scored rows in each bin, see `within`.
        scored: Rows with a score.
        failed: Rows that failed.
        skipped: Rows that the grader skipped.
    """

    edges: NDArray[np.float64]
    counts: NDArray[np.int64]
    scored: int
    failed: int
    skipped: int

    @property
    def ends(self) -> list[list[float]]:
        """[low, high] of each bin."""
        return [list(pair) for pair in pairwise(self.edges.tolist())]


def histogram(grades: Grades) -> Histogram:
    """Count the scores of one grader in 20 equal bins over 0 to 1, widened if scores are outside."""
    scores = grades.scores[grades.codes == 1]
    edges = edges_of(scores)
    return Histogram(edges, bin_counts(scores, edges), len(scores), grades.n_failed, grades.n_skipped)


def bin_counts(
    scores: NDArray[np.float64], edges: NDArray[np.float64], counts: NDArray[np.int64] | None = None
) -> NDArray[np.int64]:
    """Number of scores in each bin, int64 (20,).

    Args:
        scores: Scores within the edges, (m,).
        edges: Of a grader's histogram, (21,).
        counts: Rows that have each of the scores, (m,); one by default.
    """
    # By `_left_of` and not by numpy's histogram: a bar counts exactly the rows that `within` finds for it.
    are_right = [~_left_of(scores, edge, edges) for edge in edges[:-1]]
    right_of = np.array(
        [right.sum() if counts is None else counts[right].sum() for right in are_right], dtype=np.int64
    )
    in_bins: NDArray[np.int64] = right_of - np.append(right_of[1:], 0)
    return in_bins


def edges_of(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """Ends of the 20 bins, float64 (21,): from 0 to 1, or the scores' range if it is wider."""
    lo, hi = min(0.0, scores.min(initial=0.0)), max(1.0, scores.max(initial=1.0))
    # Halved first: the span of two finite scores may be infinite. Rounded, so that 3 * 0.05 reads 0.15.
    halves = np.linspace(lo / 2, hi / 2, BINS + 1).tolist()
    return np.array([lo, *(round(2 * half, 12) for half in halves[1:-1]), hi])


def within(scores: NDArray[np.float64], lo: float, hi: float) -> NDArray[np.bool_]:
    """Which of a grader's scores are in the bin from `lo` to `hi`.

    The left end belongs to the bin, the right end only if it is the last edge of the grader's histogram.

    Args:
        scores: All scores of the grader, (m,): they determine the ends of its histogram.
        lo: Left end, an edge or any number.
        hi: Right end, an edge or any number.
    """
    edges = edges_of(scores)
    is_last_edge = not bool(_left_of(np.array([hi]), edges[-1], edges)[0])
    inside: NDArray[np.bool_] = ~_left_of(scores, lo, edges) & (is_last_edge | _left_of(scores, hi, edges))
    return inside


def _left_of(scores: NDArray[np.float64], edge: float, edges: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Which scores are left of an edge. Bars and the rows of a bar both use this, so that they agree."""
    # Halved for the reason given in `edges_of`.
    slack = _EDGE_TOLERANCE * (edges[-1] / 2 - edges[0] / 2)
    is_left: NDArray[np.bool_] = scores / 2 < edge / 2 - slack
    return is_left
