"""Figures of the training signal for RL: the spread of each prompt's scores, and the forecast of informative groups."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from workbench.analysis.finding import percent
from workbench.report.cases import SPREADS, PromptSpread, prompt_spread
from workbench.report.forecast import can_forecast, forecast
from workbench.report.plots import COLOURS, LEGEND, LINE, bare_layout, figure, graders_to_draw, text

if TYPE_CHECKING:
    from workbench.report import Report
    from workbench.report.forecast import Forecast, Line


_ROW_HEIGHT, _GAP, _FRAME = 130, 62, 70  # pixels
_COLOURS = {"zero_variance": COLOURS[4], "narrow": COLOURS[1], "wide": COLOURS[2]}
_MEANINGS = {
    "zero_variance": "zero variance: all completions have one score",
    "narrow": "narrow: sd below a tenth of the scale",
    "wide": "wide: scores differ more",
}


@figure(
    "group-spread",
    "Prompts by spread",
    fits=lambda report: any(can_forecast(report, name) for name in report.graders),
    position=6,
)
def plot_group_spread(report: Report, graders: Sequence[str] | None = None) -> Any:
    """Prompts with several completions by their mean score, stacked by the spread of the completions' scores.

    Zero-variance prompts give all completions one score, and reinforcement learning no signal; their mean shows
    whether they are too hard or too easy.

    Args:
        report: What to draw.
        graders: Names, in this order; None for all.

    Returns:
        A `plotly.graph_objects.Figure`, a row of bars for each grader; a click on a bar selects the rows of its prompts.

    Raises:
        ReportError: An unknown grader.
    """
    from plotly import graph_objects as go

    names = graders_to_draw(report, graders)
    chart = go.Figure(layout=_layout(len(names)))
    for at, name in enumerate(names):
        found = prompt_spread(report, name)
        for spread in SPREADS:
            axes = {"xaxis": _axis("x", at), "yaxis": _axis("y", at), "showlegend": at == 0}
            chart.add_trace(_bars(found, name, spread).update(axes))
        _place_axes(chart, name, at=at, of=len(names))
    return chart


def _layout(rows: int) -> dict[str, Any]:
    margin = {"l": 56, "r": 24, "t": 60, "b": 44}
    return bare_layout(
        _FRAME + (_ROW_HEIGHT + _GAP) * max(rows, 1), barmode="stack", bargap=0.08, showlegend=True, legend=LEGEND, margin=margin
    )  # fmt: skip


def _axis(letter: str, at: int) -> str:
    return letter if at == 0 else f"{letter}{at + 1}"


def _place_axes(chart: Any, name: str, *, at: int, of: int) -> None:
    """Lay out one grader's axes, with its name above them."""
    x, y = _axis("x", at), _axis("y", at)
    height, bottom = _ROW_HEIGHT / (_ROW_HEIGHT + _GAP) / of, (of - 1 - at) / of
    across = {"anchor": y, "showgrid": False, "zeroline": False, "linecolor": LINE}
    up = {
        "anchor": x,
        "domain": (bottom, bottom + height),
        "gridcolor": LINE,
        "rangemode": "tozero",
        "nticks": 4,
    }
    chart.update_layout(
        {
            f"xaxis{x[1:]}": {**across, "title": {"text": "mean score of the prompt", "standoff": 4}},
            f"yaxis{y[1:]}": {**up, "zeroline": False, "title": {"text": "prompts"}},
        }
    )
    ends = {"xref": f"{x} domain", "yref": f"{y} domain", "xanchor": "left", "yanchor": "bottom"}
    chart.add_annotation(text=f"<b>{text(name)}</b>", x=0, y=1, showarrow=False, **ends)


def _bars(found: PromptSpread, name: str, spread: str) -> Any:
    from plotly import graph_objects as go

    bins = [[low, high] for low, high in pairwise(found.edges.tolist())]
    chosen = [found.chosen(low, high, spread) for low, high in bins]
    counts = [int(prompts.sum()) for prompts in chosen]
    sizes = np.bincount(found.prompts, minlength=len(found.means))
    rows = [int(sizes[prompts].sum()) for prompts in chosen]
    return go.Bar(
        # Halved before they are added: the sum of two large ends may be infinite.
        x=[low / 2 + high / 2 for low, high in bins],
        y=counts,
        width=[high - low for low, high in bins],
        customdata=[[{"prompts": name, "mean": pair, "scores": spread}] for pair in bins],
        hovertext=[
            f"{_MEANINGS[spread]}<br>mean {low:.3g} to {high:.3g}: {count:,} prompts, {answers:,} rows"
            for (low, high), count, answers in zip(bins, counts, rows, strict=True)
        ],
        hovertemplate="%{hovertext}<extra></extra>",
        name=_MEANINGS[spread],
        marker={"color": _COLOURS[spread], "line": {"width": 0}},
    )


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
    analysis = report.analysis
    return draw_forecast(
        [analysis.once("forecast", partial(forecast, report, name), of=name) for name in names[:_MAX_GRADERS]]
    )


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
    return go.Figure(traces, layout=_forecast_layout(forecasts))


def _forecast_layout(forecasts: Sequence[Forecast]) -> dict[str, Any]:
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
        y=one.table["informative"].tolist(),
        mode="lines+markers",
        name=text(one.grader),
        line={"color": colour},
        marker={"symbol": marks, "size": [13 if size == one.best else 8 for size in one.table.index]},
        customdata=[[{"grader": one.grader, "status": "scored"}]] * len(one.table),
        hovertext=hover,
        hovertemplate="%{hovertext}<extra></extra>",
    )


def _hover(one: Forecast, line: Line) -> str:
    lo, hi = line.informative.interval
    share = f"{percent(line.informative.value)} informative ({percent(lo)} to {percent(hi)}), {line.basis}"
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
