"""Three scripted annotators with stated error rates. They stand in for people and are not people."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

HARD_RATE = 0.08
"""Share of rows on which every annotator tosses a coin."""


@dataclass(frozen=True)
class Annotator:
    """One scripted annotator.

    Attributes:
        column: The column its labels are in.
        sensitivity: Chance to call a good row good (true positive rate).
        specificity: Chance to call a bad row bad (true negative rate).
    """

    column: str
    sensitivity: float
    specificity: float

    def label(self, *, good: bool, hard: bool, rng: Random) -> int:
        """1 for good, 0 for bad."""
        right = rng.random() < (0.5 if hard else self.sensitivity if good else self.specificity)
        return int(good == right)


ANNOTATORS = (
    Annotator("sim_a", 0.95, 0.95),
    Annotator("sim_b", 0.90, 0.80),
    Annotator("sim_c", 0.80, 0.95),
)
"""One that errs equally in both directions, a lenient one and a strict one."""


def labels(*, good: bool, rng: Random) -> dict[str, int]:
    """All labels of one row, and whether it is a hard one."""
    hard = rng.random() < HARD_RATE
    label_of = {annotator.column: annotator.label(good=good, hard=hard, rng=rng) for annotator in ANNOTATORS}
    return {**label_of, "sim_hard": int(hard)}
