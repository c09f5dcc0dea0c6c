"""Figures of the distribution of scores: bars for each grader, and a heatmap of all graders."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from workbench.core.display_text import number, shown
from workbench.report.plots import (
    COLOURS,
    LINE,
    QUIET,
    SHADES,
    bare_layout,
    figure,
    grader_ticks,
    graders_to_draw,
    shade_range,
    text,
)
from workbench.report.selection import Histogram

if TYPE_CHECKING:
    from workbench.report import Report


_SEVERITY = {
    "error": "#d2483f",
    "warning": "#c77700",
    "question": "#c77700",
    "note": QUIET,
    "within_limit": QUIET,
}
_ROW_HEIGHT, _BARS_HEIGHT, _AXIS_HEIGHT, _MARGIN = 16, 100, 58, 12  # pixels
_MAX_FINDINGS = 3
_LINE_LENGTH = 80  # characters of a finding on one line of the figure


@figure("scores", "Distributions", position=0)
def plot_scores(report: Report, graders: Sequence[str] | None = None) -> Any:
    """The distribution of scores, one row for each grader, with its findings written above.

    Bars are counts in 20 fixed bins over 0 to 1 (wider if scores are outside), so that graders and
    runs can be compared. Failed and skipped rows have no score: their number is written next to the name,
    with the isolation label. The background is transparent, for light and dark pages. `customdata` of each bar
    contains the conditions that its rows meet, for `report.row_numbers(*conditions)`.

    Args:
        report: What to draw.
        graders: Names, in this order; None for all.

    Returns:
        A `plotly.graph_objects.Figure`.

    Raises:
        ReportError: An unknown grader.
    """
    from plotly import graph_objects as go

    names = graders_to_draw(report, graders)
    headings = [_heading(name, report) for name in names]
    heights = [len(lines) * _ROW_HEIGHT + _BARS_HEIGHT + _AXIS_HEIGHT for lines in headings]
    total = max(sum(heights), 1)
    figure = go.Figure(layout=_layout(total + 2 * _MARGIN))
    for at, name in enumerate(names):
        _draw_bars(figure, report.histograms[name], name, at=at)
        bottom = total - sum(heights[: at + 1]) + _AXIS_HEIGHT
        _place_axes(figure, headings[at], (bottom / total, (bottom + _BARS_HEIGHT) / total), at=at)
    return figure


def _layout(height: int) -> dict[str, Any]:
    margin = {"l": 56, "r": 24, "t": _MARGIN, "b": _MARGIN}
    return bare_layout(height, margin=margin, bargap=0.08, dragmode="select", selectdirection="h")


def _draw_bars(figure: Any, histogram: Histogram, name: str, *, at: int) -> None:
    bars = _bars(histogram, name, COLOURS[at % len(COLOURS)])
    figure.add_trace(bars.update(xaxis=_axis("x", at), yaxis=_axis("y", at)))


def _place_axes(figure: Any, heading: list[str], domain: tuple[float, float], *, at: int) -> None:
    """Lay out one grader's axes, with its heading above them."""
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


def _bars(histogram: Histogram, name: str, colour: str) -> Any:
    from plotly import graph_objects as go

    ends = histogram.ends
    return go.Bar(
        # Halved before they are added: the sum of two large ends may be infinite.
        x=[low / 2 + high / 2 for low, high in ends],
        y=histogram.counts.tolist(),
        width=[high - low for low, high in ends],
        customdata=[[{"grader": name, "score": pair}] for pair in ends],
        hovertext=[f"{low:.3g} to {high:.3g}" for low, high in ends],
        name=text(name),
        marker={"color": colour, "line": {"width": 0}},
        hovertemplate="%{hovertext}<br>%{y:,} rows<extra></extra>",
    )


def _heading(name: str, report: Report) -> list[str]:
    histogram, summary = report.histograms[name], report.summary
    parts = [f"{histogram.scored:,} scored"]
    parts += [f"{histogram.failed:,} failed"] if histogram.failed else []
    parts += [f"{histogram.skipped:,} skipped"] if histogram.skipped else []
    parts += [f"mean {number(float(summary['mean'].loc[name]))}"] if histogram.scored else []
    parts += [text(str(summary["isolation"].loc[name]))]
    lines = [f"<b>{text(name)}</b>  {' · '.join(parts)}"]
    findings = [finding for finding in report.findings if finding.grader == name]
    for finding in findings[:_MAX_FINDINGS]:
        lines += _finding_lines(finding.severity, finding.sentence)
    more = len(findings) - _MAX_FINDINGS
    return [*lines, *([f"and {more} more in report.findings"] if more > 0 else [])]


def _finding_lines(severity: str, sentence: str) -> list[str]:
    lines = textwrap.wrap(f"{severity}: {shown(sentence, 400)}", _LINE_LENGTH)
    return [f'<span style="color:{_SEVERITY[severity]}">{text(text_line, 400)}</span>' for text_line in lines]


_OVERVIEW_ROW_HEIGHT, _FRAME = 26, 90  # pixels


@figure("overview", "Overview", fits=lambda report: len(report.graders) > 1, all_graders=True, position=1)
def plot_overview(report: Report, graders: Sequence[str] | None = None) -> Any:
    """Shares of each grader's scores in 20 bins, as a heatmap: for many graders side by side.

    Args:
        report: What to draw.
        graders: Names, in this order; None for all.

    Returns:
        A `plotly.graph_objects.Figure`. Columns are the bins of each grader's own histogram, 0 to 1 unless
        scores are outside.

    Raises:
        ReportError: An unknown grader.
    """
    from plotly import graph_objects as go

    names = graders_to_draw(report, graders)
    heat = go.Heatmap(
        z=[_shares(report, name) for name in names],
        y=list(range(len(names))),
        x=[at / 20 + 0.025 for at in range(20)],
        customdata=[_conditions(report, name) for name in names],
        hovertext=[_hover(report, name) for name in names],
        hovertemplate="%{hovertext}<extra></extra>",
        showscale=False,
        xgap=1,
        ygap=2,
        **shade_range(1),
    )
    layout = bare_layout(_FRAME + _OVERVIEW_ROW_HEIGHT * len(names), template=SHADES)
    layout |= {"xaxis": {"title": {"text": "score"}, "showgrid": False, "zeroline": False}}
    layout |= {"yaxis": {**grader_ticks(names), "autorange": "reversed", "zeroline": False}}
    return go.Figure(heat, layout=layout)


def _shares(report: Report, name: str) -> list[float | None]:
    histogram = report.histograms[name]
    return [float(count) / histogram.scored if count else None for count in histogram.counts]


def _conditions(report: Report, name: str) -> list[list[dict[str, Any]]]:
    return [[{"grader": name, "score": pair}] for pair in report.histograms[name].ends]


def _hover(report: Report, name: str) -> list[str]:
    histogram = report.histograms[name]
    return [
        f"{text(name)}<br>{low:.3g} to {high:.3g}: {int(count):,} rows"
        for (low, high), count in zip(histogram.ends, histogram.counts, strict=True)
    ]
