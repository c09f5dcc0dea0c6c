"""Rows selected by content: words anywhere, the value of a column, a range of numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from workbench.core.errors import ReportError
from workbench.data.samples import Samples
from workbench.data.samples.search import row_words, rows_with_text, written, written_column
from workbench.report.frames import row_texts
from workbench.report.protocols import ReportLike

__all__ = ["by_probe", "by_range", "by_text", "by_value"]

Rows = NDArray[np.intp]


def by_text(report: ReportLike, words: str) -> Rows:
    """Rows whose id, turns or reference contain these words, ignoring case."""
    return rows_with_text(_texts(report), str(words))


def by_value(report: ReportLike, column: str, value: Any) -> Rows:
    """Rows whose cell in a column has this text; None selects empty cells.

    Raises:
        ReportError: No such column.
    """
    name, samples = _column(report, column), report.samples
    cells = written_column(samples, name) if isinstance(samples, Samples) else written(samples.column(name))
    return cells.rows(None if value is None else str(value))


def by_range(report: ReportLike, column: str, ends: Sequence[float]) -> Rows:
    """Rows whose cell in a column is a number in a range, both ends included.

    Raises:
        ReportError: No such column.
    """
    low, high = (float(end) for end in ends)
    cells = report.samples.frame[_column(report, column)]
    numbers = pd.to_numeric(cells, errors="coerce").to_numpy(float, na_value=np.nan)
    return np.flatnonzero((numbers >= low) & (numbers <= high))


def by_probe(report: ReportLike, name: str) -> Rows:
    """Rows that a probe created with this transformation.

    Raises:
        ReportError: The rows are not those of a probe.
    """
    frame = report.samples.frame
    if "probe" not in frame:
        raise ReportError("the rows have no column 'probe'", expected="the report or the rows of a probe")
    return np.flatnonzero(frame["probe"].astype(str).to_numpy() == str(name))


def _column(report: ReportLike, column: str) -> Any:
    """The name of a column of the rows, which need not be text."""
    by_name = {str(name): name for name in report.samples.frame.columns}
    if column not in by_name:
        raise ReportError(f"the rows have no column {column!r}", expected=", ".join(map(repr, by_name))[:300])
    return by_name[column]


def _texts(report: ReportLike) -> list[str]:
    """Every row's id, turns and reference, case-folded; made once for the samples, or for this report."""
    if isinstance(report.samples, Samples):
        return row_words(report.samples).searched
    texts: list[str] | None = report.__dict__.get("_searched")
    if texts is None:
        parts = row_texts(report.samples, np.arange(len(report), dtype=np.intp))
        texts = [
            "\n".join("" if part is None else str(part) for part in row_parts).casefold()
            for row_parts in parts
        ]
        report.__dict__["_searched"] = texts
    return texts
