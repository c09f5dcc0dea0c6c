"""How objects are displayed in a notebook, as HTML and as Markdown: one style, every text escaped, no script, no request."""

from workbench.core.display.blocks import bundle, folded, html_block, markdown_lines, paragraph
from workbench.core.display.drawings import bar, legend, sign, strip
from workbench.core.display.style import STYLE
from workbench.core.display.tables import html_table, markdown_table
from workbench.core.display.texts import escaped, markdown_text

__all__ = [
    "STYLE",
    "bar",
    "bundle",
    "escaped",
    "folded",
    "html_block",
    "html_table",
    "legend",
    "markdown_lines",
    "markdown_table",
    "markdown_text",
    "paragraph",
    "sign",
    "strip",
]
