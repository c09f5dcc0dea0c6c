"""The combining rule of promptfoo: a weighted mean, and a verdict of all assertions or of a threshold."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from workbench.core.errors import FormatError
from workbench.core.grade import ErrorKind
from workbench.core.grades import SCORED, Grades
from workbench.graders.base import is_number
from workbench.graders.combine.combining import CombiningRule, Mask, combining_rule, passes
from workbench.graders.combine.entry import Counted, Entry
from workbench.graders.combine.formula import Scores

_COUNTS_AS_ZERO = frozenset(
    {
        ErrorKind.RUNTIME,
        ErrorKind.RETURN_TYPE,
        ErrorKind.LOAD,
        ErrorKind.TIMEOUT,
        ErrorKind.MEMORY,
        ErrorKind.CRASH,
    }
)
"""Failures of code that promptfoo counts as 0, not passed. A score that is not a number leaves the whole without one."""


@combining_rule("assertions")
@dataclass(frozen=True)
class Assertions(CombiningRule):
    """Weighted mean of the assertions that apply to a row; it passes if all of them pass, or from a threshold on.

    An entry that skipped the row does not apply to it. Entries of severity "warning" or "info" never block, and a sum of
    weights of 0 gives a score of 0.0.

    Attributes:
        threshold: The mean from which a row passes, independent of the single verdicts; None if all entries must pass.
        thresholds: The same by entry, for the rows to which that entry applies; None for "all must pass".
        zero: Entries whose failed grades count as 0.0, not passed, if their code failed: promptfoo's rule for code.

    Source: promptfoo 0.121.20 (`AssertionsResult`).
    """

    threshold: float | None = None
    thresholds: Mapping[str, float | None] = field(default_factory=dict, hash=False)
    zero: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "zero", tuple(self.zero))
        object.__setattr__(self, "thresholds", dict(self.thresholds))
        for value in (self.threshold, *self.thresholds.values()):
            if value is not None and not is_number(value):
                raise FormatError("a threshold must be a finite number", found=repr(value)[:80])

    def check(self, entries: Sequence[Entry]) -> None:
        """Require that every name is an entry's."""
        names = {entry.name for entry in entries}
        if unknown := sorted({*self.thresholds, *self.zero} - names):
            raise ValueError(
                f"the rule names {unknown[0]!r}, which is not one of the graders {', '.join(names)}"
            )

    def spec(self) -> dict[str, Any]:
        """The rule as a plain dict."""
        changed = {"threshold": self.threshold, "thresholds": self.thresholds, "zero": list(self.zero)}
        return {
            "rule": self.rule,
            **{key: value for key, value in changed.items() if value not in (None, {}, [])},
        }

    def combine(self, entries: Sequence[Entry], parts: Mapping[str, Counted]) -> Grades:
        """One grade per row: scored, failed (a part failed) or skipped (no entry applies to it)."""
        return super().combine(entries, self._with_zeros(parts))

    def scores(self, entries: Sequence[Entry], parts: Mapping[str, Counted]) -> Scores:
        """The combined scores without grades."""
        return super().scores(entries, self._with_zeros(parts))

    def _with_zeros(self, parts: Mapping[str, Counted]) -> Mapping[str, Counted]:
        return {name: _zeroed(part) if name in self.zero else part for name, part in parts.items()}

    def _scores(self, entries: Sequence[Entry], columns: Sequence[Counted]) -> tuple[Scores, Mask]:
        scores = np.array([column.scores for column in columns])
        has_score = ~np.isnan(scores)
        weights = np.array([entry.weight for entry in entries])[:, None] * has_score
        total, weight = (np.nan_to_num(scores) * weights).sum(axis=0), weights.sum(axis=0)
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.where(weight > 0, total / weight, 0.0), has_score.any(axis=0)

    def _judge(self, entries: Sequence[Entry], columns: Sequence[Counted], grades: Grades) -> None:
        scored = grades.codes == SCORED
        passed = np.ones(len(scored), bool)
        failures: dict[int, list[str]] = {}
        thresholds = np.full(len(scored), np.nan if self.threshold is None else self.threshold)
        for entry, column in zip(entries, columns, strict=True):
            applies = ~np.isnan(column.scores)
            fails = applies & ~passes(column)
            if entry.severity == "error":
                passed &= ~fails
            for row in np.flatnonzero(scored & fails):
                failures.setdefault(int(row), []).append(entry.name)
            if entry.name in self.thresholds:
                own = self.thresholds[entry.name]
                thresholds[applies] = np.nan if own is None else own
        by_threshold = ~np.isnan(thresholds)
        verdicts = np.where(by_threshold, grades.scores >= thresholds, passed)
        grades.passed[scored] = verdicts[scored]
        for number, names in failures.items():
            grades.reasoning[number] = f"not passed: {', '.join(names)}"


def _zeroed(part: Counted) -> Counted:
    """The part with 0.0, not passed, in the rows where its code failed."""
    rows = [row for row, error in part.errors.items() if error.kind in _COUNTS_AS_ZERO]
    if not rows:
        return part
    scores, passed, declined = part.scores.copy(), part.passed.copy(), part.declined.copy()
    scores[rows], passed[rows], declined[rows] = 0.0, 0, False
    errors = {row: error for row, error in part.errors.items() if row not in set(rows)}
    return replace(part, scores=scores, passed=passed, errors=errors, declined=declined)
