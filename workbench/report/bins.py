"""Scores counted into fixed bins, so that graders and runs compare and plots stay small."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from workbench.columns import Grades

__all__ = ["BINS", "Histogram", "histogram", "within"]

BINS = 20
_EDGE = 1e-9  # 0.15 written as 3 * 0.05 lies above 0.15; both belong to the same bin


@dataclass(frozen=True)
class Histogram:
    """Counts of one grader's rows.

    Attributes:
        edges: float64 (21,), from 0 to 1, or to the scores' own ends where they reach further.
        counts: int64 (20,), scored rows in each bin: left end in, right end out, but for the last bin.
        scored: Rows with a score.
        failed: Rows that failed.
        skipped: Rows the grader declined.
    """

    edges: NDArray[np.float64]
    counts: NDArray[np.int64]
    scored: int
    failed: int
    skipped: int


def histogram(grades: Grades) -> Histogram:
    """Count the scores of one grader into 20 equal bins over 0 to 1, widened where scores lie outside."""
    scores = grades.scores[grades.codes == 1]
    lo, hi = min(0.0, scores.min(initial=0.0)), max(1.0, scores.max(initial=1.0))
    edges = np.linspace(lo, hi, BINS + 1)
    # Halved first: the span of two finite scores may be infinite.
    at = np.floor((scores / 2 - lo / 2) / (hi / 2 - lo / 2) * BINS + _EDGE)
    counts = np.bincount(np.clip(at, 0, BINS - 1).astype(np.intp), minlength=BINS)
    return Histogram(edges, counts, len(scores), grades.n_failed, grades.n_skipped)


def within(scores: NDArray[np.float64], lo: float, hi: float) -> NDArray[np.bool_]:
    """Which scores lie in the bin from `lo` to `hi`: the left end is in, the right one only from 1 on."""
    slack = _EDGE * max(abs(hi - lo), 1e-300) * BINS
    top = hi + slack if hi >= 1 - _EDGE else hi - slack
    inside: NDArray[np.bool_] = (scores >= lo - slack) & (scores <= top)
    return inside
