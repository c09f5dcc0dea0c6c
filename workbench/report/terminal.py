"""A report as plain text: one table, one sentence a finding, the isolation label."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import pandas as pd

from workbench.diagnostics import Finding
from workbench.display_text import counted, one_line

__all__ = ["Findings", "as_text", "isolation_line", "number"]

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
        facts: Sentences about the run, shown a line each: noise, spending.
        notes: Sentences about the dataset, shown a line each.
    """
    count = len(summary)
    title = f"{counted(count, 'grader')} on {counted(rows, 'row')}"
    finding_lines = [f"  {finding.severity:<8}{one_line(str(finding), 1_300)}" for finding in findings]
    findings_text = ["findings:", *finding_lines] if finding_lines else ["no findings"]
    fact_lines = [one_line(fact, 1_300) for fact in facts]
    note_lines = [f"data: {one_line(note, 600)}" for note in notes]
    return "\n".join(
        [title, *_table(summary), *note_lines, *findings_text, *fact_lines, isolation_line(summary)]
    )


def _table(summary: pd.DataFrame) -> list[str]:
    lines = [_COLUMNS, *(_summary_cells(str(name), row) for name, row in summary.iterrows())]
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


def number(value: float) -> str:
    """A score for a table: three decimals (four digits of very large ones), a dash where there is none."""
    if math.isnan(value):
        return "-"
    return f"{value:.3f}" if abs(value) < 1e9 else f"{value:.3e}"


def interval_text(lo: float, hi: float) -> str:
    """An interval for a table; a dash where there is none."""
    return "-" if math.isnan(lo) else f"{number(lo)} to {number(hi)}"


def isolation_line(summary: pd.DataFrame) -> str:
    """How the graders were confined, in one line: "isolation: kernel"."""
    levels = {str(name): one_line(level, 40) for name, level in summary["isolation"].items()}
    if len(set(levels.values())) == 1:
        return f"isolation: {next(iter(levels.values()))}"
    each = ", ".join(f"{one_line(name, 40)} {level}" for name, level in levels.items())
    return f"isolation: {each or 'nothing was run'}"


class Findings(tuple[Finding, ...]):
    """Findings that print as one sentence a line."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "\n".join(f"{finding.severity:<8}{finding}" for finding in self) or "no findings"
