"""Rows of a report or a comparison as a table of text, for a notebook and as Markdown."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd

from workbench.core.display import html_table, markdown_table
from workbench.report.terminal import number

__all__ = ["rows_markdown", "rows_table"]

_TEXTS = ("sample", "prompt", "completion", "reference")


def rows_table(frame: pd.DataFrame, scores: Sequence[str] | None = ("score",)) -> str:
    """Rows of `Report.rows` or of a comparison as an HTML table.

    Args:
        frame: The rows.
        scores: Names of its score columns, shown with those texts that are not empty; None for every
            column of the frame, unchanged.
    """
    names = _columns(frame, scores)
    table = html_table(names, _rows(frame, names), numbers=_numbers(frame, names))
    return f"<div class='scroll'>{table}</div>"


def rows_markdown(frame: pd.DataFrame, scores: Sequence[str] | None = ("score",)) -> str:
    """The same as a table of Markdown."""
    names = _columns(frame, scores)
    return markdown_table(names, _rows(frame, names), numbers=_numbers(frame, names))


def _columns(frame: pd.DataFrame, scores: Sequence[str] | None) -> list[str]:
    if scores is None:
        return [name for name in frame if isinstance(name, str)]
    wanted = (*_TEXTS, *scores, "reasoning", "error")
    return [name for name in wanted if name in frame and frame[name].notna().any()]


def _numbers(frame: pd.DataFrame, names: Sequence[str]) -> set[int]:
    return {at for at, name in enumerate(names) if _is_numeric(frame.dtypes[name])}


def _is_numeric(dtype: Any) -> bool:
    return pd.api.types.is_numeric_dtype(dtype) and not pd.api.types.is_bool_dtype(dtype)


def _rows(frame: pd.DataFrame, names: Sequence[str]) -> list[list[Any]]:
    return [[_cell(row[name]) for name in names] for _, row in frame.iterrows()]


def _cell(value: Any) -> Any:
    if value is pd.NA:
        return ""
    return number(value) if isinstance(value, float) else value
