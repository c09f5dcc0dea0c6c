"""A report as plain text: one table, one sentence per finding, the isolation label."""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from typing import Any

import pandas as pd

from workbench.analysis.diagnostics import Finding
from workbench.analysis.diagnostics.finding import joint_line, percent
from workbench.analysis.statistics import Interval
from workbench.core.display_text import counted, one_line

ZERO_VARIANCE = "zero-variance prompts"
"""Heading: prompts with several completions that all get one score, which give group-relative training no signal."""
_MAX_FLOAT = sys.float_info.max
_COLUMNS = ("grader", "scored", "failed", "skipped", "mean", "95 % interval", "sd", "min", "median", "max")


def as_text(
    summary: pd.DataFrame,
    findings: Sequence[Finding],
    rows: int,
    *,
    facts: Sequence[str] = (),
    notes: Sequence[str] = (),
) -> str:
    """The whole report as lines for a terminal.

    Args:
        summary: `Report.summary`.
        findings: `Report.findings`.
        rows: Number of rows.
        facts: Sentences about the run, one line each: noise, spending.
        notes: Sentences about the dataset, one line each.
    """
    count = len(summary)
    title = f"{counted(count, 'grader')} on {counted(rows, 'row')}"
    finding_lines = [f"  {finding_line(finding)}" for finding in findings]
    joint = joint_line(findings)
    finding_lines += [f"  {joint}"] if joint else []
    findings_text = ["findings:", *finding_lines] if finding_lines else ["no findings"]
    fact_lines = [one_line(fact, 1_300) for fact in facts]
    note_lines = [f"data: {one_line(note, 600)}" for note in notes]
    return "\n".join(
        [title, *_table(summary), *note_lines, *findings_text, *fact_lines, isolation_line(summary)]
    )


def too_far_apart(summary: pd.DataFrame) -> list[str]:
    """Why a grader with several scores has a dash for its sd."""
    without = summary[(summary["scored"] > 1) & summary["sd"].isna()]
    return [
        f"sd: none for {one_line(str(name))}, whose scores differ by more than the largest number ({_MAX_FLOAT:.3g})"
        for name in without.index
    ]


def finding_line(finding: Finding) -> str:
    """A finding in one line; one that is explained by another is below it, marked."""
    severity = finding.severity.replace("_", " ")
    mark = f"  so, {severity}: " if finding.cause else f"{severity:<7} "
    return f"{mark}{one_line(str(finding), 1_300)}"


def _table(summary: pd.DataFrame) -> list[str]:
    zero_variance = zero_variance_cells(summary)
    lines = [_COLUMNS, *(_summary_cells(str(name), row) for name, row in summary.iterrows())]
    if zero_variance:
        lines = [(*line, cell) for line, cell in zip(lines, [ZERO_VARIANCE, *zero_variance], strict=True)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return ["  " + "  ".join(_aligned(row, widths)).rstrip() for row in lines]


def _aligned(cells: Sequence[str], widths: Sequence[int]) -> list[str]:
    name, *numbers = (
        cell.ljust(width) if at == 0 else cell.rjust(width)
        for at, (cell, width) in enumerate(zip(cells, widths, strict=True))
    )
    return [name, *numbers]


def _summary_cells(name: str, row: pd.Series[Any]) -> tuple[str, ...]:
    counts = [f"{row[column]:,}" for column in ("scored", "failed", "skipped")]
    interval = interval_text(row["mean_lo"], row["mean_hi"])
    measures = [number(row[column]) for column in ("sd", "min", "median", "max")]
    return (one_line(name, 40), *counts, number(row["mean"]), interval, *measures)


def zero_variance_cells(summary: pd.DataFrame) -> list[str]:
    """Share of zero-variance prompts of each grader, with its 95 % interval; no cells if no prompt has several completions."""
    if summary["zero_variance"].isna().all():
        return []
    return [_zero_variance_cell(row) for _, row in summary.iterrows()]


def _zero_variance_cell(row: pd.Series[Any]) -> str:
    if math.isnan(row["zero_variance"]):
        return "-"
    return f"{percent(row['zero_variance'])} ({percent(row['zero_variance_lo'])} to {percent(row['zero_variance_hi'])})"


def number(value: float) -> str:
    """A score for a table: three decimals (four digits of very large ones), a dash if missing."""
    if math.isnan(value):
        return "-"
    return f"{value:.3f}" if abs(value) < 1e9 else f"{value:.3e}"


def signed(value: float) -> str:
    """A difference of scores, with its sign, as `number` writes scores."""
    return number(value) if math.isnan(value) else f"{'-' if value < 0 else '+'}{number(abs(value))}"


def interval_in_words(interval: Interval, *, of: str = "") -> str:
    """The 95 % interval of a difference for a sentence, or that there is none."""
    if math.isnan(interval.lo):
        return f"no 95 % interval {of}from so few rows"
    return f"95 % interval {of}{signed(interval.lo)} to {signed(interval.hi)}"


def interval_text(lo: float, hi: float) -> str:
    """An interval for a table; a dash if missing."""
    return "-" if math.isnan(lo) else f"{number(lo)} to {number(hi)}"


def isolation_line(summary: pd.DataFrame) -> str:
    """The isolation of the graders in one line: "isolation: kernel"."""
    levels = {str(name): one_line(level, 40) for name, level in summary["isolation"].items()}
    if len(set(levels.values())) == 1:
        return f"isolation: {next(iter(levels.values()))}"
    each = ", ".join(f"{one_line(name, 40)} {level}" for name, level in levels.items())
    return f"isolation: {each or 'nothing was run'}"
