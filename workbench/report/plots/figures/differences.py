"""Which graders agree: the share of rows on which each pair of them differs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from workbench.core.grades import SCORED
from workbench.report.plots.look import SHADES, bare_layout, grader_ticks, graders_to_draw, shade_range, text
from workbench.report.plots.register import figure
from workbench.report.where import matching

if TYPE_CHECKING:
    from workbench.report import Report

__all__ = ["plot_differences"]

_MIN_DIFFERENCE = 0.5
"""Scores at least this far apart differ: in spans of a grader's histogram, which is 0 to 1 or wider."""
_ROW_HEIGHT, _FRAME = 30, 110  # pixels
_SHADES = shade_range(1)
"""Pairs that never differ get the background's shade: plotly would not draw their text without a value."""


@figure(
    "differences", "Who differs", fits=lambda report: len(report.graders) > 1, all_graders=True, position=3
)
def plot_differences(report: Report, graders: Sequence[str] | None = None) -> Any:
    """A matrix of graders: the share of rows, of those both scored, on which their scores differ by at least half a scale.

    Each grader's scores are scaled from the ends of its histogram to 0 to 1: otherwise a length of hundreds would
    differ from everything.

    Args:
        report: What to draw.
        graders: Names, in this order; None for all.

    Returns:
        A `plotly.graph_objects.Figure`; a click on a cell selects its rows.

    Raises:
        ReportError: An unknown grader.
    """
    from plotly import graph_objects as go

    names = graders_to_draw(report, graders)
    by_pair = {(a, b): _difference_share(report, a, b) for at, a in enumerate(names) for b in names[at:]}
    pairs = [[by_pair[a, b] if (a, b) in by_pair else by_pair[b, a] for b in names] for a in names]
    marks = list(range(len(names)))
    heat = go.Heatmap(
        z=[[_SHADES["zmin"] if share == 0 else share for share, _ in row] for row in pairs],
        x=marks,
        y=marks,
        customdata=[[[_condition(a, b)] for b in names] for a in names],
        hovertext=[
            [
                f"{text(a)} and {text(b)}<br>{description}"
                for b, (_, description) in zip(names, row, strict=True)
            ]
            for a, row in zip(names, pairs, strict=True)
        ],
        hovertemplate="%{hovertext}<extra></extra>",
        text=[["" if share is None else f"{share:.0%}" for share, _ in row] for row in pairs],
        texttemplate="%{text}" if len(names) <= 12 else "",
        showscale=False,
        xgap=2,
        ygap=2,
        **_SHADES,
    )
    ticks = {**grader_ticks(names, 20), "zeroline": False}
    layout = bare_layout(_FRAME + _ROW_HEIGHT * len(names), template=SHADES)
    layout |= {
        "xaxis": ticks,
        "yaxis": {**ticks, "autorange": "reversed"},
    }
    return go.Figure(heat, layout=layout)


def _condition(a: str, b: str) -> dict[str, Any]:
    return {"scaled_apart": [a, b], "least": _MIN_DIFFERENCE}


def _difference_share(report: Report, a: str, b: str) -> tuple[float | None, str]:
    a_grades, b_grades = report.grades[a], report.grades[b]
    both = int(np.count_nonzero((a_grades.codes == SCORED) & (b_grades.codes == SCORED)))
    if a == b or not both:
        return None, "no row scored by both" if a != b else "the same grader"
    differing = len(matching(report, [_condition(a, b)]))
    return (
        differing / both,
        f"{differing:,} of {both:,} rows differ by at least {100 * _MIN_DIFFERENCE:g} % of their scales",
    )
