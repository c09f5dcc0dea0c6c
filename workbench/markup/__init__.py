"""How objects are displayed in a notebook, as HTML and as Markdown: one style, every text escaped, no script, no request."""

from workbench.markup.blocks import bundle, folded, html_block, markdown_lines, paragraph
from workbench.markup.drawings import bar, legend, sign, strip
from workbench.markup.style import STYLE
from workbench.markup.tables import html_table, markdown_table
from workbench.markup.texts import escaped, markdown_text

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
