"""All graders at a glance: one row for each grader, its distribution as shades."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from workbench.report.plots.look import SHADES, bare_layout, grader_ticks, graders_to_draw, shade_range, text
from workbench.report.plots.register import figure

if TYPE_CHECKING:
    from workbench.report import Report

__all__ = ["plot_overview"]

_ROW_HEIGHT, _FRAME = 26, 90  # pixels


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
    layout = bare_layout(_FRAME + _ROW_HEIGHT * len(names), template=SHADES)
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
