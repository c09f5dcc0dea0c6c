"""Which graders say the same: the share of rows on which each two differ."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from workbench.plots.look import SHADES, bare_layout, check_graders, text
from workbench.plots.register import figure
from workbench.report.where import matching

if TYPE_CHECKING:
    from workbench.report import Report

__all__ = ["plot_differences"]

_LEAST = 0.5
"""Scores this far apart differ: half of the usual scale."""
_LINE_HEIGHT, _FRAME = 30, 110  # pixels


@figure("differences", "Who differs", fits=lambda report: len(report.graders) > 1)
def plot_differences(report: Report, graders: Sequence[str] | None = None) -> Any:
    """A matrix of graders: on what share of the rows both scored do their scores lie 0.5 or more apart.

    Args:
        report: What to draw.
        graders: Names, in this order; None for all.

    Returns:
        A `plotly.graph_objects.Figure`; a click on a cell means these rows.

    Raises:
        ReportError: An unknown grader.
    """
    from plotly import graph_objects as go

    names = list(report.graders if graders is None else graders)
    check_graders(names, report.graders)
    pairs = [[_differ(report, a, b) for b in names] for a in names]
    marks = list(range(len(names)))
    heat = go.Heatmap(
        z=[[share for share, _ in line] for line in pairs],
        x=marks,
        y=marks,
        customdata=[[[{"apart": [a, b], "least": _LEAST}] for b in names] for a in names],
        hovertext=[
            [f"{text(a)} and {text(b)}<br>{said}" for b, (_, said) in zip(names, line, strict=True)]
            for a, line in zip(names, pairs, strict=True)
        ],
        hovertemplate="%{hovertext}<extra></extra>",
        text=[["" if share is None else f"{share:.0%}" for share, _ in line] for line in pairs],
        texttemplate="%{text}" if len(names) <= 12 else "",
        showscale=False,
        xgap=2,
        ygap=2,
        zmin=0,
        zmax=1,
    )
    ticks = {
        "tickvals": marks,
        "ticktext": [text(name, 20) for name in names],
        "showgrid": False,
        "zeroline": False,
    }
    layout = bare_layout(_FRAME + _LINE_HEIGHT * len(names), template=SHADES)
    layout |= {
        "xaxis": {**ticks, "automargin": True},
        "yaxis": {**ticks, "automargin": True, "autorange": "reversed"},
    }
    return go.Figure(heat, layout=layout)


def _differ(report: Report, a: str, b: str) -> tuple[float | None, str]:
    one, two = report.grades[a], report.grades[b]
    both = int(np.count_nonzero((one.codes == 1) & (two.codes == 1)))
    if a == b or not both:
        return None, "no row scored by both" if a != b else "the same grader"
    apart = len(matching(report, [{"apart": [a, b], "least": _LEAST}]))
    return apart / both, f"{apart:,} of {both:,} rows differ by {_LEAST:g} or more"
