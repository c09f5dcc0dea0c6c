"""A probe as HTML for a notebook: no script, every text escaped, readable in light and dark themes."""

from __future__ import annotations

import html
from typing import TYPE_CHECKING

from workbench.diagnostics import Finding
from workbench.display_text import counted, shown
from workbench.report.rich import STYLE, rows_table

if TYPE_CHECKING:
    from workbench.probes.result import Probe

__all__ = ["as_html"]

_MOST_FINDINGS, _MOST_TEXTS = 12, 5


def as_html(probe: Probe) -> str:
    """Findings with the texts that prove them, properties, and the table of transformations, folded."""
    head = f"{counted(probe.tries, 'text')} tried on {counted(len(probe.samples), 'row')}: "
    head += f"{counted(len(probe.findings), 'hole')} found" if probe.findings else "no hole found"
    items = "".join(_item(probe, finding) for finding in probe.findings[:_MOST_FINDINGS])
    more = len(probe.findings) - _MOST_FINDINGS
    items += f"<li class='quiet'>and {more:,} more in probe.findings</li>" if more > 0 else ""
    told = "".join(f"<li class='quiet'>{_text(finding.sentence, 600)}</li>" for finding in probe.notes)
    told = (
        f"<details><summary>{len(probe.notes)} worth knowing, true of sound graders too</summary><ul>{told}</ul></details>"
        if told
        else ""
    )
    notes = "".join(f"<p class='warning'>{_text(note, 400)}</p>" for note in probe.run_notes)
    columns = (
        probe.table.drop(columns=["difference"]) if probe.table["difference"].isna().all() else probe.table
    )
    table = f"<details><summary>all transformations</summary>{rows_table(columns, None)}</details>"
    return (
        f"<div class='wb-report'><style>{STYLE}</style><p><b>{_text(probe.grader)}</b> {_text(head)}</p>{notes}"
        f"<ul>{items}</ul>{told}{table}</div>"
    )


def _item(probe: Probe, finding: Finding) -> str:
    badge = f"<span class='badge {finding.severity}'>{finding.severity}</span>"
    sentence = (
        f"{badge} {_text(finding.sentence, 1_000)} <span class='quiet'>{_text(finding.advice, 400)}</span>"
    )
    if not probe.has_texts(finding.kind):
        return f"<li>{sentence}</li>"
    texts = probe.texts(finding.kind).head(_MOST_TEXTS)
    table = rows_table(texts[["sample", "prompt", "reference", "text", "score"]], None)
    return f"<li>{sentence}<details><summary>{len(texts)} of its texts</summary>{table}</details></li>"


def _text(value: object, limit: int = 200) -> str:
    return html.escape(shown(value, limit))
