"""The five checks for a notebook: one quiet line, followed by the first failure and how to fix it.

A `validation` is a `Validation`, which imports this module to display itself and so is not imported here.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from workbench.core.display import escaped, folded, html_table, markdown_lines, markdown_text, paragraph, sign

__all__ = ["checks_html", "checks_markdown"]

_MAX_CHARACTERS = 2_000
"""Maximum characters of a message."""
_COLOURS = {"✓": "good", "✗": "bad", "-": "note"}


def checks_html(validation: Any) -> str:
    """The checks as HTML."""
    failure = "" if validation.failure is None else _failure(validation.failure, validation.advice)
    warnings = (
        f"<p>{sign('note')}{escaped(warning, _MAX_CHARACTERS)}</p>" for warning in validation.warnings
    )
    output = (
        folded("printed output", f"<pre>{escaped(validation.output, _MAX_CHARACTERS)}</pre>")
        if validation.output
        else ""
    )
    return f"{_line(validation)}{failure}{''.join(warnings)}{_details(validation)}{output}{paragraph(validation.where, 'quiet')}"


def _line(validation: Any) -> str:
    checks = (
        f"<span class='check'><span class='{_COLOURS[mark]}'>{mark}</span> {escaped(_words(name))}{times}</span> "
        for mark, name, times in _marks(validation)
    )
    return f"<p class='checks'>{''.join(checks)}</p>"


def _marks(validation: Any) -> list[tuple[str, str, str]]:
    """Sign, name and number of runs of each check; several test runs are merged."""
    names = Counter(check.name for check in validation.checks)
    failed = {check.name for check in validation.checks if not check.passed}
    marks = [
        ("✗" if name in failed else "✓", name, f" ({count})" if count > 1 else "")
        for name, count in names.items()
    ]
    return [*marks, *(("-", name, "") for name in validation.not_reached)]


def _words(name: str) -> str:
    return name.replace("_", " ")


def _failure(check: Any, advice: str) -> str:
    name = escaped(_words(check.name).capitalize())
    lead = f"<p class='lead text'>{sign('bad')}<strong>{name}:</strong> {escaped(check.message, _MAX_CHARACTERS)}</p>"
    return f"<div class='finding'>{lead}{paragraph(f'→ {advice}')}</div>"


def _details(validation: Any) -> str:
    rows = [(check.name, check.message, f"{1_000 * check.seconds:.1f} ms") for check in validation.checks]
    table = html_table(["check", "found", "time"], rows, numbers={2}, limit=_MAX_CHARACTERS)
    return folded("check results", table) if rows else ""


def checks_markdown(validation: Any) -> str:
    """The checks as Markdown."""
    marks = " · ".join(
        f"{mark} {markdown_text(_words(name))}{times}" for mark, name, times in _marks(validation)
    )
    failure = validation.failure
    return markdown_lines(
        [
            marks,
            "" if failure is None else _failure_markdown(failure, validation.advice),
            "\n".join(f"- {markdown_text(warning, _MAX_CHARACTERS)}" for warning in validation.warnings),
            f"Printed: {markdown_text(validation.output, 500)}" if validation.output else "",
            markdown_text(validation.where, 400),
        ]
    )


def _failure_markdown(check: Any, advice: str) -> str:
    name = markdown_text(_words(check.name).capitalize())
    return f"**{name}: {markdown_text(check.message, _MAX_CHARACTERS)}**\n\n→ {markdown_text(advice, 600)}"
