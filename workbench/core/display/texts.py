"""Any value as text without markup in HTML or Markdown."""

from __future__ import annotations

import html
import re
from typing import Any

from workbench.core.display_text import one_line, shown

__all__ = ["escaped", "markdown_cell", "markdown_text"]

_MARKUP = re.compile(r"([\\`*_{}\[\]#|!~$@])")
# GitHub also makes links of bare addresses.
_ADDRESS = re.compile(r"(:(?=//)|(?<=www)\.)", re.IGNORECASE)
# At the start of a line these make a list, a rule or a heading.
_FIRST = re.compile(r"^(\d{0,9})([-+=.)])(?=[-=\s]|$)")


def escaped(value: Any, limit: int = 200) -> str:
    """A value as HTML: hidden characters visible, limited length, no markup."""
    return html.escape(shown(value, limit))


def markdown_text(value: Any, limit: int = 200) -> str:
    """A value as one line of Markdown that produces no emphasis, link, picture, table cell, formula or HTML.

    Args:
        value: Anything; None is empty.
        limit: Maximum characters, before escaping.
    """
    return _FIRST.sub(r"\1\\\2", markdown_cell(value, limit))


def markdown_cell(value: Any, limit: int = 200) -> str:
    """The same for a table cell or the middle of a line, where a dash starts no list."""
    # As entities, which every Markdown renderer supports; not all support a backslash before these.
    plain = html.escape(one_line(value, limit).strip(), quote=False)
    return _ADDRESS.sub(r"\\\1", _MARKUP.sub(r"\\\1", plain))
