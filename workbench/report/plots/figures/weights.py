"""The nominal and effective weight of each grader of a suite."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from workbench.analysis.diagnostics.finding import percent
from workbench.report.plots.look import COLOURS, INK, LINE, bare_layout, grader_ticks, graders_to_draw, text
from workbench.report.plots.register import figure
from workbench.report.weights import suite_case

if TYPE_CHECKING:
    from workbench.report import Report

__all__ = ["plot_weights"]

_ROW_HEIGHT, _FRAME = 54, 110  # pixels


def _has_weights(report: Report) -> bool:
    case = suite_case(report)
    return case.rule is not None and case.parts is not None and not np.isnan(case.parts.weights).any()


@figure("weights", "Effective weights", fits=_has_weights, all_graders=True, position=5)
def plot_weights(report: Report, graders: Sequence[str] | None = None) -> Any:
    """Each grader's weight and the share of the combined score's variance that it drives, with its 95 % interval.

    Args:
        report: What to draw; its suite combines scores by weights.
        graders: Names, in this order; None for all. The combined score has no weight and no bar.

    Returns:
        A `plotly.graph_objects.Figure`; a click on a bar selects the rows whose verdict would change without the grader.

    Raises:
        ReportError: An unknown grader.
    """
    from plotly import graph_objects as go

    table = report.weights if _has_weights(report) else report.weights.iloc[:0]
    names = [name for name in graders_to_draw(report, graders) if name in table.index]
    places = {grader: place for place, grader in enumerate(table.index)}
    # By position: pandas would make a text column of a list of names, which cannot contain a lone surrogate.
    table = table.iloc[[places[name] for name in names]]
    bars = [_bars(table, "nominal", "weight"), _bars(table, "effective", "share of the variance")]
    layout = bare_layout(_FRAME + _ROW_HEIGHT * len(names), barmode="group", bargap=0.3, showlegend=True)
    # A click on the legend would hide bars that keyboard navigation still reaches.
    legend = {
        "orientation": "h",
        "x": 0,
        "y": 1,
        "yanchor": "bottom",
        "itemclick": False,
        "itemdoubleclick": False,
    }
    across = {"tickformat": ".0%", "gridcolor": LINE, "zeroline": True, "zerolinecolor": INK}
    layout |= {"legend": legend, "xaxis": across, "margin": {"l": 56, "r": 24, "t": 40, "b": 40}}
    return go.Figure(
        bars,
        layout
        | {
            "yaxis": {
                **grader_ticks(names),
                "autorange": "reversed",
                "ticks": "outside",
                "tickcolor": "rgba(0,0,0,0)",
            }
        },
    )


def _bars(table: pd.DataFrame, column: str, name: str) -> Any:
    from plotly import graph_objects as go

    values = table[column].to_numpy(float)
    colour = COLOURS[0] if column == "effective" else INK
    return go.Bar(
        orientation="h",
        y=list(range(len(table))),
        x=[None if np.isnan(value) else value for value in values.tolist()],
        error_x=_error_bars(table) if column == "effective" else None,
        customdata=[[{"decides": grader}] for grader in table.index],
        hovertext=[_hover(str(grader), line) for grader, line in table.iterrows()],
        hovertemplate="%{hovertext}<extra></extra>",
        name=name,
        marker={"color": colour, "line": {"width": 0}},
    )


def _error_bars(table: pd.DataFrame) -> dict[str, Any]:
    above, below = table["hi"] - table["effective"], table["effective"] - table["lo"]
    ends = {"array": above.fillna(0).tolist(), "arrayminus": below.fillna(0).tolist()}
    return {"type": "data", "symmetric": False, "color": INK, "thickness": 1.5, **ends}


def _hover(grader: str, line: pd.Series[Any]) -> str:
    drives = "" if np.isnan(line["effective"]) else f", drives {percent(line['effective'])}"
    interval = "" if np.isnan(line["lo"]) else f" ({percent(line['lo'])} to {percent(line['hi'])})"
    weighs = f"weight {percent(line['nominal'])}{drives}{interval}"
    return f"{text(grader)}<br>{weighs}<br>decides {int(line['decides']):,} of {int(line['of']):,} rows"
