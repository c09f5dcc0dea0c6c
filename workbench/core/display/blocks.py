"""Building blocks of displayed objects."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Protocol

from workbench.core.display.style import STYLE
from workbench.core.display.texts import escaped

__all__ = ["bundle", "folded", "html_block", "markdown_lines", "paragraph"]


class _Shown(Protocol):
    def _repr_html_(self) -> str: ...

    def _repr_markdown_(self) -> str: ...


def bundle(shown: _Shown) -> dict[str, str]:
    """An object with a text for a terminal, HTML for a notebook, and Markdown for an editor and a chat."""
    return {
        "text/plain": str(shown),
        "text/html": shown._repr_html_(),
        "text/markdown": shown._repr_markdown_(),
    }


def html_block(inner: str, kind: str = "", *, label: str = "") -> str:
    """One displayed object with its style.

    Args:
        inner: Its HTML.
        kind: An additional class, by which a page can find it.
        label: Its accessible name.
    """
    group = f" role='group' aria-label='{escaped(label)}'" if label else ""
    return f"<div class='wb-cell {kind}'{group}><style>{STYLE}</style>{inner}</div>"


def paragraph(text: Any, kind: str = "", *, limit: int = 1_300) -> str:
    """A text as a paragraph; "" for no text."""
    named = f" class='{kind}'" if kind else ""
    return f"<p{named}>{escaped(text, limit)}</p>" if text else ""


def folded(summary: str, inner: str) -> str:
    """HTML that one line unfolds."""
    return f"<details><summary>{escaped(summary)}</summary>{inner}</details>"


def markdown_lines(parts: Iterable[str]) -> str:
    """Paragraphs, lists and tables of Markdown, separated by blank lines; empty ones are omitted."""
    return "\n\n".join(filter(None, parts)) + "\n"
