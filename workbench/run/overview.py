"""Results of graders on any number of rows, as sums, counts and a sample: of each grader, and as an `Overview`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from math import inf, isnan, nan, sqrt
from pathlib import Path
from typing import Any, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from workbench.analysis.case import Case
from workbench.analysis.finding import Finding, percent
from workbench.analysis.statistics import Codes, Floats, Interval, mean
from workbench.analysis.statistics.group_scores import ValueCounts
from workbench.analysis.statistics.means import MAX_CLUSTERS, BoundedMean, mean_interval_of_sums
from workbench.core.display import DisplayBlock, Displayed, Drawing, Only, Paragraph
from workbench.core.display_text import counted, one_line
from workbench.core.python_text import cached_property
from workbench.core.safe_frame import SafeFrame
from workbench.report import Report
from workbench.report.finding_blocks import finding_blocks
from workbench.report.frames import isolation, known_sum
from workbench.report.report_blocks import (
    GraderLine,
    bars_html,
    grader_table,
    isolation_line,
    plain_summary,
    summary_table,
    verdict_table,
)
from workbench.report.selection import BINS, PARTS, Histogram, bin_counts, edges_of, parts_of

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
            counts = bin_counts(self.value_counts.values.clip(low, high), edges, self.value_counts.counts)  # noqa: PD011 (not a frame's)
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


_NOT_LABELLED = -1
_MAX_NOTES = 10


@dataclass(frozen=True, eq=False, repr=False)
class Overview(Displayed):
    """The aggregated grades of any number of rows. Immutable.

    Counts, means, intervals and histograms are of all rows. Findings, and the share of zero-variance prompts, are of a
    random sample of prompts with all their rows; if it contains all rows, the findings are those of `Suite.run`.

    Attributes:
        graders: The summary of each grader's grades, by name.
        report: The report on the sample.
        places: Location of its rows: `part` and `row` in it, one line per row of the sample.
        parts: One line for each part and grader: part, grader, rows, scored, failed, skipped, mean.
        notes: Sentences about the run: that it was stopped, which parts were not graded.
        folder: Folder of the grades, one file per part, as written by `Report.to_parquet`; None if they were not saved.
        whole: Whether the sample contains all graded rows.
        missing: Number of ungraded rows: of unreadable parts, or not reached by the run.
        has_part_of_a_prompt: Whether the sample has only some rows of its last prompt, which exceeds the sample's size.
    """

    _label = "Overview"

    graders: Mapping[str, GraderSummary]
    report: Report
    places: pd.DataFrame
    parts: pd.DataFrame
    notes: tuple[str, ...] = field(default=(), kw_only=True)
    folder: Path | None = field(default=None, kw_only=True)
    whole: bool = field(default=False, kw_only=True)
    missing: int = field(default=0, kw_only=True)
    has_part_of_a_prompt: bool = field(default=False, kw_only=True)

    def __len__(self) -> int:
        """Number of graded rows."""
        return max((one.rows for one in self.graders.values()), default=0)

    @cached_property
    def summary(self) -> pd.DataFrame:
        """One line for each grader, with the columns of `Report.summary`, over all rows.

        The quartiles are exact for up to 16,384 different scores, and else have the precision of
        `GraderSummary.value_counts`. The share of zero-variance prompts is that of the sample.
        """
        lines = [self._line(name, one) for name, one in self.graders.items()]
        index = pd.Index(list(self.graders), dtype=object, name="grader")
        return SafeFrame(lines, columns=list(self.report.summary.columns), index=index)

    def _line(self, name: str, one: GraderSummary) -> dict[str, Any]:
        moments, interval = one.moments, self._mean_interval(name, one)
        q25, median, q75 = one.value_counts.quantiles()
        has_scores, unknown = bool(one.scored), float("nan")
        seconds, tokens, cost = one.spent
        of_sample: Any = self.report.summary.loc[name]
        return {
            "n": one.rows, "scored": one.scored, "failed": one.failed, "skipped": one.skipped,
            "mean": moments.mean if has_scores else unknown, "mean_lo": interval.lo, "mean_hi": interval.hi,
            "sd": moments.sd, "min": moments.low if has_scores else unknown, "q25": q25, "median": median, "q75": q75,
            "max": moments.high if has_scores else unknown,
            **{column: of_sample[column] for column in ("zero_variance", "zero_variance_lo", "zero_variance_hi")},
            "seconds_total": seconds, "tokens": tokens, "cost": cost, "isolation": one.isolation,
        }  # fmt: skip

    def _mean_interval(self, name: str, one: GraderSummary) -> Interval:
        if not self.whole:
            return one.mean_interval(self.report.scale)
        of_report: Any = self.report.summary.loc[name]
        return Interval(float(of_report["mean_lo"]), float(of_report["mean_hi"]))

    @property
    def findings(self) -> tuple[Finding, ...]:
        """Findings about the graders, from the sample."""
        return self.report.findings

    @cached_property
    def histograms(self) -> dict[str, Histogram]:
        """The scores of each grader on all rows, counted into 20 bins."""
        return {name: one.histogram for name, one in self.graders.items()}

    @cached_property
    def labels(self) -> pd.DataFrame:
        """One line for each grader: its verdicts on all labelled rows; no lines without labels.

        Columns: good (rows known to be good), good_accepted (share, 0 to 1) with its 95 % interval lo and hi, and the same for bad.
        The intervals allow for prompts.
        """
        labelled = {name: one for name, one in self.graders.items() if sum(list(one.counts.values())[:4])}
        lines = []
        for one in labelled.values():
            line: dict[str, float] = {}
            for label, word in ((1, "good"), (0, "bad")):
                share = one.accepted_share(label)
                interval = share.interval()
                line |= {
                    word: int(share.sizes.sum()), f"{word}_accepted": share.value,
                    f"{word}_accepted_lo": interval.lo, f"{word}_accepted_hi": interval.hi,
                }  # fmt: skip
            lines.append(line)
        return SafeFrame(lines, index=pd.Index(list(labelled), dtype=object, name="grader"))

    @cached_property
    def errors(self) -> pd.DataFrame:
        """One line for each grader and kind of error: grader, error_kind, rows, and the first such error as an example."""
        lines = [
            (name, kind, count, one.examples.get(kind, ""))
            for name, one in self.graders.items()
            for kind, count in one.errors.most_common()
        ]
        return SafeFrame(lines, columns=["grader", "error_kind", "rows", "example"])

    def rows(self, grader: str | None = None, where: Any = None, **choice: Any) -> pd.DataFrame:
        """Rows of the sample to read, as returned by `Report.rows`, with the part and the row in it.

        Args:
            grader: As in `Report.rows`.
            where: As in `Report.rows`, such as a finding.
            choice: `sort` and `limit`, as in `Report.rows`.

        Raises:
            ReportError: An unknown grader, or a choice of rows that cannot be read.
        """
        frame = self.report.rows(grader, where, **choice)
        places = self.places.iloc[frame.index]
        if "id" not in self.report.samples.columns:
            del frame["sample"]  # the row's number in the sample, which carries no information
        frame.insert(0, "part", places["part"].to_numpy())
        frame.insert(1, "row in part", places["row"].to_numpy())
        return frame

    @property
    def facts(self) -> tuple[str, ...]:
        """Sentences on the basis of the findings, and on the run."""
        return (self._basis, *self._others)

    @property
    def _basis(self) -> str:
        sampled = f"{counted(len(self.report), 'row')} of {counted(self.report.columns.n_prompts, 'prompt')}"
        drawn = (
            "prompts, one of them with more rows than there was room for"
            if self.has_part_of_a_prompt
            else "whole prompts"
        )
        basis = "all rows that were graded" if self.whole else f"a random sample of {drawn}: {sampled}"
        return f"findings: from {basis}."

    @property
    def _others(self) -> tuple[str, ...]:
        gate = [] if self.report.gate is None else [f"{self.report.gate} (on these rows)"]
        # If the sample has all rows, findings include it.
        labelled = [] if self.whole else self.labels.iterrows()
        labels = [_label_line(str(name), line) for name, line in labelled]
        more = len(self.notes) - _MAX_NOTES
        return (
            *labels,
            *gate,
            *self.notes[:_MAX_NOTES],
            *([f"and {more:,} more in overview.notes"] if more > 0 else []),
        )

    def _lines(self) -> list[GraderLine]:
        return [
            GraderLine.of(name, one.counts, self.findings, self.summary, has_labels=not self.labels.empty)
            for name, one in self.graders.items()
        ]

    def __repr__(self) -> str:
        return f"Overview({counted(len(self.graders), 'grader')} on {counted(len(self), 'row')}, {counted(len(self.findings), 'finding')})"

    def _blocks(self) -> Iterator[DisplayBlock]:
        title = f"{counted(len(self.graders), 'grader')} on {counted(len(self), 'row')}"
        basis = Paragraph(self._basis, "quiet")
        yield Only("html", grader_table(self._lines))
        yield Only("text", plain_summary(title, self.summary))
        yield Only("html markdown", [basis])
        yield from finding_blocks(self.report)
        yield Only("markdown", verdict_table(title, self._lines))
        yield Only("html", summary_table(self.summary, self._histogram))
        yield Only("text", [basis])
        yield from (Paragraph(fact, "quiet", limit=600) for fact in self._others)
        yield Paragraph(isolation_line(self.summary), "quiet")

    def _histogram(self, name: str) -> Drawing:
        histogram = self.histograms[name]
        return Drawing(bars_html(histogram, {_NOT_LABELLED: histogram.counts}))


def _label_line(name: str, line: Any) -> str:
    parts = [
        f"{percent(line[f'{word}_accepted'])} of {counted(int(line[word]), f'known-{word} row')} "
        f"({percent(line[f'{word}_accepted_lo'])} to {percent(line[f'{word}_accepted_hi'])})"
        for word in ("bad", "good")
        if line[word]
    ]
    return f"{one_line(name, 60)} accepts {' and '.join(parts)}."
