"""A report, its findings and its histograms as HTML for a notebook and as Markdown: verdicts first, the table last.

No script, every text escaped, readable in light and dark. Its size does not depend on the number of rows:
histograms are counts, a finding shows at most a few of its rows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from workbench.analysis.diagnostics import Finding
from workbench.analysis.diagnostics.finding import joint_line, leading
from workbench.core.display import (
    bar,
    escaped,
    folded,
    html_block,
    legend,
    markdown_lines,
    markdown_table,
    markdown_text,
    paragraph,
    sign,
    strip,
)
from workbench.core.display_text import counted, one_line
from workbench.report.bins import Histogram, bin_counts
from workbench.report.cases import label_codes
from workbench.report.finding_text import GraderLine, finding_data, grader_lines
from workbench.report.frames import rows_table
from workbench.report.terminal import (
    ZERO_VARIANCE,
    interval_text,
    isolation_line,
    number,
    zero_variance_cells,
)

_KINDS = {1: ("good", "known good"), 0: ("bad", "known bad"), -1: ("", "unlabelled")}
"""Code of a label to the class of its colour, and its text."""


def histogram_html(report: Any, name: str, *, width: int = 120, height: int = 24) -> str:
    """The scores of one grader of a report as inline SVG; the counts of each bar are its tooltip.

    Args:
        report: The report.
        name: The grader.
        width: In pixels.
        height: Of the tallest bar, in pixels.
    """
    histogram = report.histograms[name]
    return bars_html(histogram, _by_label(report, name, histogram), width=width, height=height)


def bars_html(
    histogram: Histogram, kinds: Mapping[int, NDArray[np.int64]], *, width: int = 120, height: int = 24
) -> str:
    """A histogram as inline SVG.

    Args:
        histogram: Of one grader's scores.
        kinds: Rows of each bar by label: 1 good, 0 bad, -1 none, (20,) each.
        width: In pixels.
        height: Of the tallest bar, in pixels.
    """
    most, step = max(int(histogram.counts.max()), 1), width / len(histogram.counts)
    drawn = "".join(
        _bar(at, histogram, kinds, (step, height / most, height))
        for at, count in enumerate(histogram.counts)
        if count
    )
    label = f"{histogram.scored:,} scores from {histogram.edges[0]:g} to {histogram.edges[-1]:g}"
    return (
        f"<svg class='histogram' role='img' aria-label='{label}' width='{width}' height='{height + 1}' "
        f"viewBox='0 0 {width} {height + 1}'><line x1='0' x2='{width}' y1='{height + 0.5}' y2='{height + 0.5}' "
        f"stroke='currentColor' stroke-opacity='.4'/>{drawn}</svg>"
    )


def _by_label(report: Any, name: str, histogram: Histogram) -> dict[int, NDArray[np.int64]]:
    """Rows of each bar by label, without labels that no row has."""
    grades, labels = report.grades[name], label_codes(report)
    scored = grades.codes == 1
    if not (labels >= 0).any():
        return {-1: histogram.counts}
    counts = {code: bin_counts(grades.scores[scored & (labels == code)], histogram.edges) for code in _KINDS}
    return {code: numbers for code, numbers in counts.items() if numbers.any()}


def _bar(
    at: int,
    histogram: Histogram,
    kinds: Mapping[int, NDArray[np.int64]],
    size: tuple[float, float, int],
) -> str:
    step, scale, height = size
    words = ", ".join(
        f"{int(counts[at]):,} {_KINDS[code][1]}" for code, counts in kinds.items() if counts[at]
    )
    is_labelled = set(kinds) != {-1}
    said = words if is_labelled else f"{int(histogram.counts[at]):,}"
    title = f"{histogram.edges[at]:.3g} to {histogram.edges[at + 1]:.3g}: {said}"
    drawn, bottom = [], float(height)
    for code, counts in kinds.items():
        if counts[at]:
            # One row in a million is still visible as a line.
            tall = max(int(counts[at]) * scale, 1.0)
            bottom -= tall
            drawn.append(
                f"<rect class='{_KINDS[code][0]}' x='{at * step + 0.5:.1f}' y='{bottom:.1f}' width='{step - 1:.1f}' "
                f"height='{tall:.1f}' fill='currentColor'><title>{title}</title></rect>"
            )
    return "".join(drawn)


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
    zero_variance = zero_variance_cells(summary)
    names = (
        "scored",
        "failed",
        "skipped",
        "mean",
        "95 % interval",
        "sd",
        *([ZERO_VARIANCE] if zero_variance else []),
    )
    head = "<th>grader</th><th>scores</th>" + "".join(f"<th class='num'>{name}</th>" for name in names)
    body = "".join(
        _summary_row(str(name), row, drawings[str(name)], zero_variance[at : at + 1])
        for at, (name, row) in enumerate(summary.iterrows())
    )
    return f"<div class='scroll'><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>"


def _summary_row(name: str, row: pd.Series[Any], drawing: str, zero_variance: list[str]) -> str:
    interval = interval_text(row["mean_lo"], row["mean_hi"])
    counts = [f"{row[column]:,}" for column in ("scored", "failed", "skipped")]
    cells = [*counts, number(row["mean"]), interval, number(row["sd"]), *zero_variance]
    numbers = "".join(f"<td class='num'>{cell}</td>" for cell in cells)
    return f"<tr><td class='mono'>{escaped(name)}</td><td>{drawing}</td>{numbers}</tr>"


_HEADS = ("grader", "verdict", "mean", "95 % interval", "accepted", "rejected", "failed", "skipped")


def as_markdown(report: Any) -> str:
    """The report's sentences and one table."""
    lines = grader_lines(report)
    table = markdown_table(_HEADS, map(_cells, lines), numbers=range(2, len(_HEADS)))
    return markdown_lines(
        [
            findings_markdown(report),
            f"**{markdown_text(report.gate, 1_300)}**" if report.gate is not None else "",
            f"{counted(len(lines), 'grader')} on {counted(len(report), 'row')}:",
            table if lines else "",
            *(markdown_text(note, 600) for note in (*report.samples.notes, *report.facts)),
            markdown_text(isolation_line(report.summary), 600),
        ]
    )


def findings_markdown(report: Any) -> str:
    """The findings, the most severe first."""
    findings = ordered(report.findings)
    if not findings:
        return "**No findings.**"
    first, *others = findings[:_MAX_FINDINGS]
    more = len(findings) - _MAX_FINDINGS
    items = [f"- {_sentence(one)}" for one in others]
    items += [f"- and {more:,} more in report.findings"] if more > 0 else []
    lead = f"**{_sentence(first)}** {_advice(first)}".strip()
    return "\n\n".join(filter(None, [lead, "\n".join(items)]))


def _sentence(finding: Finding) -> str:
    return markdown_text(finding, 1_300)


def _advice(finding: Finding) -> str:
    text = finding.advice
    return markdown_text(f"{text[:1].upper()}{text[1:]}.", 400) if text else ""


def _cells(line: GraderLine) -> list[str]:
    counts = line.counts
    done = [
        sum(counts[part] for part in counts if part.endswith(verdict)) for verdict in ("accepted", "refused")
    ]
    numbers = [f"{count:,}" for count in (*done, counts["failed"], counts["skipped"])]
    return [line.name, line.words, line.mean_text, line.interval_text, *numbers]
