"""A probe as HTML for a notebook: no script, every text escaped, readable in light and dark themes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import pandas as pd

from workbench.diagnostics import Finding
from workbench.report.rich import STYLE, escaped, rows_table

__all__ = ["as_html"]

_MOST_FINDINGS, _MOST_TEXTS = 12, 5
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
    """Findings with the texts that prove them, properties, and the table of transformations, folded.

    Args:
        head: What was tried, in a sentence.
        findings: Proven holes.
        more: Further findings to fold away, by their heading.
        table: `Probe.table`.
        texts: The texts behind a finding, empty where there are none.
        run_notes: Sentences about the run.
    """
    items = [_item(finding, texts(finding)) for finding in findings[:_MOST_FINDINGS]]
    if len(findings) > _MOST_FINDINGS:
        items.append(f"<li class='quiet'>and {len(findings) - _MOST_FINDINGS:,} more in probe.findings</li>")
    warnings = "".join(f"<p class='warning'>{escaped(note, 400)}</p>" for note in run_notes)
    told = "".join(
        _folded(f"{len(some):,} {heading}", _quiet(some)) for heading, some in more.items() if some
    )
    return (
        f"<div class='wb-report'><style>{STYLE}</style><p><b>{escaped(head, 400)}</b></p>{warnings}"
        f"<ul>{''.join(items)}</ul>{told}{_folded('all transformations', rows_table(table, None))}</div>"
    )


def _item(finding: Finding, texts: pd.DataFrame) -> str:
    badge = f"<span class='badge {finding.severity}'>{finding.severity}</span>"
    sentence = f"{badge} {escaped(finding.sentence, 1_000)} <span class='quiet'>{escaped(finding.advice, 400)}</span>"
    if not len(texts):
        return f"<li>{sentence}</li>"
    few = texts[_COLUMNS].head(_MOST_TEXTS)
    return f"<li>{sentence}{_folded(f'{len(few)} of its {len(texts):,} texts', rows_table(few, None))}</li>"


def _quiet(findings: Sequence[Finding]) -> str:
    lines = (f"<li class='quiet'>{escaped(finding.sentence, 600)}</li>" for finding in findings)
    return f"<ul>{''.join(lines)}</ul>"


def _folded(summary: str, inner: str) -> str:
    return f"<details><summary>{escaped(summary)}</summary>{inner}</details>"
