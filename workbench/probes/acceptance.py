"""What counts as accepted: the scores that accept a text, inferred from the grades so far, and what a prompt allows by its text.

A prompt may allow tolerances, slips, extras, a part of a list or other capitals, and may require something alone or first.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from workbench.probes.board import Board, Pair, ProbeOutcome

_EQUAL, _CLOSE, _LOST_HALF = 1 - 1e-9, 0.9, 0.5
"""Shares of the span between the lowest score seen and the correct completion's.

A near miss may score nearly as high as the correct completion, but not as high; a text that is not a completion at all has
to stay a tenth of the span below; and a correct completion in another form may lose half. Workbench limits.
"""
_DIGITS = 9
"""Digits to which scores are compared."""
_ROUNDING = 10.0**-_DIGITS
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
            return outcome.score >= self.mark - _ROUNDING
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
    scores = sorted({round(outcome.score, _DIGITS) for outcome in outcomes if not math.isnan(outcome.score)})
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


WANTS_BARE = re.compile(
    r"\balone\b|\bonly\b|\bnothing (?:but|else)\b|\bjust (?:the|a|one)\b|\bno other\b|\bexactly\b|\bwithout any\b",
    re.IGNORECASE,
)
"""Terms of a prompt that requires the result and nothing else."""
_PERCENTS = {
    "one": 1,
    "two": 2,
    "three": 3,
    "four": 4,
    "five": 5,
    "ten": 10,
    "fifteen": 15,
    "twenty": 20,
    "thirty": 30,
}
_PERCENT = rf"(\d+(?:\.\d+)?|{'|'.join(_PERCENTS)})\s*(?:%|percent|per cent)"
_WITHIN_SHARE = re.compile(
    rf"(?:within|\u00b1|\+/-|plus or minus|tolerance (?:of|is)|margin of|up to|off by|error of|accurate to)[^.\d\n]{{0,25}}?{_PERCENT}|"
    rf"{_PERCENT}\s*(?:off|more or less|either way|up or down|deviation|tolerance|of error)\b",
    re.IGNORECASE,
)
_LOOSE = re.compile(
    r"\b(?:estimat\w+|approximat\w+|roughly|ballpark|give or take|order of magnitude)\b|\bround(?:ed|ing)? (?:\w+ )?to\b|\bnearest (?:ten|hundred|thousand|million)\b",
    re.IGNORECASE,
)
"""Terms of a prompt for whose numbers about a tenth more or less may be right."""
_ABOUT = 0.1
"""Relative difference that such words allow. Workbench limit."""
_WITHIN_NUMBER = re.compile(
    r"(?:within|\u00b1|\+/-|plus or minus|tolerance (?:of|is)|margin of|off by)[^.\d\n]{0,25}(\d+(?:\.\d+)?)(?![\d.]*\s*(?:%|percent|per cent))",
    re.IGNORECASE,
)
NO_MATTER = r"[^.\n]{0,60}(?:(?:do|does|will) not (?:matter|count)|(?:doesn't|don't) (?:matter|count)|(?:is|are) (?:ignored|irrelevant|not checked))"
"""Words after something that a prompt leaves free."""
CASE_IS_FREE = re.compile(
    rf"\b(?:case|capitals|capitali[sz]ation)\b(?! of){NO_MATTER}|\bcase[- ]insensitive|\bignor(?:e|es|ing) (?:the )?case\b",
    re.IGNORECASE,
)
_EXTRAS = r"\b(?:others?|further|extra|additional|more|wrong|superfluous|any others?)\b"
_COST_NOTHING = r"(?:costs? nothing|no (?:cost|penalty)|(?:do|does) no harm|(?:is|are) (?:free|harmless|allowed|fine|ignored)|(?:do|does) not (?:matter|count against|cost))"
_CONTAINS = r"\b(?:contains?|includes?|uses?|mentions?)\b[^.\n]{0,20}\b(?:each|all|every|both) (?:of )?(?:the(?:se)?|letters?|words?|them)\b"
EXTRAS_ARE_FREE = re.compile(
    rf"{_CONTAINS}|{_EXTRAS}[^.\n]{{0,60}}{_COST_NOTHING}|{_COST_NOTHING}[^.\n]{{0,40}}{_EXTRAS}",
    re.IGNORECASE,
)
"""Terms of a prompt by which what is added to a correct completion costs nothing."""
SLIPS_ARE_FREE = re.compile(
    r"\b(?:one|two|three|\d+) (?:words?|letters?|characters?) (?:in|of) \w+\b[^.\n]{0,30}\bwrong|\b(?:word|token) overlap\b|\bsimilar(?:ity)? (?:of|to|enough)\b|"
    r"\b(?:slips?|typos?|misspellings?|spelling (?:mistakes?|errors?))\b[^.\n]{0,40}(?:forgiven|fine|allowed|accepted|tolerated|not matter|not count|no harm)",
    re.IGNORECASE,
)
"""Terms of a prompt that allows some letters or words to differ."""
PART_IS_ENOUGH = re.compile(
    r"\bsuggest\b(?! (?:all|every))|\b(?:name|list|give|find|state) up to \w+|"
    r"\b(?:one|two|some|any) (?:\w+ ){0,3}(?:may|can) be (?:missing|left out|omitted|skipped)\b|"
    r"\b(?:half|most|two|three|four|five|\d+) (?:out )?of (?:the |them|these|\w+)[^.\n]{0,50}\b(?:suffices?|enough|will do|do|pass|count)\b",
    re.IGNORECASE,
)
"""Terms of a prompt for which a part of a list is right."""
BEGINS_WITH = re.compile(
    r"(?<!that )(?<!which )\b(?:begin|start)(?:s|ning)? (?:(?:your|the|its) \w+ )?with\b([^.\n]*)",
    re.IGNORECASE,
)
"""What a prompt wants at the start of the completion."""
FIRST_LINE_COUNTS = re.compile(
    r"\bfirst line (?:must|has to|should|states?|names?|gives?|contains?)\b|\bfirst line:|"
    r"\b(?:put|write|give|state)\b[^.\n]{0,40}\b(?:on|in) the first line\b",
    re.IGNORECASE,
)
"""Terms of a prompt that has the result on its first line: what comes after it is not graded."""
_TOLERANCE = re.compile(r"(?:^|_)(?:tol|tolerance|margin|slack|epsilon|eps|delta)(?:$|_)", re.IGNORECASE)
"""Names of columns with the difference that is allowed."""


def tolerance_of(prompt: str, reference: float, columns: Mapping[str, Any]) -> float:
    """Largest relative difference from a number that its prompt or a column allows, 0 for none."""
    stated = [(found[1] or found[2]).lower() for found in _WITHIN_SHARE.finditer(prompt)]
    allowed = [float(_PERCENTS.get(one, one)) / 100 for one in stated]
    if not allowed and _LOOSE.search(prompt):
        allowed.append(_ABOUT)
    allowed += [abs(float(found[1]) / reference) for found in _WITHIN_NUMBER.finditer(prompt)]
    for name, value in columns.items():
        if (
            _TOLERANCE.search(name)
            and isinstance(value, int | float)
            and not isinstance(value, bool)
            and value > 0
        ):
            allowed.append(value if value < 1 else min(value / 100, abs(value / reference)))
    return max(allowed, default=0.0)
