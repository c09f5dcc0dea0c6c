"""The five checks for a notebook: one quiet line, followed by the first failure and how to fix it.

A `proof` is a `Validation`, which imports this module to display itself and so is not imported here.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from workbench.core.display import escaped, folded, html_table, markdown_lines, markdown_text, paragraph, sign

__all__ = ["checks_html", "checks_markdown"]

_MOST = 2_000
"""Maximum characters of a message."""
_COLOURS = {"✓": "good", "✗": "bad", "-": "note"}


def checks_html(proof: Any) -> str:
    """The checks as HTML."""
    failure = "" if proof.failure is None else _failure(proof.failure, proof.advice)
    warnings = (f"<p>{sign('note')}{escaped(warning, _MOST)}</p>" for warning in proof.warnings)
    output = folded("printed output", f"<pre>{escaped(proof.output, _MOST)}</pre>") if proof.output else ""
    return f"{_line(proof)}{failure}{''.join(warnings)}{_details(proof)}{output}{paragraph(proof.where, 'quiet')}"


def _line(proof: Any) -> str:
    checks = (
        f"<span class='check'><span class='{_COLOURS[mark]}'>{mark}</span> {escaped(_words(name))}{times}</span> "
        for mark, name, times in _marks(proof)
    )
    return f"<p class='checks'>{''.join(checks)}</p>"


def _marks(proof: Any) -> list[tuple[str, str, str]]:
    """Sign, name and number of runs of each check; several test runs are merged."""
    names = Counter(check.name for check in proof.checks)
    failed = {check.name for check in proof.checks if not check.passed}
    marks = [
        ("✗" if name in failed else "✓", name, f" ({count})" if count > 1 else "")
        for name, count in names.items()
    ]
    return [*marks, *(("-", name, "") for name in proof.not_reached)]


def _words(name: str) -> str:
    return name.replace("_", " ")


def _failure(check: Any, advice: str) -> str:
    name = escaped(_words(check.name).capitalize())
    lead = f"<p class='lead text'>{sign('bad')}<strong>{name}:</strong> {escaped(check.message, _MOST)}</p>"
    return f"<div class='finding'>{lead}{paragraph(f'→ {advice}')}</div>"


def _details(proof: Any) -> str:
    rows = [(check.name, check.message, f"{1_000 * check.seconds:.1f} ms") for check in proof.checks]
    table = html_table(["check", "found", "time"], rows, numbers={2}, limit=_MOST)
    return folded("check results", table) if rows else ""


def checks_markdown(proof: Any) -> str:
    """The checks as Markdown."""
    marks = " · ".join(f"{mark} {markdown_text(_words(name))}{times}" for mark, name, times in _marks(proof))
    failure = proof.failure
    return markdown_lines(
        [
            marks,
            "" if failure is None else _failure_markdown(failure, proof.advice),
            "\n".join(f"- {markdown_text(warning, _MOST)}" for warning in proof.warnings),
            f"Printed: {markdown_text(proof.output, 500)}" if proof.output else "",
            markdown_text(proof.where, 400),
        ]
    )


def _failure_markdown(check: Any, advice: str) -> str:
    name = markdown_text(_words(check.name).capitalize())
    return f"**{name}: {markdown_text(check.message, _MOST)}**\n\n→ {markdown_text(advice, 600)}"
