"""Noise per row: the range of a row's scores when it is graded several times."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from workbench.analysis.diagnostics.repeats import repeats_of
from workbench.report.plots.look import COLOURS, LINE, bare_layout, graders_to_draw, text
from workbench.report.plots.register import figure
from workbench.report.where import case_of, matching

if TYPE_CHECKING:
    from workbench.report import Report

__all__ = ["plot_noise"]

_BINS = 20
_HEIGHT, _LEGEND = 320, 24  # pixels
_SAME = 1e-6  # of the scale: rows whose scores differ only by rounding count as exact repeats
_TICKS = {"tickvals": [-0.5 / _BINS, 0.25, 0.5, 0.75, 1], "ticktext": ["same", "0.25", "0.5", "0.75", "1"]}


@figure("noise", "Noise per row", fits=lambda report: bool(report.repeats), position=4)
def plot_noise(report: Report, graders: Sequence[str] | None = None) -> Any:
    """Rows by the range of their scores over the repeats, from the same score every time to the whole scale.

    Rows are ordered by noise from left to right; the first bar contains those that repeat exactly, and is the only one of
    a deterministic grader. The axis of counts is logarithmic, so that few noisy rows are visible.

    Args:
        report: What to draw; it has repeats.
        graders: Names, in this order; None for all. Those that graded every row once have no bars.

    Returns:
        A `plotly.graph_objects.Figure`; a click on a bar selects its rows.

    Raises:
        ReportError: An unknown grader.
    """
    from plotly import graph_objects as go

    names = [name for name in graders_to_draw(report, graders) if name in report.repeats]
    chart = go.Figure(layout=_layout(len(names), len(report)))
    chart.add_traces([_bars(report, name, COLOURS[at % len(COLOURS)]) for at, name in enumerate(names)])
    return chart


def _layout(count: int, rows: int) -> dict[str, Any]:
    # A click on the legend would hide bars that keyboard navigation still reaches.
    legend = {
        "orientation": "h",
        "x": 0,
        "y": 1,
        "yanchor": "bottom",
        "itemclick": False,
        "itemdoubleclick": False,
    }
    axis = {"zeroline": False, "linecolor": LINE}
    return bare_layout(
        _HEIGHT + _LEGEND * (count > 1),
        barmode="group",
        bargap=0.15,
        showlegend=count > 1,
        legend=legend,
        xaxis={
            **axis,
            "showgrid": False,
            "title": {"text": "highest minus lowest score of a row"},
            **_TICKS,
            "range": [-0.06, 1.01],
        },
        yaxis={
            **axis,
            "type": "log",
            "gridcolor": LINE,
            "nticks": 4,
            "title": {"text": "rows"},
            # From half a row, so that a bar of one row is visible.
            "range": [math.log10(0.5), math.log10(max(rows, 2)) + 0.1],
        },
    )


def _bars(report: Report, name: str, colour: str) -> Any:
    """One bar for no difference, and one for each twentieth of the scale."""
    from plotly import graph_objects as go

    edges = [0.0, _SAME, *np.arange(1, _BINS + 1) / _BINS]
    spans = [[float(low), float(high)] for low, high in itertools.pairwise(edges)]
    conditions = [[{"grader": name, "spread": span}] for span in spans]
    counts = [len(matching(report, condition)) for condition in conditions]
    return go.Bar(
        x=[(at - 0.5) / _BINS for at in range(_BINS + 1)],
        y=[count or None for count in counts],
        customdata=conditions,
        hovertext=[_hover(report, name, span, count) for span, count in zip(spans, counts, strict=True)],
        hovertemplate="%{hovertext}<extra></extra>",
        name=text(name),
        marker={"color": colour, "line": {"width": 0}},
    )


def _hover(report: Report, name: str, span: Sequence[float], count: int) -> str:
    repeats = repeats_of(case_of(report, name))
    times = 0 if repeats is None else repeats.scores.shape[1]
    apart = "the same score every time" if span[1] <= _SAME else f"{span[0]:.2g} to {span[1]:.2g} apart"
    return f"{text(name)}, graded {times} times<br>{apart}: {count:,} rows"
