"""A report as HTML for a notebook: no script, every text escaped, readable in light and dark themes.

Its size does not depend on the number of rows: histograms are counts, a finding shows five rows.
"""

from __future__ import annotations

import html
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import pandas as pd

from workbench.diagnostics import Finding
from workbench.diagnostics.finding import joint_line
from workbench.display_text import shown
from workbench.report.bins import Histogram
from workbench.report.terminal import DEAD, dead_cells, interval_text, isolation_line, number

__all__ = ["STYLE", "as_html", "bars", "escaped", "rows_table"]

MAX_FINDINGS = 12
MAX_ROWS = 5

# The class stands twice: JupyterLab right-aligns cells by a rule as strong as one class.
STYLE = """
.wb-report{color:var(--jp-ui-font-color1,var(--vscode-foreground,inherit));font-size:13px;line-height:1.45;max-width:70em}
.wb-report table{border-collapse:collapse;font-size:inherit;margin:.4em 0}
.wb-report.wb-report th,.wb-report.wb-report td{text-align:left;vertical-align:top;padding:3px 10px 3px 0;border-bottom:1px solid rgba(128,128,128,.3);background:none}
.wb-report.wb-report td.num,.wb-report.wb-report th.num{text-align:right;font-variant-numeric:tabular-nums}
.wb-report td.text{white-space:pre-wrap;overflow-wrap:anywhere;max-width:28em}
.wb-report svg{display:block;color:var(--jp-brand-color1,var(--vscode-charts-blue,#5b8def))}
.wb-report .follows{margin-left:2em}
.wb-report .badge{display:inline-block;min-width:5em;text-align:center;border-radius:3px;padding:0 .4em;border:1px solid currentColor;font-size:11px}
.wb-report .error{color:var(--jp-error-color1,var(--vscode-errorForeground,#d2483f))}
.wb-report .warning{color:#b26a00}
.wb-report .note{color:var(--jp-ui-font-color2,#808080)}
.wb-report .quiet{color:var(--jp-ui-font-color2,#808080)}
div.wb-report.wb-report.wb-report ul{list-style:none;padding-left:0;margin:.4em 0}
.wb-report li{margin:.5em 0}
.wb-report summary{cursor:pointer}
""".strip()


def as_html(
    summary: pd.DataFrame,
    bins: Mapping[str, Histogram],
    findings: Sequence[Finding],
    evidence: Callable[[Finding, int], pd.DataFrame],
    *,
    gate: str = "",
    facts: Sequence[str] = (),
    notes: Sequence[str] = (),
) -> str:
    """The notebook view.

    Args:
        summary: `Report.summary`.
        bins: Histogram by grader.
        findings: `Report.findings`.
        evidence: Function from a finding and a limit to at most so many of its rows, as from `Report.rows`.
        gate: The result of the suite's gate; "" without one.
        facts: Sentences about the run, shown a line each: noise, spending.
        notes: Sentences about the dataset, shown a line each.
    """
    more = len(findings) - MAX_FINDINGS
    items = [_finding(finding, evidence) for finding in findings[:MAX_FINDINGS]]
    items += [f"<li class='quiet'>and {more:,} more in report.findings</li>"] if more > 0 else []
    joint = joint_line(findings)
    items += [f"<li class='quiet'>{escaped(joint, 400)}</li>"] if joint else []
    findings_html = f"<ul>{''.join(items)}</ul>" if items else "<p>no findings</p>"
    isolation = escaped(isolation_line(summary))
    facts_html = "".join(f"<p>{escaped(fact)}</p>" for fact in facts)
    notes_html = "".join(f"<p class='warning'>{escaped(note)}</p>" for note in notes)
    return (
        f"<div class='wb-report'><style>{STYLE}</style>{_table(summary, bins)}{notes_html}{findings_html}"
        f"{f'<p><b>{escaped(gate)}</b></p>' if gate else ''}"
        f"{facts_html}<p class='quiet'>{isolation}</p></div>"
    )


def _table(summary: pd.DataFrame, bins: Mapping[str, Histogram]) -> str:
    dead = dead_cells(summary)
    names = ("scored", "failed", "skipped", "mean", "95 % interval", "sd", *([DEAD] if dead else []))
    head = "<th>grader</th><th>scores</th>" + "".join(f"<th class='num'>{name}</th>" for name in names)
    body = "".join(
        _summary_row(str(name), row, bins[str(name)], dead[at : at + 1])
        for at, (name, row) in enumerate(summary.iterrows())
    )
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _summary_row(name: str, row: pd.Series[Any], histogram: Histogram, dead: list[str]) -> str:
    interval = interval_text(row["mean_lo"], row["mean_hi"])
    counts = [f"{row[column]:,}" for column in ("scored", "failed", "skipped")]
    cells = [*counts, number(row["mean"]), interval, number(row["sd"]), *dead]
    numbers = "".join(f"<td class='num'>{cell}</td>" for cell in cells)
    return f"<tr><td>{escaped(name)}</td><td>{bars(histogram)}</td>{numbers}</tr>"


def bars(histogram: Histogram, *, width: int = 200, height: int = 36) -> str:
    """A histogram as a small inline SVG: 20 bars, the count of each as its tooltip."""
    most, step = max(int(histogram.counts.max()), 1), width / len(histogram.counts)
    rects = "".join(
        _bar(at, int(count), histogram, (step, height * int(count) / most, height))
        for at, count in enumerate(histogram.counts)
        if count
    )
    label = f"{histogram.scored:,} scores from {histogram.edges[0]:g} to {histogram.edges[-1]:g}"
    return (
        f"<svg role='img' aria-label='{label}' width='{width}' height='{height + 1}' "
        f"viewBox='0 0 {width} {height + 1}'><line x1='0' x2='{width}' y1='{height + 0.5}' y2='{height + 0.5}' "
        f"stroke='currentColor' stroke-opacity='.4'/>{rects}</svg>"
    )


def _bar(at: int, count: int, histogram: Histogram, size: tuple[float, float, int]) -> str:
    step, tall, height = size
    title = f"{histogram.edges[at]:.3g} to {histogram.edges[at + 1]:.3g}: {count:,}"
    # A bin with one row in a million still shows as a line.
    tall = max(tall, 1.0)
    return (
        f"<rect x='{at * step + 0.5:.1f}' y='{height - tall:.1f}' width='{step - 1:.1f}' height='{tall:.1f}' "
        f"fill='currentColor'><title>{title}</title></rect>"
    )


def _finding(finding: Finding, evidence: Callable[[Finding, int], pd.DataFrame]) -> str:
    badge = f"<span class='badge {finding.severity}'>{finding.severity}</span>"
    sentence = (
        f"{badge} {escaped(str(finding), 1_000)} <span class='quiet'>{escaped(finding.advice, 400)}</span>"
    )
    item = "<li class='follows'>" if finding.cause else "<li>"
    if not finding.rows:
        return f"{item}{sentence}</li>"
    count = min(MAX_ROWS, len(finding.rows))
    rows = f"<details><summary>{count} of its rows</summary>{rows_table(evidence(finding, count))}</details>"
    return f"{item}{sentence}{rows}</li>"


def rows_table(frame: pd.DataFrame, scores: Sequence[str] | None = ("score",)) -> str:
    """Rows of `Report.rows` or of a comparison as a table of text.

    Args:
        frame: The rows.
        scores: Names of its score columns, shown with the texts where they hold anything; None for every
            column of the frame as it is.
    """
    names = ("sample", "prompt", "completion", "reference", *(scores or ()), "reasoning", "error")
    columns = [name for name in names if name in frame and frame[name].notna().any()]
    columns = columns if scores is not None else [name for name in frame if isinstance(name, str)]
    head = "".join(f"<th>{escaped(name)}</th>" for name in columns)
    body = "".join(f"<tr>{_text_cells(row[columns])}</tr>" for _, row in frame.iterrows())
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _text_cells(values: Iterable[Any]) -> str:
    return "".join(f"<td class='text'>{escaped(_cell_value(value), 300)}</td>" for value in values)


def _cell_value(value: Any) -> Any:
    if isinstance(value, float):
        return number(value)
    return value


def escaped(value: Any, limit: int = 200) -> str:
    """A value as HTML: hidden characters visible, at most so many characters, nothing of it markup."""
    return html.escape(shown(value, limit))
