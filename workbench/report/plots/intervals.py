"""Figures of uncertainty: means and error rates with their intervals and limits, and the noise between repeats."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from workbench.analysis.diagnostics.label_agreement import FALSE_ACCEPTS, FALSE_REJECTS
from workbench.analysis.diagnostics.noise import repeats_of
from workbench.analysis.statistics import Interval
from workbench.report.plots import (
    COLOURS,
    LEGEND,
    LINE,
    QUIET,
    bare_layout,
    figure,
    grader_ticks,
    graders_to_draw,
    text,
)
from workbench.report.where import case_of, matching

if TYPE_CHECKING:
    from workbench.report import Report


_ROW_HEIGHT, _FRAME = 54, 112  # pixels
_STEP = 0.24  # distance between two bands of a grader, as a share of the distance between two graders
_LIMITS = {
    "bad rows accepted": ("too-lenient", FALSE_ACCEPTS),
    "good rows rejected": ("too-strict", FALSE_REJECTS),
}
"""Mistake, to its finding and that finding's usual limit; few labels of one class may raise it (`label_agreement`)."""


@dataclass(frozen=True)
class _Band:
    """One number with its interval.

    Attributes:
        name: What is measured.
        value: The number, 0 to 1.
        interval: Its 95 % interval.
        conditions: Which rows it counts.
        count: Number of these rows; "" if it is not useful.
    """

    name: str
    value: float
    interval: Interval
    conditions: list[dict[str, Any]]
    count: str = ""


@figure("intervals", "Uncertainty", position=3)
def plot_intervals(report: Report, graders: Sequence[str] | None = None) -> Any:
    """Mean score and, with labels, the shares of wrong verdicts, each as a point on its 95 % interval.

    Args:
        report: What to draw.
        graders: Names, in this order; None for all.

    Returns:
        A `plotly.graph_objects.Figure`, up to three bands per grader, from 0 to 1 of the scale or of the rows. Ticks across a
        band are the limits of findings.

    Raises:
        ReportError: An unknown grader.
    """
    from plotly import graph_objects as go

    names = graders_to_draw(report, graders)
    bands = [(at, name, band) for at, name in enumerate(names) for band in _bands(report, name)]
    kinds = ["mean score", *_LIMITS]
    chart = go.Figure(layout=_layout(len(names)))
    for place, kind in enumerate(kinds):
        drawn = [(at + (place - 1) * _STEP, name, band) for at, name, band in bands if band.name == kind]
        if drawn:
            chart.add_trace(_points(kind, drawn, COLOURS[place]))
        chart.update_layout(
            shapes=[*chart.layout.shapes, *(_limit(report, kind, y) for y, _, _ in drawn if kind in _LIMITS)]
        )
    chart.update_yaxes(**grader_ticks(names), autorange="reversed", zeroline=False)
    chart.update_xaxes(range=[-0.02, 1.02], title={"text": "share of rows, or of the scale"}, zeroline=False)
    return chart


def _bands(report: Report, name: str) -> list[_Band]:
    (lo, hi), row = report.scale, report.summary.iloc[report.graders.index(name)]
    bands = []
    if row["mean"] == row["mean"] and lo <= row["mean"] <= hi and row["mean_lo"] == row["mean_lo"]:
        # Halved: the difference of two finite numbers may be infinite.
        ends = [(row[column] / 2 - lo / 2) / (hi / 2 - lo / 2) for column in ("mean", "mean_lo", "mean_hi")]
        scored = [{"grader": name, "status": "scored"}]
        bands.append(_Band("mean score", ends[0], Interval(*ends[1:]), scored))
    if report.labels is not None:
        bands += _mistakes(report, name)
    return bands


def _mistakes(report: Report, name: str) -> list[_Band]:
    agreement = report.agreement(name)
    shares = (agreement.specificity.complement, agreement.false_failure_rate)
    return [
        _Band(kind, part.value, part.interval(), _wrong(name, good=good), f": {part.k:,} of {part.n:,} rows")
        for kind, part, good in zip(_LIMITS, shares, (False, True), strict=True)
        if part.n
    ]


def _wrong(name: str, *, good: bool) -> list[dict[str, Any]]:
    return [{"label": good}, {"grader": name, "passed": not good}]


def _points(kind: str, drawn: list[tuple[float, str, _Band]], colour: str) -> Any:
    from plotly import graph_objects as go

    values = [band.value for _, _, band in drawn]
    return go.Scatter(
        x=values,
        y=[y for y, _, _ in drawn],
        mode="markers",
        name=kind,
        marker={"color": colour, "size": 9},
        error_x={
            "type": "data", "symmetric": False, "color": colour, "thickness": 5, "width": 0,
            "array": [band.interval.hi - band.value for _, _, band in drawn],
            "arrayminus": [band.value - band.interval.lo for _, _, band in drawn],
        },
        customdata=[band.conditions for _, _, band in drawn],
        hovertext=[_hover(name, band) for _, name, band in drawn],
        hovertemplate="%{hovertext}<extra></extra>",
    )  # fmt: skip


def _hover(name: str, band: _Band) -> str:
    lo, hi = band.interval
    return f"{text(name)}<br>{band.name}{band.count}<br>{band.value:.3f} ({lo:.3f} to {hi:.3f})"


def _limit(report: Report, kind: str, y: float) -> dict[str, Any]:
    """A tick across a band; a shape, because it has no rows to click on."""
    finding, usual = _LIMITS[kind]
    limit = report.limits.get(finding, usual)
    return {
        "type": "line", "x0": limit, "x1": limit, "y0": y - _STEP / 2, "y1": y + _STEP / 2,
        "line": {"color": QUIET, "width": 2},
    }  # fmt: skip


def _layout(lines: int) -> dict[str, Any]:
    return bare_layout(_FRAME + _ROW_HEIGHT * lines, showlegend=True, legend=LEGEND)


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
    chart = go.Figure(layout=_noise_layout(len(names), len(report)))
    chart.add_traces([_bars(report, name, COLOURS[at % len(COLOURS)]) for at, name in enumerate(names)])
    return chart


def _noise_layout(count: int, rows: int) -> dict[str, Any]:
    axis = {"zeroline": False, "linecolor": LINE}
    return bare_layout(
        _HEIGHT + _LEGEND * (count > 1),
        barmode="group",
        bargap=0.15,
        showlegend=count > 1,
        legend=LEGEND,
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
        hovertext=[
            _noise_hover(report, name, span, count) for span, count in zip(spans, counts, strict=True)
        ],
        hovertemplate="%{hovertext}<extra></extra>",
        name=text(name),
        marker={"color": colour, "line": {"width": 0}},
    )


def _noise_hover(report: Report, name: str, span: Sequence[float], count: int) -> str:
    repeats = repeats_of(case_of(report, name))
    times = 0 if repeats is None else repeats.scores.shape[1]
    apart = "the same score every time" if span[1] <= _SAME else f"{span[0]:.2g} to {span[1]:.2g} apart"
    return f"{text(name)}, graded {times} times<br>{apart}: {count:,} rows"
