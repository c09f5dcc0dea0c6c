"""Summary of one grader's grades, as sums and counts that can be merged over parts of the rows."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from math import inf, isnan, nan, sqrt
from typing import Self

import numpy as np
from numpy.typing import NDArray

from workbench.analysis.diagnostics import Case
from workbench.analysis.statistics import Interval
from workbench.analysis.statistics.arrays import Codes, Floats
from workbench.analysis.statistics.means import MAX_CLUSTERS, BoundedMean, mean_interval_of_sums
from workbench.analysis.statistics.spread import ValueCounts, mean
from workbench.report.bins import BINS, PARTS, Histogram, bin_counts, edges_of, parts_of
from workbench.report.frames import isolation, known_sum

BUNDLES = MAX_CLUSTERS
"""Bundles of prompts over which scores are summed: intervals of more than 4,096 prompts use this many bundles anyway."""
_UNIT = edges_of(np.zeros(0))
"""Edges of the bars of a histogram of scores from 0 to 1, (21,)."""
_MAX_EXAMPLES = 20
_NOT_RUN = "not run"


@dataclass(frozen=True)
class Moments:
    """Number, mean and squared distances from the mean, which can be merged (Chan, Golub & LeVeque 1983).

    Attributes:
        n: Number of values.
        mean: Their mean.
        squares: Sum of the squared distances from it.
        low: The lowest; infinite without values.
        high: The highest; minus infinity without values.
    """

    n: int = 0
    mean: float = 0.0
    squares: float = 0.0
    low: float = inf
    high: float = -inf

    @classmethod
    def of(cls, values: Floats) -> Moments:
        """The moments of a column of finite numbers, (n,)."""
        if not len(values):
            return cls()
        centre = mean(values)
        with np.errstate(over="ignore"):
            squares = float(((values - centre) ** 2).sum())
        return cls(len(values), centre, squares, float(values.min()), float(values.max()))

    def merged(self, other: Moments) -> Moments:
        """The moments of both columns together."""
        n = self.n + other.n
        if not self.n or not other.n:
            return self if self.n else other
        apart, share = other.mean - self.mean, other.n / n
        squares = self.squares + other.squares + apart * apart * self.n * share
        low, high = min(self.low, other.low), max(self.high, other.high)
        return Moments(n, self.mean + apart * share, squares, low, high)

    @property
    def sd(self) -> float:
        """The sample standard deviation (ddof=1); NaN below two values and beyond the largest float."""
        found = sqrt(self.squares / (self.n - 1)) if self.n > 1 else nan
        return found if found < inf else nan


def _no_bins() -> NDArray[np.int64]:
    return np.zeros(BINS, np.int64)


def _no_sums() -> Floats:
    return np.zeros((BUNDLES, 1 + len(PARTS)))


@dataclass(frozen=True, eq=False)
class GraderSummary:
    """Counts, histogram and sums of one grader's grades. Summaries of several parts of the rows can be merged.

    Attributes:
        rows: Number of grades of any status.
        failed: Number of failed grades.
        skipped: Number of skipped grades.
        moments: Of the scores.
        value_counts: How often each score was given.
        bins: Scores in each bar from 0 to 1, (20,); only if no score is outside.
        sums: For each of 4,096 bundles of prompts the sum of the scores, and its rows by `PARTS` (known good and accepted, ...),
            (4096, 9). A prompt is in one bundle wherever its rows are, by a hash of its text.
        spent: Sums of seconds, tokens and US dollars, NaN if unknown, (3,).
        errors: Failed rows by error kind.
        examples: An error of each kind, as text.
        isolations: Sandbox levels at which rows were run.
        ended: Why the grader stopped before the last row of a part.
    """

    rows: int = 0
    failed: int = 0
    skipped: int = 0
    moments: Moments = field(default_factory=Moments)
    value_counts: ValueCounts = field(default_factory=ValueCounts)
    bins: NDArray[np.int64] = field(default_factory=_no_bins)
    sums: Floats = field(default_factory=_no_sums)
    spent: tuple[float, ...] = (nan, nan, nan)
    errors: Counter[str] = field(default_factory=Counter)
    examples: dict[str, str] = field(default_factory=dict)
    isolations: frozenset[str] = frozenset()
    ended: tuple[str, ...] = ()

    @classmethod
    def of(cls, case: Case, bundles: Codes) -> Self:
        """The summary of the grades of some rows.

        Args:
            case: Grades with labels and pass threshold, n rows.
            bundles: The bundle of each row's prompt, (n,).
        """
        grades = case.grades
        scores = grades.scores[case.rows]
        errors = [grades.errors[row] for row in sorted(grades.errors)]
        return cls(
            len(grades),
            grades.n_failed,
            grades.n_skipped,
            Moments.of(scores),
            ValueCounts.of(scores),
            bin_counts(scores, _UNIT),
            _bundle_sums(case, bundles),
            (known_sum(grades.seconds), known_sum(grades.tokens), known_sum(grades.cost)),
            Counter(str(error.kind) for error in errors),
            {str(error.kind): error.message for error in reversed(errors)},
            frozenset([isolation(grades)]),
            (grades.ended,) if grades.ended else (),
        )

    def merged(self, other: GraderSummary) -> GraderSummary:
        """The merged summary of both."""
        with np.errstate(over="ignore", invalid="ignore"):  # sums beyond the largest float have no interval
            sums = self.sums + other.sums
        return GraderSummary(
            self.rows + other.rows,
            self.failed + other.failed,
            self.skipped + other.skipped,
            self.moments.merged(other.moments),
            self.value_counts.merged(other.value_counts),
            self.bins + other.bins,
            sums,
            tuple(map(_with_gaps, self.spent, other.spent)),
            self.errors + other.errors,
            {**other.examples, **self.examples},
            self.isolations | other.isolations,
            tuple(dict.fromkeys([*self.ended, *other.ended]))[:_MAX_EXAMPLES],
        )

    @property
    def scored(self) -> int:
        """Rows with a score."""
        return self.moments.n

    @property
    def counts(self) -> dict[str, int]:
        """Rows by `PARTS`."""
        return {name: int(count) for name, count in zip(PARTS, self.sums[:, 1:].sum(0), strict=True)}

    @property
    def isolation(self) -> str:
        """The sandbox level, or levels if they differ from part to part; as in `Report.summary`."""
        ran = sorted(self.isolations - {_NOT_RUN})
        return " and ".join(ran) or _NOT_RUN

    @property
    def histogram(self) -> Histogram:
        """Scores counted into 20 bins. If scores are outside 0 to 1, from `value_counts`, which may have lost digits."""
        low, high = (self.moments.low, self.moments.high) if self.scored else (0.0, 1.0)
        edges = edges_of(np.array([low, high]))
        counts = self.bins
        if low < 0 or high > 1:
            counts = bin_counts(self.value_counts.values.clip(low, high), edges, self.value_counts.counts)
        return Histogram(edges, counts, self.scored, self.failed, self.skipped)

    def mean_interval(self, scale: tuple[float, float] = (0.0, 1.0)) -> Interval:
        """The 95 % interval of the mean, which allows for prompts; both ends NaN if there is none."""
        moments = self.moments
        return mean_interval_of_sums(
            self.sums[:, 0], self._scored_rows, moments.low, moments.high, scale=scale
        )

    @property
    def _scored_rows(self) -> Floats:
        of_scores: Floats = self.sums[:, 1:7].sum(1)
        return of_scores

    def accepted_share(self, label: int) -> BoundedMean:
        """The share of the rows with a label that the grader accepts, over bundles of prompts.

        Args:
            label: 1 for rows known to be good, 0 for those known to be bad.
        """
        first = 1 if label else 3
        accepted, refused = self.sums[:, first], self.sums[:, first + 1]
        sizes = accepted + refused
        has_rows = sizes > 0
        return BoundedMean(accepted[has_rows], sizes[has_rows], np.ones(int(has_rows.sum())))


def _bundle_sums(case: Case, bundles: Codes) -> Floats:
    parts = parts_of(case)
    by_part = np.bincount(
        bundles[parts >= 0] * len(PARTS) + parts[parts >= 0], minlength=BUNDLES * len(PARTS)
    )
    scores = np.bincount(bundles[case.rows], case.grades.scores[case.rows], minlength=BUNDLES)
    return np.column_stack([scores, by_part.reshape(BUNDLES, len(PARTS))]).astype(np.float64)


def _with_gaps(one: float, other: float) -> float:
    """The sum of the known values."""
    return other if isnan(one) else one if isnan(other) else one + other
