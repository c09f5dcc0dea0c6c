"""The distribution of scores, one row a grader, with its findings written on it."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from workbench.display_text import shown
from workbench.plots.look import COLOURS, LINE, QUIET, bare_layout, chosen, text
from workbench.plots.register import figure
from workbench.report.bins import Histogram
from workbench.report.terminal import number

if TYPE_CHECKING:
    from workbench.report import Report

__all__ = ["plot_scores"]

_SEVERITY = {"error": "#d2483f", "warning": "#c77700", "note": QUIET}
_LINE_HEIGHT, _BARS_HEIGHT, _AXIS_HEIGHT, _MARGIN = 16, 100, 58, 12  # pixels
_MOST_FINDINGS = 3
_WRAP = 80  # characters of a finding on one line of the figure


@figure("scores", "Distributions")
def plot_scores(report: Report, graders: Sequence[str] | None = None) -> Any:
    """The distribution of scores, one row a grader, with its findings written on it.

    Bars are counts in 20 fixed bins over 0 to 1 (wider where scores lie outside), so that graders and
    runs compare. Failed and skipped rows have no score: they are counted in words beside the name.
    The isolation label stands beside them. Nothing is white: the figure sits on whatever the page's theme is. `customdata` of each bar holds
    the conditions that its rows meet, which `report.row_numbers(*conditions)` understands.

    Args:
        report: What to draw.
        graders: Names, in this order; None for all.

    Returns:
        A `plotly.graph_objects.Figure`.

    Raises:
        ReportError: An unknown grader.
    """
    from plotly import graph_objects as go

    names = chosen(report, graders)
    headings = [_heading(name, report) for name in names]
    heights = [len(lines) * _LINE_HEIGHT + _BARS_HEIGHT + _AXIS_HEIGHT for lines in headings]
    total = max(sum(heights), 1)
    figure = go.Figure(layout=_layout(total + 2 * _MARGIN))
    for at, name in enumerate(names):
        _draw(figure, report.histograms[name], name, at=at)
        bottom = total - sum(heights[: at + 1]) + _AXIS_HEIGHT
        _place(figure, headings[at], (bottom / total, (bottom + _BARS_HEIGHT) / total), at=at)
    return figure


def _layout(height: int) -> dict[str, Any]:
    margin = {"l": 56, "r": 24, "t": _MARGIN, "b": _MARGIN}
    return bare_layout(height, margin=margin, bargap=0.08, dragmode="select", selectdirection="h")


def _draw(figure: Any, counted: Histogram, name: str, *, at: int) -> None:
    bars = _bars(counted, name, COLOURS[at % len(COLOURS)])
    figure.add_trace(bars.update(xaxis=_axis("x", at), yaxis=_axis("y", at)))


def _place(figure: Any, heading: list[str], domain: tuple[float, float], *, at: int) -> None:
    """Lay out one grader's axes, and its heading above them."""
    x, y = _axis("x", at), _axis("y", at)
    shared = {} if at == 0 else {"matches": "x"}
    common = {"zeroline": False, "linecolor": LINE}
    figure.update_layout(
        {
            f"xaxis{x[1:]}": {
                **common,
                **shared,
                "anchor": y,
                "showgrid": False,
                "title": {"text": "score", "standoff": 4},
            },
            f"yaxis{y[1:]}": {
                **common,
                "anchor": x,
                "domain": domain,
                "gridcolor": LINE,
                "rangemode": "tozero",
                "nticks": 4,
                "title": {"text": "rows"},
            },
        }
    )
    ends = {"xref": f"{x} domain", "yref": f"{y} domain", "xanchor": "left", "yanchor": "bottom"}
    figure.add_annotation(text="<br>".join(heading), x=0, y=1, align="left", showarrow=False, **ends)


def _axis(letter: str, at: int) -> str:
    return letter if at == 0 else f"{letter}{at + 1}"


def _bars(counted: Histogram, name: str, colour: str) -> Any:
    from plotly import graph_objects as go

    ends = counted.ends
    return go.Bar(
        x=[low / 2 + high / 2 for low, high in ends],
        y=counted.counts.tolist(),
        width=[high - low for low, high in ends],
        customdata=[[{"grader": name, "score": pair}] for pair in ends],
        hovertext=[f"{low:.3g} to {high:.3g}" for low, high in ends],
        name=text(name),
        marker={"color": colour, "line": {"width": 0}},
        hovertemplate="%{hovertext}<br>%{y:,} rows<extra></extra>",
    )


def _heading(name: str, report: Report) -> list[str]:
    counted, summary = report.histograms[name], report.summary
    parts = [f"{counted.scored:,} scored"]
    parts += [f"{counted.failed:,} failed"] if counted.failed else []
    parts += [f"{counted.skipped:,} skipped"] if counted.skipped else []
    parts += [f"mean {number(float(summary['mean'].loc[name]))}"] if counted.scored else []
    parts += [text(str(summary["isolation"].loc[name]))]
    lines = [f"<b>{text(name)}</b>  {' · '.join(parts)}"]
    found = [finding for finding in report.findings if finding.grader == name]
    for finding in found[:_MOST_FINDINGS]:
        lines += _said(finding.severity, finding.sentence)
    more = len(found) - _MOST_FINDINGS
    return [*lines, *([f"and {more} more in report.findings"] if more > 0 else [])]


def _said(severity: str, sentence: str) -> list[str]:
    lines = textwrap.wrap(f"{severity}: {shown(sentence, 400)}", _WRAP)
    return [f'<span style="color:{_SEVERITY[severity]}">{text(line, 400)}</span>' for line in lines]
