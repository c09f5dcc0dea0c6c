"""Display of a sandboxed grader in a notebook: its name, its checks, its source."""

from __future__ import annotations

from workbench.core.display import escaped, html_block, markdown_lines, markdown_text, paragraph
from workbench.sandbox.host.validation import Validation
from workbench.sandbox.host.validation_rich import checks_html, checks_markdown

__all__ = ["grader_html", "grader_markdown"]

_NOT_VALIDATED = "not validated yet: call .validate()"


def grader_html(name: str, text: str, validation: Validation | None) -> str:
    """The grader as HTML.

    Args:
        name: Its name.
        text: Its source.
        validation: The result of its checks (a `Validation`); None if they have not run.
    """
    state = paragraph(_NOT_VALIDATED, "quiet") if validation is None else checks_html(validation)
    source = f"<pre>{escaped(text, len(text))}</pre>"
    kind = "" if validation is None else "wb-checks"
    return html_block(f"<p class='lead mono'><strong>{escaped(name)}</strong></p>{state}{source}", kind)


def grader_markdown(name: str, text: str, validation: Validation | None) -> str:
    """The grader as Markdown; the source is indented, so that no fence in it ends it."""
    state = _NOT_VALIDATED if validation is None else checks_markdown(validation).strip()
    source = "\n".join(f"    {line}" for line in text.splitlines())
    return markdown_lines([f"**{markdown_text(name)}**", state, source])
