"""A probe for a notebook, as HTML and as Markdown: the findings first, with the texts that show them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import pandas as pd

from workbench.analysis.diagnostics import Finding
from workbench.analysis.diagnostics.verdicts import shape_of
from workbench.core.display import escaped, folded, html_block, markdown_lines, markdown_text, paragraph, sign
from workbench.report.rows_table import rows_markdown, rows_table

__all__ = ["as_html", "as_markdown"]

_MAX_FINDINGS, _MAX_TEXTS = 12, 5
_COLUMNS = ["sample", "prompt", "reference", "text", "score"]


def as_html(
    head: str,
    findings: Sequence[Finding],
    more: Mapping[str, Sequence[Finding]],
    table: pd.DataFrame,
    texts: Callable[[Finding], pd.DataFrame],
    *,
    run_notes: Sequence[str] = (),
) -> str:
    """Findings with the texts that show them, properties, and the table of transformations, folded.

    Args:
        head: The number of graded texts, in a sentence.
        findings: Confirmed holes.
        more: Further findings to fold away, by their heading.
        table: `Probe.table`.
        texts: The texts of a finding, empty if there are none.
        run_notes: Sentences about the run.
    """
    parts = [
        f"<p class='lead'><strong>{escaped(head, 400)}</strong></p>",
        *(paragraph(note, "failed", limit=400) for note in run_notes),
        *(
            _item(finding, texts(finding), leads=at == 0)
            for at, finding in enumerate(findings[:_MAX_FINDINGS])
        ),
        paragraph(_rest(findings), "quiet"),
        *(folded(f"{len(some):,} {heading}", _quiet(some)) for heading, some in more.items() if some),
        folded("all transformations", rows_table(table, None)),
    ]
    return html_block("".join(parts), "wb-report", label="Probe")


def _item(finding: Finding, texts: pd.DataFrame, *, leads: bool) -> str:
    kind = " class='lead'" if leads else ""
    sentence = f"<p{kind}>{sign(shape_of(finding))}{escaped(finding.sentence, 1_000)}</p>"
    few = texts[_COLUMNS].head(_MAX_TEXTS) if len(texts) else texts
    validation = (
        folded(f"{len(few)} of its {len(texts):,} texts", rows_table(few, None)) if len(texts) else ""
    )
    return f"<div class='finding'>{sentence}{paragraph(finding.advice, 'quiet', limit=400)}{validation}</div>"


def _rest(findings: Sequence[Finding]) -> str:
    """How many findings are not shown; "" for none."""
    more = len(findings) - _MAX_FINDINGS
    return f"and {more:,} more in probe.findings" if more > 0 else ""


def _quiet(findings: Sequence[Finding]) -> str:
    lines = (f"<li class='quiet'>{escaped(finding.sentence, 600)}</li>" for finding in findings)
    return f"<ul>{''.join(lines)}</ul>"


def as_markdown(
    head: str, findings: Sequence[Finding], table: pd.DataFrame, *, run_notes: Sequence[str] = ()
) -> str:
    """The number of graded texts, the holes, and the table of transformations; see `as_html`."""
    shown = findings[:_MAX_FINDINGS]
    items = [f"- {markdown_text(f'{one.sentence} {one.advice}', 1_400)}" for one in shown]
    items += [f"- {_rest(findings)}"] if _rest(findings) else []
    notes = (markdown_text(note, 400) for note in run_notes)
    return markdown_lines(
        [f"**{markdown_text(head, 400)}**", *notes, "\n".join(items), rows_markdown(table, None)]
    )
