"""What every diagnostic looks at: the grades of one grader, with prompts and labels beside them."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from workbench.grades import SCORED, Grades
from workbench.statistics import compact

__all__ = ["Case", "RowContext"]

_HINTS_FROM = 8


class RowContext(Protocol):
    """What is known of the rows beside their grades; each is read when a diagnostic asks for it."""

    @property
    def topics(self) -> Sequence[Hashable | None] | None:
        """Topic of each row, (n,), None for a row without; None where no column says so."""

    @property
    def lengths(self) -> NDArray[np.float64]:
        """Characters of each completion, (n,)."""


@dataclass(frozen=True)
class Case:
    """One grader's grades, ready to be judged.

    Attributes:
        grader: Its name.
        grades: Its grades, n rows.
        groups: Prompt of each row as an integer code, (n,).
        labels: 1 known good, 0 known bad, -1 unknown, (n,).
        pass_threshold: Pass mark, on the scale: a score at or above it accepts the row.
        scale: Lowest and highest score of the grader's scale.
        context: What is known of the rows beside their grades; None where only grades were given.
    """

    grader: str
    grades: Grades
    groups: NDArray[np.intp]
    labels: NDArray[np.int8]
    pass_threshold: float = 0.5
    scale: tuple[float, float] = (0.0, 1.0)
    context: RowContext | None = field(default=None, repr=False)

    @cached_property
    def rows(self) -> NDArray[np.intp]:
        """Numbers of the scored rows, (m,). No other row enters a statistic of scores."""
        return np.flatnonzero(self.grades.codes == SCORED)

    @cached_property
    def status(self) -> NDArray[Any]:
        """Status name of each row, (n,)."""
        return self.grades.statuses

    @cached_property
    def scores(self) -> NDArray[np.float64]:
        """Scores of the scored rows, brought from the scale to 0 to 1, (m,)."""
        lo, hi = self.scale
        # Halved first: the span of two finite numbers may be infinite.
        with np.errstate(over="ignore"):
            scores = (self.grades.scores[self.rows] / 2 - lo / 2) / (hi / 2 - lo / 2)
        finite: NDArray[np.float64] = np.nan_to_num(scores)
        return finite

    @property
    def is_tiny(self) -> bool:
        """Whether there are fewer than 8 scored rows: even a hint about their spread would be noise."""
        return len(self.rows) < _HINTS_FROM

    @property
    def is_code(self) -> bool:
        """Whether the grader is code: its own isolation label shows a sandbox, or it is one of ours.

        Code is held to rules that a judge model, which errs now and then, is not.
        """
        return self.grades.code or self.grades.isolation not in {"", "none"}

    @cached_property
    def scored_groups(self) -> NDArray[np.intp]:
        """Prompt codes of the scored rows, counted from 0 without gaps, (m,)."""
        return compact(self.groups[self.rows])

    @cached_property
    def on_scale(self) -> bool:
        """Whether there are scores and all lie on the scale; the rules about its ends need that."""
        return bool(len(self.scores)) and not self.off_scale.any()

    @cached_property
    def off_scale(self) -> NDArray[np.bool_]:
        """Which scored rows lie outside the scale, (m,)."""
        return (self.scores < -1e-9) | (self.scores > 1 + 1e-9)

    @cached_property
    def accepted(self) -> NDArray[np.bool_]:
        """Which scored rows pass, (m,): the grader's own verdict, else score against the pass mark."""
        verdict = self.grades.passed[self.rows]
        return np.where(verdict >= 0, verdict == 1, self.grades.scores[self.rows] >= self.pass_threshold)
