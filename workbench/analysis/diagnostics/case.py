"""The input of every diagnostic: the grades of one grader, with prompts and labels."""

from __future__ import annotations

import sys
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import nan
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from workbench.analysis.diagnostics.finding import Finding, RowNumbers, Severity
from workbench.analysis.diagnostics.labels import Raters, Scored, Votes, raters_by_columns, raters_by_repeats
from workbench.analysis.statistics import Interval, auroc, compact
from workbench.analysis.statistics.spread import SAME
from workbench.core.grades import SCORED, Grades

_MIN_ROWS_FOR_HINTS = 8  # scored rows; this project's choice, well below the minimum of any verdict
_SCALE_TOLERANCE = (
    1e-9  # relative to the scale's width: a sum of weights may miss the end of the scale by rounding
)


class RowContext(Protocol):
    """Columns of the rows in addition to their grades; each is read when a diagnostic uses it."""

    @property
    def topics(self) -> Sequence[Hashable | None] | None:
        """Topic of each row, (n,), None for a row without a topic; None if no column contains topics."""

    @property
    def lengths(self) -> NDArray[np.float64]:
        """Characters of each completion, (n,)."""

    def lengths_of(self, rows: NDArray[np.intp], /) -> NDArray[np.float64]:
        """Characters of the completions of these rows, (m,)."""

    def hashes_of(self, rows: NDArray[np.intp], /) -> NDArray[np.int64]:
        """An integer for each of these rows, (m,), equal if completion and reference are equal; unique if there is no text."""

    def is_reference(self, rows: NDArray[np.intp], /) -> NDArray[np.bool_]:
        """Whether the completions of these rows equal the reference exactly, (m,)."""

    def column(self, name: str, /) -> Sequence[Any] | None:
        """The cells of a column of the samples, (n,); None if there is no such column."""

    @property
    def annotators(self) -> Sequence[Hashable | None] | None:
        """Annotator of each row's label, (n,), None if not named; None if there is no such column."""

    @property
    def writers(self) -> Sequence[Hashable | None] | None:
        """Model that wrote each completion, (n,), None if not named; None if there is no such column."""

    @property
    def positions(self) -> Sequence[Hashable | None] | None:
        """Position at which each completion was shown, (n,), None if not named; None if there is no such column."""

    @property
    def few_valued(self) -> Mapping[str, NDArray[Any]]:
        """Columns of 2 to 50 values other than prompt, completion and reference: cells as text, (n,) each, "" for empty."""

    @property
    def names(self) -> Sequence[str]:
        """Names of the columns with information about a row, other than prompt, completion and reference."""


@dataclass(frozen=True)
class Case:
    """One grader's grades with prompts, labels, pass threshold and scale.

    Attributes:
        grader: Its name.
        grades: Its grades, n rows.
        groups: Prompt of each row as an integer code, (n,).
        labels: 1 known good, 0 known bad, -1 unknown, (n,).
        pass_threshold: On the scale: a score at or above it accepts the row.
        scale: Lowest and highest score of the grader's scale.
        context: Columns of the rows in addition to their grades; None if there are only grades.
        source: The grader's source text; "" if it has none, or it is not known.
        votes: The labels of each annotator if several labelled the rows and `labels` is their majority; else
            None.
        others: Scores that other graders of the report gave the same rows, (n,) each, on the same scale, NaN without.
        limits: Limits that differ from the default, by kind.
    """

    grader: str
    grades: Grades
    groups: NDArray[np.intp]
    labels: NDArray[np.int8]
    pass_threshold: float = 0.5
    scale: tuple[float, float] = (0.0, 1.0)
    context: RowContext | None = field(default=None, repr=False)
    source: str = field(default="", repr=False)
    votes: Votes | None = field(default=None, repr=False)
    others: tuple[NDArray[np.float64], ...] = field(default=(), repr=False)
    limits: Mapping[str, float] = field(default_factory=dict)

    def equals(self, other: Case) -> bool:
        """Whether this is the same grader over the same rows and labels, independent of other graders' scores."""
        same = all(getattr(self, name) is getattr(other, name) for name in ("grades", "context", "votes"))
        alike = all(
            getattr(self, name) == getattr(other, name)
            for name in ("pass_threshold", "scale", "source", "limits")
        )
        arrays = (np.array_equal(getattr(self, name), getattr(other, name)) for name in ("groups", "labels"))
        return same and alike and all(arrays)

    @cached_property
    def rows(self) -> NDArray[np.intp]:
        """Indices of the scored rows, (m,). No other row enters a statistic of scores."""
        return np.flatnonzero(self.grades.codes == SCORED)

    @cached_property
    def status(self) -> NDArray[Any]:
        """Status name of each row, (n,)."""
        return self.grades.statuses

    @cached_property
    def scores(self) -> NDArray[np.float64]:
        """Scores of the scored rows, scaled to 0 to 1, (m,)."""
        lo, hi = self.scale
        # Halved first: the difference of two finite numbers may overflow to infinity.
        with np.errstate(over="ignore"):
            scores = (self.grades.scores[self.rows] / 2 - lo / 2) / (hi / 2 - lo / 2)
        # One infinite score would make every mean and variance of the column infinite or NaN.
        finite: NDArray[np.float64] = np.nan_to_num(scores)
        return finite

    def finding(
        self,
        kind: str,
        severity: Severity,
        statistic: str,
        message: str,
        advice: str,
        rows: Iterable[int] = (),
        *,
        unit: str = "row",
    ) -> Finding:
        """A finding about this grader without its number: a claim adds that, its interval and the rows still needed.

        Args:
            kind: The name under which the diagnostic is registered.
            severity: Its severity.
            statistic: What is measured, such as "share of zero-variance prompts".
            message: The sentence without grader, interval and full stop.
            advice: What to do next.
            rows: Indices of the rows that are evidence for it.
            unit: Unit of the number of rows still needed, in the singular.
        """
        return Finding(
            self.grader,
            kind,
            severity,
            statistic,
            nan,
            None,
            0,
            0,
            message,
            advice,
            rows if isinstance(rows, RowNumbers) else RowNumbers(rows),
            unit=unit,
        )

    @property
    def span(self) -> float:
        """Width of the scale, at most the largest float."""
        return min(self.scale[1] - self.scale[0], sys.float_info.max)

    def in_units(self, score: float) -> float:
        """A score from 0 to 1 converted to the user's scale."""
        return self.scale[0] * (1 - score) + self.scale[1] * score

    @cached_property
    def separation(self) -> tuple[float, Interval]:
        """Probability that a good row scores above a bad one, with its interval; NaN without labels of both kinds."""
        labels = self.labels[self.rows]
        labelled = labels >= 0
        return auroc(self.scores[labelled], labels[labelled] == 1, compact(self.scored_groups[labelled]))

    @cached_property
    def raters(self) -> Raters | None:
        """The scored rows that two or more annotators labelled; None if there are none.

        Labels are given as one column per annotator, or as rows that repeat a completion with another label and, in a
        column such as `annotator`, another name.
        """
        scored = Scored(self.rows, self.accepted, self.labels[self.rows], self.scored_groups)
        if self.votes is not None:
            return raters_by_columns(self.votes, scored)
        if self.context is None or self.context.annotators is None:
            return None
        return raters_by_repeats(self.context.annotators, self.context.hashes_of, scored)

    @cached_property
    def varies(self) -> bool:
        """Whether there are two different scores."""
        # Compared rather than subtracted: the difference of two finite scores may overflow to infinity.
        return bool(len(self.scores)) and float(self.scores.min()) + SAME < float(self.scores.max())

    @property
    def is_tiny(self) -> bool:
        """Whether there are fewer than 8 scored rows: with these even a hint about their spread would be noise."""
        return len(self.rows) < _MIN_ROWS_FOR_HINTS

    @property
    def is_code(self) -> bool:
        """Whether the grader is code: it ran in a sandbox, or is built in.

        Code should make no mistake on labelled rows; a judge model makes occasional mistakes, so only its error rate counts.
        """
        return self.grades.code or self.grades.isolation not in {"", "none"}

    @cached_property
    def scored_groups(self) -> NDArray[np.intp]:
        """Prompt codes of the scored rows, counted from 0 without gaps, (m,)."""
        return compact(self.groups[self.rows])

    @cached_property
    def on_scale(self) -> bool:
        """Whether there are scores and all lie on the scale; diagnostics about its ends need that."""
        return bool(len(self.scores)) and not self.off_scale.any()

    @cached_property
    def off_scale(self) -> NDArray[np.bool_]:
        """Which scored rows are outside the scale, (m,)."""
        return (self.scores < -_SCALE_TOLERANCE) | (self.scores > 1 + _SCALE_TOLERANCE)

    @cached_property
    def accepted(self) -> NDArray[np.bool_]:
        """Which scored rows pass, (m,): by the grader's verdict, or else by the score and the pass threshold."""
        verdict = self.grades.passed[self.rows]
        return np.where(verdict >= 0, verdict == 1, self.grades.scores[self.rows] >= self.pass_threshold)
