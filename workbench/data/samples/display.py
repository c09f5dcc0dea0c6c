"""A `Samples` as one line and as a table. Every cell is text: nothing in a dataset is ever markup."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from numbers import Number
from typing import Any

from workbench.core.display import DisplayBlock, Paragraph, Parts, Span, TableBlock
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


def samples_blocks(line: str, columns: Mapping[str, Sequence[Any]], *, total: int) -> Iterator[DisplayBlock]:
    """A table of the first rows.

    Args:
        line: The one-line form, for the caption.
        columns: Heading to cells.
        total: Total number of rows.
    """
    names = list(columns)[:_MAX_COLUMNS]
    rows = _rows(columns, names)
    yield Paragraph(Parts(Span(counted(total, "row")), " ", Span(line, "quiet")), "lead", limit=600)
    yield TableBlock(names, rows, numbers=_numbers(columns, names), limit=MAX_TEXT + 1)
    hidden_rows = total - len(rows)
    yield Paragraph(counted(hidden_rows, "more row") if hidden_rows else "", "quiet")


def _rows(columns: Mapping[str, Sequence[Any]], names: Sequence[str]) -> list[list[str]]:
    lines = zip(*(columns[name] for name in names), strict=True)
    return [[_cell_text(cell) for cell in line] for line in lines]


def _numbers(columns: Mapping[str, Sequence[Any]], names: Sequence[str]) -> set[int]:
    """Indices of the numeric columns, which are aligned to the right."""
    return {at for at, name in enumerate(names) if len(columns[name]) and all(map(_is_number, columns[name]))}


def _is_number(value: Any) -> bool:
    return isinstance(value, Number) and not isinstance(value, bool)


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
