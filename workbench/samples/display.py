"""A `Samples` as one line and as an HTML table. Every cell is text: nothing in a dataset is ever markup."""

from __future__ import annotations

import html
import json
from collections.abc import Mapping, Sequence
from typing import Any

from workbench.display_text import counted
from workbench.samples.plain import NotPlainError, plain

__all__ = ["MAX_TEXT", "as_html", "as_line"]

MAX_TEXT = 200
"""Characters of a cell shown: enough to recognise a row, few enough for a notebook page."""

_MAX_COLUMNS = 14
_LONG = 40


# The class stands twice: JupyterLab right-aligns cells by a rule as strong as one class.
_STYLE = (
    ".workbench-samples.workbench-samples th,.workbench-samples.workbench-samples td"
    "{text-align:left;vertical-align:top;white-space:pre-wrap;max-width:22em;overflow-wrap:break-word}"
    ".workbench-samples.workbench-samples th{white-space:nowrap}"
    ".workbench-samples.workbench-samples td.wide{min-width:16em}"
)


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
        total: Rows there are in all.
    """
    names = list(columns)[:_MAX_COLUMNS]
    rows = list(zip(*(columns[name] for name in names), strict=True))
    head = "".join(f"<th scope='col'>{_escaped(name)}</th>" for name in names)
    body = "".join("<tr>" + "".join(_cell(cell) for cell in row) + "</tr>" for row in rows)
    hidden_rows = total - len(rows)
    more = f"<p>{counted(hidden_rows, 'more row')}</p>" if hidden_rows else ""
    return (
        f"<p>{_escaped(line)}</p>"
        f"<div class='workbench-samples' style='overflow-x:auto'><style>{_STYLE}</style><table>"
        f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{more}</div>"
    )


def _cell(value: Any) -> str:
    text = _cell_text(value)
    # Long texts get a minimum width, or a prompt would be one word wide beside many columns.
    kind = " class='wide'" if len(text) > _LONG else ""
    return f"<td{kind}>{_escaped(text)}</td>"


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


def _escaped(text: str) -> str:
    # A lone surrogate would break the page's UTF-8, and with it the whole cell's output.
    return html.escape(text.encode("utf-8", "backslashreplace").decode(), quote=True)
