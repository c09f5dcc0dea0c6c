"""Prompts by their mean score and the spread of their completions' scores."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from workbench.analysis.statistics import compact
from workbench.analysis.statistics.answer_sets import AnswerSets
from workbench.core.grades import SCORED
from workbench.report.bins import edges_of, within
from workbench.report.protocols import ReportLike
from workbench.report.select import check_graders

__all__ = ["SPREADS", "PromptSpread", "prompt_spread"]

SPREADS = ("zero_variance", "narrow", "wide")
"""All completions have one score; their sd is below a tenth of the scale; it is larger."""
_NARROW = 0.1
"""Share of the histogram's span from which the diagnostic *no-variance* applies (Razin 2025, arXiv 2503.15477)."""


@dataclass(frozen=True, eq=False)
class PromptSpread:
    """One grader's prompts with at least two scored completions, p of them.

    Attributes:
        rows: Numbers of their scored rows, (m,).
        prompts: Prompt of each of these rows, from 0, (m,).
        means: Mean score of each prompt, (p,).
        spreads: 0 zero-variance, 1 narrow, 2 wide, as in `SPREADS`, (p,).
        edges: Ends of 20 bins of the means.
    """

    rows: NDArray[np.intp]
    prompts: NDArray[np.intp]
    means: NDArray[np.float64]
    spreads: NDArray[np.intp]
    edges: NDArray[np.float64]

    def chosen(self, low: float, high: float, spread: str) -> NDArray[np.bool_]:
        """Which prompts have a mean in a bin and this spread, (p,).

        Raises:
            ValueError: Unknown spread.
        """
        chosen: NDArray[np.bool_] = within(self.means, low, high) & (self.spreads == SPREADS.index(spread))
        return chosen


def prompt_spread(report: ReportLike, grader: str) -> PromptSpread:
    """The prompts of one grader; computed once and stored in the report.

    Raises:
        ReportError: Unknown grader.
    """
    check_graders([grader], report.grades)
    spreads: dict[str, PromptSpread] = report.__dict__.setdefault("_prompt_spreads", {})
    if grader not in spreads:
        spreads[grader] = _prompt_spread(report, grader)
    return spreads[grader]


def _prompt_spread(report: ReportLike, grader: str) -> PromptSpread:
    grades = report.grades[grader]
    rows = np.flatnonzero(grades.codes == SCORED)
    codes = report.prompt_codes[rows]
    several = np.bincount(codes, minlength=1)[codes] >= 2 if len(codes) else np.zeros(0, bool)
    rows, prompts = rows[several], compact(codes[several])
    answers, ends = AnswerSets(grades.scores[rows], prompts), edges_of(grades.scores[rows])
    # Halved: the span of two finite scores may be infinite.
    is_narrow = answers.sds / 2 < _NARROW * (ends[-1] / 2 - ends[0] / 2)
    spreads = np.where(answers.largest == answers.sizes, 0, np.where(is_narrow, 1, 2))
    return PromptSpread(rows, prompts, answers.means, spreads, edges_of(answers.means))
