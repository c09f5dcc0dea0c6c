"""A report as HTML for a notebook: verdicts first, then the findings, most severe first, and the table.

No script, every text escaped, readable in light and dark. Its size does not depend on the number of rows:
histograms are counts, a finding shows at most a few of its rows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from workbench.analysis.diagnostics import Finding
from workbench.analysis.diagnostics.finding import joint_line
from workbench.analysis.diagnostics.verdicts import leading
from workbench.core.display import bar, escaped, folded, html_block, legend, paragraph, sign, strip
from workbench.core.display_text import one_line
from workbench.report.finding_parts import finding_data
from workbench.report.grader_lines import GraderLine, grader_lines
from workbench.report.histogram_html import histogram_html
from workbench.report.rows_table import rows_table
from workbench.report.terminal import (
    ZERO_VARIANCE,
    interval_text,
    isolation_line,
    number,
    zero_variance_cells,
)

__all__ = ["as_html", "finding_html", "findings_html", "lines_html", "ordered", "table_html"]

_IN_SIGHT = 5
_MAX_FINDINGS = 12
_MAX_ROWS, _MAX_ROWS_OF_OTHERS = 5, 3


def as_html(report: Any) -> str:
    """The notebook view of a report."""
    gate = (
        "" if report.gate is None else f"<p class='lead'><strong>{escaped(report.gate, 1_300)}</strong></p>"
    )
    parts = [
        lines_html(grader_lines(report)),
        gate,
        findings_html(report),
        table_html(report.summary, {name: histogram_html(report, name) for name in report.graders}),
        *(paragraph(note, "failed", limit=600) for note in report.samples.notes),
        *(paragraph(fact) for fact in report.facts),
        paragraph(joint_line(report.findings), "quiet"),
        paragraph(isolation_line(report.summary), "quiet"),
    ]
    return html_block("".join(parts), "wb-report", label="Report")


# ---- the graders, a line each


def lines_html(lines: Sequence[GraderLine]) -> str:
    """The line of every grader, with the legend of the bars."""
    body = "".join(map(_line, lines))
    return f"<table class='lines'><tbody>{body}</tbody></table>{legend([one.counts for one in lines])}"


def _line(line: GraderLine) -> str:
    interval = f" <span class='quiet'>{line.interval_text}</span>" if line.interval_text else ""
    return (
        f"<tr><td class='mono'>{escaped(one_line(line.name, 60), 90)}</td><td>{bar(line.counts)}</td>"
        f"<td title='{escaped(line.tip, 400)}'>{sign(line.shape)}{escaped(line.words)}</td>"
        f"<td class='num'><strong>{line.mean_text}</strong>{interval}</td></tr>"
    )


# ---- the findings


def ordered(findings: Sequence[Finding]) -> list[Finding]:
    """The most severe first, the others in their order."""
    first = leading(findings)
    return [] if first is None else [first, *(one for one in findings if one is not first)]


def findings_html(report: Any) -> str:
    """The findings, the most severe first, each with some of its rows."""
    findings = ordered(report.findings)
    items = [_finding(report, one, leads=at == 0) for at, one in enumerate(findings[:_MAX_FINDINGS])]
    more = len(findings) - _MAX_FINDINGS
    items += [paragraph(f"and {more:,} more in report.findings", "quiet")] if more > 0 else []
    hidden = len(findings) - _IN_SIGHT
    if hidden > 1:
        items[_IN_SIGHT:] = [folded(f"{hidden:,} more findings", "".join(items[_IN_SIGHT:]))]
    return "".join(items) or "<p>no findings</p>"


def _finding(report: Any, finding: Finding, *, leads: bool) -> str:
    count = min(_MAX_ROWS if leads else _MAX_ROWS_OF_OTHERS, len(finding.rows))
    if not count:
        return finding_html(finding, leads=leads)
    rows = rows_table(report.rows(where=finding, limit=count))
    return finding_html(finding, leads=leads, evidence=folded(f"{count} of its rows", rows))


def finding_html(finding: Finding, *, leads: bool = False, evidence: str = "") -> str:
    """A finding as a sentence; the interval of the first one is drawn.

    Args:
        finding: The finding.
        leads: Whether it is the first, which is larger than the others.
        evidence: HTML below it: its rows.
    """
    data = finding_data(finding)
    name = f"<span class='mono'>{escaped(one_line(finding.grader, 60), 90)}</span> "
    told = (
        f"{escaped(data['before'], 900)}<strong>{escaped(data['link'])}</strong>{escaped(data['after'], 900)}"
    )
    lead = f"<p{_kind('lead' if leads else '')}>{sign(data['shape'])}{name}<strong>{escaped(data['lead'])}:</strong> "
    drawn = strip(data["strip"]) if leads and data["strip"] else _interval(data["strip"])
    advice = paragraph(data["advice"], "" if leads else "quiet", limit=900)
    kind = "finding follows" if finding.cause and not leads else "finding"
    return f"<div class='{kind}'>{lead}{told}{'' if leads else drawn}</p>{drawn if leads else ''}{advice}{evidence}</div>"


def _kind(name: str) -> str:
    return f" class='{name}'" if name else ""


def _interval(data: dict[str, Any] | None) -> str:
    if data is None:
        return ""
    return f" <span class='quiet'>{escaped(data['value_text'])}, 95 % interval {escaped(data['interval_text'])}</span>"


# ---- the table


def table_html(summary: pd.DataFrame, drawings: Mapping[str, str]) -> str:
    """The numbers of every grader.

    Args:
        summary: As `Report.summary`.
        drawings: The histogram of each grader's scores, by its name.
    """
    dead = zero_variance_cells(summary)
    names = ("scored", "failed", "skipped", "mean", "95 % interval", "sd", *([ZERO_VARIANCE] if dead else []))
    head = "<th>grader</th><th>scores</th>" + "".join(f"<th class='num'>{name}</th>" for name in names)
    body = "".join(
        _summary_row(str(name), row, drawings[str(name)], dead[at : at + 1])
        for at, (name, row) in enumerate(summary.iterrows())
    )
    return f"<div class='scroll'><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>"


def _summary_row(name: str, row: pd.Series[Any], drawing: str, dead: list[str]) -> str:
    interval = interval_text(row["mean_lo"], row["mean_hi"])
    counts = [f"{row[column]:,}" for column in ("scored", "failed", "skipped")]
    cells = [*counts, number(row["mean"]), interval, number(row["sd"]), *dead]
    numbers = "".join(f"<td class='num'>{cell}</td>" for cell in cells)
    return f"<tr><td class='mono'>{escaped(name)}</td><td>{drawing}</td>{numbers}</tr>"
