"""Tables of text: the content of a cell is never interpreted as markup."""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence
from typing import Any

from workbench.core.display.texts import escaped, markdown_cell

__all__ = ["html_table", "markdown_table"]


def html_table(
    heads: Sequence[str],
    rows: Iterable[Sequence[Any]],
    *,
    numbers: Container[int] = (),
    limit: int = 300,
) -> str:
    """A table as HTML.

    Args:
        heads: Texts of the header; empty for a table without one.
        rows: Cells of each line, shown as text.
        numbers: Indices of the right-aligned columns.
        limit: Maximum characters of a cell.
    """
    kinds = [" class='num'" if at in numbers else "" for at in range(len(heads) or 99)]
    head = "".join(
        f"<th scope='col'{kind}>{escaped(name)}</th>" for kind, name in zip(kinds, heads, strict=False)
    )
    body = "".join(f"<tr>{''.join(_cells(row, kinds, limit))}</tr>" for row in rows)
    top = f"<thead><tr>{head}</tr></thead>" if heads else ""
    return f"<table>{top}<tbody>{body}</tbody></table>"


_LONG, _SHORT = 40, 24


def _cells(row: Sequence[Any], kinds: Sequence[str], limit: int) -> Iterable[str]:
    for kind, cell in zip(kinds, row, strict=False):
        text = escaped(cell, limit)
        # Long texts get a minimum width: next to many columns a prompt would shrink to single words.
        yield f"<td{kind or _wide(text)}>{text}</td>"


def _wide(text: str) -> str:
    # An id must not be broken at its hyphens.
    is_word = len(text) <= _SHORT and not any(map(str.isspace, text))
    return " class='wide'" if len(text) > _LONG else " class='short'" if is_word and "-" in text else ""


def markdown_table(
    heads: Sequence[str],
    rows: Iterable[Sequence[Any]],
    *,
    numbers: Container[int] = (),
    limit: int = 120,
) -> str:
    """The same as a Markdown table, as lines; line ends in a cell become spaces."""
    marks = ["---:" if at in numbers else "---" for at in range(len(heads))]
    lines = [[markdown_cell(name) for name in heads], marks]
    lines += [[markdown_cell(cell, limit) for cell in row] for row in rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
