"""Figures of graders against labels, and of their effective weights."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from workbench.analysis.finding import percent
from workbench.report.cases import suite_case
from workbench.report.plots import (
    COLOURS,
    INK,
    LEGEND,
    LINE,
    bare_layout,
    figure,
    grader_ticks,
    graders_to_draw,
    text,
)
from workbench.report.where import case_of

if TYPE_CHECKING:
    from workbench.report import Report


_ROW_HEIGHT, _FRAME = 34, 112  # pixels
_COLOURS = {"agrees with the label": COLOURS[0], "differs from the label": COLOURS[1]}
_LABEL_AND_VERDICT = ((True, True), (True, False), (False, False), (False, True))
"""Label and verdict of each bar, from the axis outwards: mistakes are outermost on both sides."""
_TICKS = 4
"""Maximum number of ticks on either side of 0."""


@figure("labels", "Against labels", fits=lambda report: report.labels is not None, position=2)
def plot_labels(report: Report, graders: Sequence[str] | None = None) -> Any:
    """Counts of accepted and rejected rows, by label: known good to the right, known bad to the left.

    Args:
        report: What to draw; it has labels.
        graders: Names, in this order; None for all.

    Returns:
        A `plotly.graph_objects.Figure`: four bars per grader, errors in another colour and outermost; the axis counts
        rows to both sides.

    Raises:
        ReportError: An unknown grader.
    """
    from plotly import graph_objects as go

    names = graders_to_draw(report, graders)
    counts_by_part = {part: [_count(report, name, part) for name in names] for part in _LABEL_AND_VERDICT}
    chart = go.Figure(layout=_layout(len(names)))
    chart.add_traces([_bars(names, part, counts) for part, counts in counts_by_part.items()])
    chart.add_traces([_legend_entry(name, colour) for name, colour in _COLOURS.items()])
    chart.update_yaxes(**grader_ticks(names), autorange="reversed")
    title = "← known bad \u00a0 rows \u00a0 known good →"
    chart.update_xaxes(
        title={"text": title}, zeroline=True, zerolinecolor="#808080", **_ticks(counts_by_part)
    )
    return chart


def _layout(lines: int) -> dict[str, Any]:
    margin = {"l": 56, "r": 24, "t": 40, "b": 48}
    return bare_layout(
        _FRAME + _ROW_HEIGHT * lines,
        barmode="relative",
        bargap=0.35,
        showlegend=True,
        legend=LEGEND,
        margin=margin,
    )


def _ticks(counts_by_part: Mapping[tuple[bool, bool], Sequence[int]]) -> dict[str, Any]:
    """Round numbers of rows, the same to both sides of 0, none of them below 0."""
    sides = [
        sum(both)
        for label in (True, False)
        for both in zip(counts_by_part[label, True], counts_by_part[label, False], strict=True)
    ]
    longest_bar = max(sides, default=0)
    round_numbers = (size * 10**power for power in itertools.count() for size in (1, 2, 5))
    tick_step = next(number for number in round_numbers if number * _TICKS >= longest_bar)
    marks = list(range(-tick_step * _TICKS, tick_step * _TICKS + 1, tick_step))
    return {"tickvals": marks, "ticktext": [f"{abs(mark):,}" for mark in marks]}


def _legend_entry(name: str, colour: str) -> Any:
    """An entry of the legend for one colour. The bars cannot provide it: their names distinguish four parts, the colours two."""
    from plotly import graph_objects as go

    return go.Bar(x=[None], y=[None], name=name, marker={"color": colour}, customdata=[], hovertext=[])


def _bars(names: Sequence[str], part: tuple[bool, bool], counts: Sequence[int]) -> Any:
    from plotly import graph_objects as go

    label, accepted = part
    part_name = f"known {'good' if label else 'bad'}, {'accepted' if accepted else 'rejected'}"
    return go.Bar(
        orientation="h",
        y=list(range(len(names))),
        x=[count if label else -count for count in counts],
        customdata=[[{"label": label}, {"grader": name, "passed": accepted}] for name in names],
        hovertext=[
            f"{text(name)}<br>{part_name}: {count:,} rows" for name, count in zip(names, counts, strict=True)
        ],
        hovertemplate="%{hovertext}<extra></extra>",
        marker={"color": list(_COLOURS.values())[label != accepted], "line": {"width": 0}},
        name=part_name,
        showlegend=False,
    )


def _count(report: Report, name: str, part: tuple[bool, bool]) -> int:
    case, (label, accepted) = case_of(report, name), part
    return int(((case.labels[case.rows] == int(label)) & (case.accepted == accepted)).sum())


_WEIGHTS_ROW_HEIGHT, _WEIGHTS_FRAME = 54, 110  # pixels


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
    bars = [
        _weights_bars(table, "nominal", "weight"),
        _weights_bars(table, "effective", "share of the variance"),
    ]
    layout = bare_layout(
        _WEIGHTS_FRAME + _WEIGHTS_ROW_HEIGHT * len(names), barmode="group", bargap=0.3, showlegend=True
    )
    across = {"tickformat": ".0%", "gridcolor": LINE, "zeroline": True, "zerolinecolor": INK}
    layout |= {"legend": LEGEND, "xaxis": across, "margin": {"l": 56, "r": 24, "t": 40, "b": 40}}
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


def _weights_bars(table: pd.DataFrame, column: str, name: str) -> Any:
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
