"""Which graders say the same: the share of rows on which each two differ."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from workbench.grades import SCORED
from workbench.plots.look import SHADES, bare_layout, chosen, grader_ticks, shade_range, text
from workbench.plots.register import figure
from workbench.report.where import matching

if TYPE_CHECKING:
    from workbench.report import Report

__all__ = ["plot_differences"]

_LEAST = 0.5
"""Scores this far apart differ: half of what a grader's histogram spans, which is 0 to 1 or wider."""
_LINE_HEIGHT, _FRAME = 30, 110  # pixels
_SHADES = shade_range(1)
"""Pairs that never differ have the ground's own shade, at the lower end: without any, their text would not show on it."""


@figure("differences", "Who differs", fits=lambda report: len(report.graders) > 1, whole=True, place=3)
def plot_differences(report: Report, graders: Sequence[str] | None = None) -> Any:
    """A matrix of graders: on what share of the rows both scored do they lie half a scale or more apart.

    Each grader's scores are brought to 0 to 1 by the ends of its histogram: a length of hundreds would else differ from
    everything.

    Args:
        report: What to draw.
        graders: Names, in this order; None for all.

    Returns:
        A `plotly.graph_objects.Figure`; a click on a cell means these rows.

    Raises:
        ReportError: An unknown grader.
    """
    from plotly import graph_objects as go

    names = chosen(report, graders)
    half = {(a, b): _differ(report, a, b) for at, a in enumerate(names) for b in names[at:]}
    pairs = [[half[a, b] if (a, b) in half else half[b, a] for b in names] for a in names]
    marks = list(range(len(names)))
    heat = go.Heatmap(
        z=[[_SHADES["zmin"] if share == 0 else share for share, _ in line] for line in pairs],
        x=marks,
        y=marks,
        customdata=[[[_condition(a, b)] for b in names] for a in names],
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
        **_SHADES,
    )
    ticks = {**grader_ticks(names, 20), "zeroline": False}
    layout = bare_layout(_FRAME + _LINE_HEIGHT * len(names), template=SHADES)
    layout |= {
        "xaxis": ticks,
        "yaxis": {**ticks, "autorange": "reversed"},
    }
    return go.Figure(heat, layout=layout)


def _condition(a: str, b: str) -> dict[str, Any]:
    return {"scaled_apart": [a, b], "least": _LEAST}


def _differ(report: Report, a: str, b: str) -> tuple[float | None, str]:
    one, two = report.grades[a], report.grades[b]
    both = int(np.count_nonzero((one.codes == SCORED) & (two.codes == SCORED)))
    if a == b or not both:
        return None, "no row scored by both" if a != b else "the same grader"
    apart = len(matching(report, [_condition(a, b)]))
    return apart / both, f"{apart:,} of {both:,} rows differ by {100 * _LEAST:g} % of their scales or more"
