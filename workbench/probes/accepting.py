"""What counts as accepted: the grader's own verdict, a pass mark, or a score as high as the right answer's."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from workbench.probes.board import Outcome

__all__ = ["Rule", "rule_of"]

_EQUAL, _CLOSE, _HALF = 1 - 1e-6, 0.9, 0.5
"""Shares of the span between the lowest score seen and the right answer's.

A near miss may score nearly as high as the right answer, but not as high; what is no answer at all has to stay a tenth
of the span below; and a right answer in another form may lose half. Ours.
"""


@dataclass(frozen=True)
class Rule:
    """When a text is accepted.

    Attributes:
        mark: Lowest score that accepts a text; None where a text has to score as high as the row's right answer.
        best: Score of each row's right answer, by the row's position.
        usual: Score of a row whose right answer is not known.
        floor: The lowest score seen.
    """

    mark: float | None = None
    best: Mapping[int, float] = field(default_factory=dict)
    usual: float = 1.0
    floor: float = 0.0

    @property
    def usual_mark(self) -> float:
        """One pass mark for all rows, for a report."""
        return self.floor + _EQUAL * (self.usual - self.floor) if self.mark is None else self.mark

    def accepts(self, row: int, outcome: Outcome, *, gross: bool = False) -> bool:
        """Whether a known-bad text fools the grader; a gross one must not even come close to the right answer."""
        return self._above(row, outcome, _CLOSE if gross else _EQUAL)

    def rejects(self, row: int, outcome: Outcome) -> bool:
        """Whether a known-good text is lost: by more than half where scores are continuous."""
        return not self._above(row, outcome, _HALF)

    def _above(self, row: int, outcome: Outcome, share: float) -> bool:
        if not outcome.tried or math.isnan(outcome.score):
            return False
        if outcome.passed is not None:
            return outcome.passed
        if self.mark is not None:
            return outcome.score >= self.mark
        best = max(self.best.get(row, self.usual), self.usual)
        return best > self.floor and outcome.score >= self.floor + share * (best - self.floor)


def rule_of(
    outcomes: Iterable[Outcome], best: Mapping[int, float], *, pass_threshold: float | None = None
) -> Rule:
    """The rule for a grader, out of what it said so far.

    Args:
        outcomes: Of right and wrong texts.
        best: Score of each row's right answer, by position.
        pass_threshold: The user's pass mark; None for the highest of two levels, or the right answer's score.
    """
    scores = sorted({round(outcome.score, 9) for outcome in outcomes if not math.isnan(outcome.score)})
    known = sorted(best.values())
    usual = known[len(known) // 2] if known else (scores[-1] if scores else 1.0)
    floor = scores[0] if scores else 0.0
    # A grader that always says the same: 0 to 1 is the scale that nobody has to name.
    levels = {1: _HALF, 2: scores[-1] if scores else None}
    return Rule(levels.get(len(scores)) if pass_threshold is None else pass_threshold, best, usual, floor)
