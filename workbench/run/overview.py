"""`Overview`: results of graders on any number of rows, as sums, counts and a sample."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd

from workbench.analysis.diagnostics import Finding
from workbench.analysis.diagnostics.finding import percent
from workbench.analysis.statistics import Interval
from workbench.core.cached import cached_property
from workbench.core.display import DisplayBlock, Displayed, Drawing, Only, Paragraph
from workbench.core.display_text import counted, one_line
from workbench.core.safe_frame import SafeFrame
from workbench.report import Report
from workbench.report.bins import Histogram
from workbench.report.display import (
    GraderLine,
    bars_html,
    finding_blocks,
    grader_table,
    isolation_line,
    plain_summary,
    summary_table,
    verdict_table,
)
from workbench.run.grader_summary import GraderSummary

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
