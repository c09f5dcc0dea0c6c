"""The repeats of a case as matrices: scores on 0 to 1 and verdicts, one line per row and one column per repeat."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from workbench.analysis.diagnostics.case import Case
from workbench.analysis.statistics import Share, compact
from workbench.analysis.statistics.noise import (
    Reliability,
    flip_share,
    reliability,
    row_ranges,
    row_sds,
    within_sd,
)
from workbench.core.grades import SCORED

__all__ = ["Repeats", "repeats_of"]


@dataclass(frozen=True)
class Repeats:
    """Rows that were graded several times, and how far their grades differ.

    Attributes:
        rows: Indices of the rows with two or more scored repeats, (m,); only these are included.
        scores: float64 (m, r) on 0 to 1, NaN if a repeat has no score.
        verdicts: int8 (m, r): 1 accepted, 0 refused, -1 if a repeat has no score.
        groups: Prompt of each row, (m,), counted from 0 without gaps.
        reduced: How the report's grade was computed from them.
    """

    rows: NDArray[np.intp]
    scores: NDArray[np.float64]
    verdicts: NDArray[np.int8]
    groups: NDArray[np.intp]
    reduced: str

    @cached_property
    def reliability(self) -> Reliability:
        """ICC(1,1) with its interval."""
        return reliability(self.scores, self.groups)

    @cached_property
    def _flips(self) -> tuple[Share, NDArray[np.bool_]]:
        return flip_share(self.verdicts, self.groups)

    @property
    def flip_share(self) -> Share:
        """The share of rows whose repeats have different verdicts."""
        return self._flips[0]

    @property
    def flips(self) -> NDArray[np.bool_]:
        """Which rows these are, (m,)."""
        return self._flips[1]

    @cached_property
    def ranges(self) -> NDArray[np.float64]:
        """Highest less lowest score of each row, (m,)."""
        return row_ranges(self.scores)

    @cached_property
    def sds(self) -> NDArray[np.float64]:
        """Sample sd (ddof=1) of each row's repeats, (m,)."""
        return row_sds(self.scores)

    @cached_property
    def within_sd(self) -> float:
        """Sd of one grade around its row's mean."""
        return within_sd(self.scores)

    @property
    def grade_sd(self) -> float:
        """The sd of the grade in the report: a mean of r repeats has less noise, by the square root of r.

        For a median or a majority the sd of one grade is used, which is an upper bound.
        """
        return self.within_sd / math.sqrt(self.scores.shape[1]) if self.reduced == "mean" else self.within_sd

    @property
    def widest_first(self) -> NDArray[np.intp]:
        """Positions of the rows, (m,): those that flip first, and of these the widest spread."""
        return np.lexsort((np.arange(len(self.rows)), -self.ranges, ~self.flips))


def repeats_of(case: Case) -> Repeats | None:
    """The repeats of a grader; None if it graded every row once, or no row has two scores."""
    passes = case.grades.repeats
    if len(passes) < 2:
        return None
    raw = np.array([np.where(one.codes == SCORED, one.scores, np.nan) for one in passes]).T
    verdicts = np.array([one.passed for one in passes]).T
    several = np.flatnonzero((~np.isnan(raw)).sum(axis=1) >= 2)
    if not len(several):
        return None
    raw, verdicts = raw[several], verdicts[several]
    accepted = np.where(verdicts >= 0, verdicts, raw >= case.pass_threshold).astype(np.int8)
    return Repeats(
        several,
        _on_unit_scale(raw, case.scale),
        np.where(np.isnan(raw), -1, accepted).astype(np.int8),
        compact(case.groups[several]),
        case.grades.reduced,
    )


def _on_unit_scale(scores: NDArray[np.float64], scale: tuple[float, float]) -> NDArray[np.float64]:
    lo, hi = scale
    # Halved first, as in `Case.scores`: the difference of two finite numbers may overflow to infinity.
    with np.errstate(over="ignore"):
        scaled = (scores / 2 - lo / 2) / (hi / 2 - lo / 2)
    return np.where(np.isnan(scores), np.nan, np.nan_to_num(scaled))
