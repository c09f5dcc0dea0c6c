"""The blocks of a report and of an overview: verdicts first, then findings, then numbers.

Their size does not depend on the number of rows: histograms are counts, and a finding shows a few of its rows.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from workbench.analysis.finding import Finding, joint_line, percent_with_interval, verdict_of
from workbench.core.display import (
    DisplayBlock,
    Drawing,
    Only,
    Paragraph,
    Parts,
    Span,
    TableBlock,
)
from workbench.core.display_html import bar, legend, sign
from workbench.core.display_text import counted, interval_text, number, one_line
from workbench.report.cases import label_codes
from workbench.report.criteria import criteria_blocks
from workbench.report.finding_blocks import finding_blocks
from workbench.report.selection import Counts, Histogram, bin_counts, counts_of, parts_of
from workbench.report.settings import unused_labels
from workbench.report.where import case_of


def report_blocks(report: Any) -> Iterator[DisplayBlock]:
    """Everything that is shown of a report."""
    title = f"{counted(len(report.graders), 'grader')} on {counted(len(report), 'row')}"
    gate = [] if report.gate is None else [Paragraph(Span(report.gate), "lead")]
    notes = report.samples.notes
    yield Only("html", grader_table(lambda: grader_lines(report)))
    yield Only("text", plain_summary(title, report.summary))
    yield Only("text", [Paragraph(Parts("data: ", note), limit=600) for note in notes])
    yield Only("html markdown", gate)
    yield from finding_blocks(report)
    yield Paragraph(unused_labels(report.samples, report.labels), limit=400)
    yield Only("markdown", verdict_table(title, lambda: grader_lines(report)))
    yield Only("html", summary_table(report.summary, lambda name: Drawing(histogram_html(report, name))))
    yield Only("html markdown", [Paragraph(note, "failed", limit=600) for note in notes])
    yield from criteria_blocks(report)
    yield from map(Paragraph, report.facts)
    yield Only("html", [Paragraph(joint_line(report.findings), "quiet")])
    yield Paragraph(report.isolation, "quiet")
    yield Only("text", gate)


@dataclass(frozen=True)
class GraderLine:
    """One grader.

    Attributes:
        name: Its name.
        counts: Rows of each part, by its name.
        shape: Sign of its verdict.
        words: The verdict in two words.
        tip: The verdict in one sentence.
        mean: Mean of its scores; NaN if there are none.
        interval: Lowest and highest end of the mean's 95 % interval; NaN if there is none.
    """

    name: str
    counts: Counts
    shape: str
    words: str
    tip: str
    mean: float
    interval: tuple[float, float]

    @classmethod
    def of(
        cls, name: str, counts: Counts, findings: Sequence[Finding], summary: Any, *, has_labels: bool
    ) -> GraderLine:
        """The line of a grader.

        Args:
            name: Its name.
            counts: Rows of each part.
            findings: Of all graders.
            summary: As `Report.summary`.
            has_labels: Whether any row is labelled.
        """
        verdict = verdict_of([one for one in findings if one.grader == name], has_labels=has_labels)
        mean, lo, hi = (float(summary.loc[name, column]) for column in ("mean", "mean_lo", "mean_hi"))
        return cls(name, counts, **verdict, mean=mean, interval=(lo, hi))

    @property
    def mean_text(self) -> str:
        """With two decimals, as in the app; a dash without one."""
        return _short(self.mean)

    @property
    def interval_text(self) -> str:
        """Such as "0.48 to 0.56"; "" if there is none."""
        lo, hi = self.interval
        return "" if math.isnan(lo) else f"{_short(lo)} to {_short(hi)}"


def _short(value: float) -> str:
    if math.isnan(value):
        return "-"
    return f"{value:.2f}" if abs(value) < 1e4 else f"{value:.3g}"


def grader_lines(report: Any) -> list[GraderLine]:
    """Every grader of a report, in its order."""
    has_labels = bool((label_codes(report) >= 0).any())
    return [
        GraderLine.of(
            name, counts_of(parts_of(case_of(report, name))), report.findings, report.summary,
            has_labels=has_labels,
        )
        for name in report.graders
    ]  # fmt: skip


def grader_table(lines: Callable[[], Sequence[GraderLine]]) -> Iterator[DisplayBlock]:
    """The line of every grader, with the legend of the bars."""
    shown = lines()
    yield TableBlock([""] * 4, [_grader_cells(line) for line in shown], numbers={3}, kind="lines")
    yield Drawing(legend([line.counts for line in shown]))


def _grader_cells(line: GraderLine) -> list[Any]:
    return [
        Span(one_line(line.name, 60), "mono"),
        Drawing(bar(line.counts)),
        Parts(Drawing(sign(line.shape)), Span(line.words, "", line.tip)),
        Parts(Span(line.mean_text), " ", Span(line.interval_text, "quiet")),
    ]


_VERDICT_HEADS = ("grader", "verdict", "mean", "95 % interval", "accepted", "rejected", "failed", "skipped")


def verdict_table(title: str, lines: Callable[[], Sequence[GraderLine]]) -> Iterator[DisplayBlock]:
    """The same with counts for bars."""
    yield Paragraph(f"{title}:")
    if rows := [_verdict_cells(line) for line in lines()]:
        yield TableBlock(_VERDICT_HEADS, rows, numbers=range(2, len(_VERDICT_HEADS)))


def _verdict_cells(line: GraderLine) -> list[str]:
    counts = line.counts
    accepted, rejected = (
        sum(counts[part] for part in counts if part.endswith(end)) for end in ("accepted", "refused")
    )
    numbers = [f"{count:,}" for count in (accepted, rejected, counts["failed"], counts["skipped"])]
    return [line.name, line.words, line.mean_text, line.interval_text, *numbers]


ZERO_VARIANCE = "zero-variance prompts"
"""Heading: prompts with several completions that all get one score, which give group-relative training no signal."""
_COUNTS = ("scored", "failed", "skipped")


def plain_summary(title: str, summary: pd.DataFrame) -> Iterator[DisplayBlock]:
    """The title and the numbers of every grader for a terminal.

    Args:
        title: Such as "2 graders on 100 rows".
        summary: As `Report.summary`.
    """
    zero_variance = zero_variance_cells(summary)
    measures = ("sd", "min", "median", "max")
    heads = (
        "grader",
        *_COUNTS,
        "mean",
        "95 % interval",
        *measures,
        *([ZERO_VARIANCE] if zero_variance else []),
    )
    rows = [
        (one_line(str(name), 40), *_numbers(row, measures), *zero_variance[at : at + 1])
        for at, (name, row) in enumerate(summary.iterrows())
    ]
    yield Paragraph(title)
    yield TableBlock(heads, rows, numbers=range(1, len(heads)))


def summary_table(summary: pd.DataFrame, drawing: Callable[[str], Drawing]) -> Iterator[DisplayBlock]:
    """The numbers of every grader, with the histogram of its scores.

    Args:
        summary: As `Report.summary`.
        drawing: Function from a grader's name to its histogram.
    """
    zero_variance = zero_variance_cells(summary)
    heads = (
        "grader",
        "scores",
        *_COUNTS,
        "mean",
        "95 % interval",
        "sd",
        *([ZERO_VARIANCE] if zero_variance else []),
    )
    rows = [
        (Span(name, "mono"), drawing(str(name)), *_numbers(row, ("sd",)), *zero_variance[at : at + 1])
        for at, (name, row) in enumerate(summary.iterrows())
    ]
    yield TableBlock(heads, rows, numbers=range(2, len(heads)))


def _numbers(row: pd.Series[Any], measures: Sequence[str]) -> list[str]:
    counts = [f"{row[column]:,}" for column in _COUNTS]
    interval = interval_text(row["mean_lo"], row["mean_hi"])
    return [*counts, number(row["mean"]), interval, *(number(row[column]) for column in measures)]


def zero_variance_cells(summary: pd.DataFrame) -> list[str]:
    """Share of zero-variance prompts of each grader, with its 95 % interval; no cells if no prompt has several completions."""
    if summary["zero_variance"].isna().all():
        return []
    columns = ("zero_variance", "zero_variance_lo", "zero_variance_hi")
    return [percent_with_interval(*(row[column] for column in columns)) for _, row in summary.iterrows()]


def too_far_apart(summary: pd.DataFrame) -> list[str]:
    """Why a grader with several scores has a dash for its sd."""
    without = summary[(summary["scored"] > 1) & summary["sd"].isna()]
    largest = sys.float_info.max
    return [
        f"sd: none for {one_line(str(name))}, whose scores differ by more than the largest number ({largest:.3g})"
        for name in without.index
    ]


def isolation_line(summary: pd.DataFrame) -> str:
    """The isolation of the graders in one line: "isolation: kernel"."""
    levels = {str(name): one_line(level, 40) for name, level in summary["isolation"].items()}
    if len(set(levels.values())) == 1:
        return f"isolation: {next(iter(levels.values()))}"
    each = ", ".join(f"{one_line(name, 40)} {level}" for name, level in levels.items())
    return f"isolation: {each or 'nothing was run'}"


_KINDS = {1: ("good", "known good"), 0: ("bad", "known bad"), -1: ("", "unlabelled")}
"""Code of a label to the class of its colour, and its text."""


def histogram_html(report: Any, name: str, *, width: int = 120, height: int = 24) -> str:
    """The scores of one grader of a report as inline SVG; the counts of each bar are its tooltip.

    Args:
        report: The report.
        name: The grader.
        width: In pixels.
        height: Of the tallest bar, in pixels.
    """
    histogram = report.histograms[name]
    return bars_html(histogram, _by_label(report, name, histogram), width=width, height=height)


def bars_html(
    histogram: Histogram, kinds: Mapping[int, NDArray[np.int64]], *, width: int = 120, height: int = 24
) -> str:
    """A histogram as inline SVG.

    Args:
        histogram: Of one grader's scores.
        kinds: Rows of each bar by label: 1 good, 0 bad, -1 none, (20,) each.
        width: In pixels.
        height: Of the tallest bar, in pixels.
    """
    most, step = max(int(histogram.counts.max()), 1), width / len(histogram.counts)
    drawn = "".join(
        _bar(at, histogram, kinds, (step, height / most, height))
        for at, count in enumerate(histogram.counts)
        if count
    )
    label = f"{histogram.scored:,} scores from {histogram.edges[0]:g} to {histogram.edges[-1]:g}"
    return (
        f"<svg class='histogram' role='img' aria-label='{label}' width='{width}' height='{height + 1}' "
        f"viewBox='0 0 {width} {height + 1}'><line x1='0' x2='{width}' y1='{height + 0.5}' y2='{height + 0.5}' "
        f"stroke='currentColor' stroke-opacity='.4'/>{drawn}</svg>"
    )


def _by_label(report: Any, name: str, histogram: Histogram) -> dict[int, NDArray[np.int64]]:
    """Rows of each bar by label, without labels that no row has."""
    grades, labels = report.grades[name], label_codes(report)
    scored = grades.codes == 1
    if not (labels >= 0).any():
        return {-1: histogram.counts}
    counts = {code: bin_counts(grades.scores[scored & (labels == code)], histogram.edges) for code in _KINDS}
    return {code: numbers for code, numbers in counts.items() if numbers.any()}


def _bar(
    at: int, histogram: Histogram, kinds: Mapping[int, NDArray[np.int64]], size: tuple[float, float, int]
) -> str:
    step, scale, height = size
    words = ", ".join(
        f"{int(counts[at]):,} {_KINDS[code][1]}" for code, counts in kinds.items() if counts[at]
    )
    is_labelled = set(kinds) != {-1}
    said = words if is_labelled else f"{int(histogram.counts[at]):,}"
    title = f"{histogram.edges[at]:.3g} to {histogram.edges[at + 1]:.3g}: {said}"
    drawn, bottom = [], float(height)
    for code, counts in kinds.items():
        if counts[at]:
            # One row in a million is still visible as a line.
            tall = max(int(counts[at]) * scale, 1.0)
            bottom -= tall
            drawn.append(
                f"<rect class='{_KINDS[code][0]}' x='{at * step + 0.5:.1f}' y='{bottom:.1f}' width='{step - 1:.1f}' "
                f"height='{tall:.1f}' fill='currentColor'><title>{title}</title></rect>"
            )
    return "".join(drawn)
