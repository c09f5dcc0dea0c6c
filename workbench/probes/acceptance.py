"""The rule of acceptance: which scores accept a text, and which reject one, inferred from the grades so far."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from workbench.probes.board import Board, Pair, ProbeOutcome

_EQUAL, _CLOSE, _LOST_HALF = 1 - 1e-9, 0.9, 0.5
"""Shares of the span between the lowest score seen and the correct completion's.

A near miss may score nearly as high as the correct completion, but not as high; a text that is not a completion at all has
to stay a tenth of the span below; and a correct completion in another form may lose half. Workbench limits.
"""


MOST, HALF = 0.9, 0.5
"""Shares of rows that count as nearly all, and as the grader's usual behaviour. Workbench limits."""
MIN_ROWS = 2
"""Fewest rows that show something: one may be a coincidence. Workbench limit."""


@dataclass(frozen=True)
class AcceptanceRule:
    """When a text is accepted.

    Attributes:
        mark: Lowest score that accepts a text; None if a text has to score as high as the row's correct completion.
        best: Score of each row's correct completion, by the row's position.
        usual: Score for a row whose correct completion is unknown.
        floor: The lowest score seen.
    """

    mark: float | None = None
    best: Mapping[int, float] = field(default_factory=dict)
    usual: float = 1.0
    floor: float = 0.0

    @property
    def usual_mark(self) -> float:
        """One pass threshold for all rows, for a report."""
        return self.floor + _EQUAL * (self.usual - self.floor) if self.mark is None else self.mark

    def accepts(self, row: int, outcome: ProbeOutcome, *, gross: bool = False) -> bool:
        """Whether a known-bad text is accepted; a gross one must not even come close to the correct completion."""
        return self._above(row, outcome, _CLOSE if gross else _EQUAL)

    def rejects(self, row: int, outcome: ProbeOutcome) -> bool:
        """Whether a known-good text is rejected; with continuous scores, whether it loses more than half."""
        return not self._above(row, outcome, _LOST_HALF)

    def takes(self, board: Board, row: int, text: str | None) -> bool:
        """Whether a text was graded in a row and is accepted there."""
        outcome = board.outcomes.get((row, text))
        return outcome is not None and self.accepts(row, outcome)

    def turns_down(self, board: Board, row: int, text: str | None) -> bool:
        """Whether a text was graded in a row and is not accepted there."""
        outcome = board.outcomes.get((row, text))
        return outcome is not None and outcome.tried and not self.accepts(row, outcome)

    def share(self, board: Board, pairs: Iterable[Pair]) -> float:
        """Share of some pairs that are accepted, of those that were graded; NaN if none was."""
        graded = [pair for pair in pairs if pair in board.outcomes]
        return sum(self.takes(board, *pair) for pair in graded) / len(graded) if graded else math.nan

    def _above(self, row: int, outcome: ProbeOutcome, share: float) -> bool:
        if not outcome.tried or math.isnan(outcome.score):
            return False
        if outcome.passed is not None:
            return outcome.passed
        if self.mark is not None:
            return outcome.score >= self.mark
        best = max(self.best.get(row, self.usual), self.usual)
        return best > self.floor and outcome.score >= self.floor + share * (best - self.floor)


def rule_of(
    outcomes: Iterable[ProbeOutcome], best: Mapping[int, float], *, pass_threshold: float | None = None
) -> AcceptanceRule:
    """The rule for a grader, from its grades so far.

    Args:
        outcomes: Of correct and wrong texts.
        best: Score of each row's correct completion, by position.
        pass_threshold: The user's pass threshold; None for the higher of two levels, or the correct completion's score.
    """
    scores = sorted({round(outcome.score, 9) for outcome in outcomes if not math.isnan(outcome.score)})
    known = sorted(best.values())
    if scores and known and known[-1] <= scores[0] < scores[-1]:
        known, best = [], {}  # no reference is accepted in any form, while other texts are
    usual = known[len(known) // 2] if known else (scores[-1] if scores else 1.0)
    floor = scores[0] if scores else 0.0
    # A grader whose scores are all equal: 0 to 1 is the scale unless another is given.
    levels = {1: 0.5, 2: scores[-1] if scores else None}
    return AcceptanceRule(
        levels.get(len(scores)) if pass_threshold is None else pass_threshold, best, usual, floor
    )
