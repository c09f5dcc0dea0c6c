"""A `Samples` as one line and as a table. Every cell is text: nothing in a dataset is ever markup."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from numbers import Number
from typing import Any

from workbench.core.display import (
    escaped,
    html_block,
    html_table,
    markdown_lines,
    markdown_table,
    markdown_text,
    paragraph,
)
from workbench.core.display_text import counted
from workbench.data.samples.plain import NotPlainError, plain

MAX_TEXT = 200
"""Maximum characters of a cell: enough to recognise a row, few enough for a notebook page."""

_MAX_COLUMNS = 14


def as_line(rows: int, roles: Mapping[str, str], metadata: int, source: str) -> str:
    """One line that is the same for the same data in every session."""
    mapped = [f"{role}={name!r}" for role, name in roles.items()]
    extra = [counted(metadata, "metadata column")]
    origin = [f"from {source!r}"] if source else []
    return f"Samples({', '.join([counted(rows, 'row'), *mapped, *extra, *origin])})"


def as_html(line: str, columns: Mapping[str, Sequence[Any]], *, total: int) -> str:
    """A table of the first rows.

    Args:
        line: The one-line form, for the caption.
        columns: Heading to cells.
        total: Total number of rows.
    """
    names = list(columns)[:_MAX_COLUMNS]
    rows = _rows(columns, names)
    table = html_table(names, rows, numbers=_numbers(columns, names), limit=MAX_TEXT + 1)
    parts = [
        f"<p class='lead'><strong>{counted(total, 'row')}</strong> <span class='quiet'>{escaped(line, 600)}</span></p>",
        f"<div class='scroll'>{table}</div>",
        paragraph(_rest(total - len(rows)), "quiet"),
    ]
    return html_block("".join(parts), "workbench-samples", label="Samples")


def as_markdown(line: str, columns: Mapping[str, Sequence[Any]], *, total: int) -> str:
    """The table as Markdown."""
    names = list(columns)[:_MAX_COLUMNS]
    rows = _rows(columns, names)
    table = markdown_table(names, rows, numbers=_numbers(columns, names), limit=MAX_TEXT)
    return markdown_lines(
        [f"**{counted(total, 'row')}** {markdown_text(line, 600)}", table, _rest(total - len(rows))]
    )


def _rows(columns: Mapping[str, Sequence[Any]], names: Sequence[str]) -> list[list[str]]:
    lines = zip(*(columns[name] for name in names), strict=True)
    return [[_cell_text(cell) for cell in line] for line in lines]


def _numbers(columns: Mapping[str, Sequence[Any]], names: Sequence[str]) -> set[int]:
    """Indices of the numeric columns, which are aligned to the right."""
    return {at for at, name in enumerate(names) if len(columns[name]) and all(map(_is_number, columns[name]))}


def _is_number(value: Any) -> bool:
    return isinstance(value, Number) and not isinstance(value, bool)


def _rest(hidden_rows: int) -> str:
    """The number of rows not shown; "" for none."""
    return counted(hidden_rows, "more row") if hidden_rows else ""


def _cell_text(value: Any) -> str:
    try:
        value = plain(value)
    except NotPlainError as error:
        return f"({error})"
    if value is None:
        return ""
    if isinstance(value, list | dict):
        value = json.dumps(value, ensure_ascii=False, default=repr)
    text = value if isinstance(value, str) else repr(value)
    return text if len(text) <= MAX_TEXT else text[: MAX_TEXT - 1] + "…"
