"""The share of informative groups by group size, with its interval: what to expect of RL before drawing rollouts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from workbench.analysis.diagnostics.finding import percent
from workbench.report.forecast import can_forecast, forecast
from workbench.report.plots.look import COLOURS, LINE, bare_layout, graders_to_draw, text
from workbench.report.plots.register import figure

if TYPE_CHECKING:
    from workbench.report import Report
    from workbench.report.forecast_result import Forecast, Line

__all__ = ["draw_forecast", "plot_forecast"]

_HEIGHT = 320  # pixels
_BAND = 0.15  # opacity of an interval, so that several overlap readably
_MAX_GRADERS = len(COLOURS)  # more bands would be indistinguishable, and each takes a second to forecast


@figure(
    "forecast",
    "Informative groups by group size",
    fits=lambda report: any(can_forecast(report, name) for name in report.graders),
    position=7,
)
def plot_forecast(report: Report, graders: Sequence[str] | None = None) -> Any:
    """The forecast share of informative groups at 4 to 64 completions per prompt, with its 95 % interval, a line per grader.

    Args:
        report: What to draw.
        graders: Names, in this order; None for all. Draws the first five with several completions of enough prompts.

    Returns:
        A `plotly.graph_objects.Figure`; a click on a mark selects the rows of its grader that have a score.

    Raises:
        ReportError: An unknown grader.
    """
    names = [name for name in graders_to_draw(report, graders) if can_forecast(report, name)]
    forecasts: dict[str, Forecast] = report.__dict__.setdefault("_forecasts", {})
    for name in names[:_MAX_GRADERS]:
        if name not in forecasts:
            forecasts[name] = forecast(report, name)
    return draw_forecast([forecasts[name] for name in names[:_MAX_GRADERS]])


def draw_forecast(forecasts: Sequence[Forecast]) -> Any:
    """The curves of existing forecasts, with their bands.

    Returns:
        A `plotly.graph_objects.Figure`.
    """
    from plotly import graph_objects as go

    traces = [
        trace
        for at, one in enumerate(forecasts)
        for trace in (_band(one, COLOURS[at % len(COLOURS)]), _curve(one, COLOURS[at % len(COLOURS)]))
    ]
    return go.Figure(traces, layout=_layout(forecasts))


def _layout(forecasts: Sequence[Forecast]) -> dict[str, Any]:
    sizes = sorted({int(size) for one in forecasts for size in one.table.index})
    ticks = [size for size in sizes if size in {4, 8, 16, 32, 64}]
    across = {
        "type": "log",
        "tickvals": ticks,
        "title": {"text": "completions per prompt (G)"},
        "showgrid": False,
    }
    up = {"range": [0, 1.02], "tickformat": ".0%", "gridcolor": LINE, "zeroline": False}
    return bare_layout(
        _HEIGHT,
        xaxis=across,
        yaxis={**up, "title": {"text": "informative groups"}},
        showlegend=len(forecasts) > 1,
        legend={"orientation": "h", "y": 1.12},
    )


def _curve(one: Forecast, colour: str) -> Any:
    from plotly import graph_objects as go

    hover = [_hover(one, line) for line in one.lines]
    marks = ["circle" if basis == "counted" else "circle-open" for basis in one.table["basis"]]
    return go.Scatter(
        x=one.table.index.tolist(),
        y=one.table["live"].tolist(),
        mode="lines+markers",
        name=text(one.grader),
        line={"color": colour},
        marker={"symbol": marks, "size": [13 if size == one.best else 8 for size in one.table.index]},
        customdata=[[{"grader": one.grader, "status": "scored"}]] * len(one.table),
        hovertext=hover,
        hovertemplate="%{hovertext}<extra></extra>",
    )


def _hover(one: Forecast, line: Line) -> str:
    lo, hi = line.live.interval
    share = f"{percent(line.live.value)} informative ({percent(lo)} to {percent(hi)}), {line.basis}"
    return f"{text(one.grader)}<br>G = {line.size}: {share}<br>mean sd {line.sd_text}"


def _band(one: Forecast, colour: str) -> Any:
    """The interval as an area without a tooltip, since the curve has one."""
    from plotly import graph_objects as go

    sizes = one.table.index.tolist()
    x = [*sizes, *reversed(sizes)]
    return go.Scatter(
        x=x,
        y=[*one.table["hi"].tolist(), *reversed(one.table["lo"].tolist())],
        fill="toself",
        fillcolor=colour,
        opacity=_BAND,
        mode="lines",
        line={"width": 0},
        showlegend=False,
        customdata=[[{"grader": one.grader, "status": "scored"}]] * len(x),
        hovertext=[text(one.grader)] * len(x),
        hoverinfo="skip",
    )
