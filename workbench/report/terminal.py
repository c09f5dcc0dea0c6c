"""A report as plain text: one table, one sentence a finding, the isolation label."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import pandas as pd

from workbench.diagnostics import Finding
from workbench.display_text import counted, one_line

__all__ = ["as_text", "isolation_line", "number"]

_HEAD = ("grader", "scored", "failed", "skipped", "mean", "95 % interval", "sd", "min", "median", "max")


def as_text(
    summary: pd.DataFrame,
    findings: Sequence[Finding],
    rows: int,
    *,
    spent: str = "",
    notes: Sequence[str] = (),
) -> str:
    """The whole report as lines for a terminal.

    Args:
        summary: `Report.summary`.
        findings: `Report.findings`.
        rows: How many there are.
        spent: The line about money; "" without one.
        notes: What a person should know of the rows, a line each.
    """
    count = len(summary)
    title = f"{counted(count, 'grader')} on {counted(rows, 'row')}"
    found = [f"  {finding.severity:<8}{one_line(str(finding), 1_300)}" for finding in findings]
    said = ["findings:", *found] if found else ["no findings"]
    spending = [spent] if spent else []
    known = [f"data: {one_line(note, 600)}" for note in notes]
    return "\n".join([title, *_table(summary), *known, *said, *spending, isolation_line(summary)])


def _table(summary: pd.DataFrame) -> list[str]:
    lines = [_HEAD, *(_cells(str(name), line) for name, line in summary.iterrows())]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return ["  " + "  ".join(_aligned(line, widths)).rstrip() for line in lines]


def _aligned(line: Sequence[str], widths: Sequence[int]) -> list[str]:
    first, *rest = (
        cell.ljust(width) if at == 0 else cell.rjust(width)
        for at, (cell, width) in enumerate(zip(line, widths, strict=True))
    )
    return [first, *rest]


def _cells(name: str, line: pd.Series[Any]) -> tuple[str, ...]:
    counts = [f"{line[column]:,}" for column in ("scored", "failed", "skipped")]
    interval = interval_text(line["mean_lo"], line["mean_hi"])
    rest = [number(line[column]) for column in ("sd", "min", "median", "max")]
    return (one_line(name, 40), *counts, number(line["mean"]), interval, *rest)


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
