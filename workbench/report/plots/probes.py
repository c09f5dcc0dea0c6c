"""The probe chart: the grader's errors by transformation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from workbench.analysis.statistics import Interval, compact
from workbench.analysis.statistics.means import Share, share
from workbench.report.plots import COLOURS, LEGEND, bare_layout, figure, graders_to_draw, text
from workbench.report.where import case_of

if TYPE_CHECKING:
    from workbench.report import Report


COLUMN = "probe"
"""The column that names the transformation a text was made by."""
_ROW_HEIGHT, _FRAME = 18, 110  # pixels
_COLOURS = {False: COLOURS[1], True: COLOURS[0], None: "#a0a0a0"}
_NAMES = {False: "known bad, accepted", True: "known good, rejected", None: "unlabelled, accepted"}


def _has_probes(report: Report) -> bool:
    return COLUMN in report.samples.frame and report.labels is not None


@figure(COLUMN + "s", "Probes", fits=_has_probes, position=3)
def plot_probes(report: Report, graders: Sequence[str] | None = None) -> Any:
    """One bar per transformation: the share of its texts with a wrong verdict, with the 95 % interval.

    Args:
        report: `Probe.report`, or any report over rows with a column `probe` and labels, such as regression rows.
        graders: Names; None for all. Each has separate bars below those of the one before.

    Returns:
        A `plotly.graph_objects.Figure`: known-bad texts that were accepted and known-good ones that were rejected, each
        in a separate colour; those with the largest share of wrong verdicts at the top.

    Raises:
        ReportError: An unknown grader.
    """
    from plotly import graph_objects as go

    lines = [line for name in graders_to_draw(report, graders) for line in _lines(report, name)]
    lines.sort(key=lambda line: (line.label is None, -line.share.value if line.share.n else 0.0))
    chart = go.Figure(layout=_layout(len(lines)))
    chart.add_traces(
        [_bars(lines, label) for label in (False, True, None) if any(line.label is label for line in lines)]
    )
    ticks = [text(line.name, 48) for line in lines]
    chart.update_yaxes(
        tickvals=list(range(len(lines))),
        ticktext=ticks,
        autorange="reversed",
        automargin=True,
        showgrid=False,
    )
    chart.update_xaxes(range=[0, 1], tickformat=".0%", title={"text": "share of its texts"})
    return chart


class _Line:
    """One transformation of one grader: its label, its share, and the conditions that find its rows."""

    def __init__(self, grader: str, name: str, label: bool | None, rate: Share, *, several: bool) -> None:
        self.grader, self.label, self.share = grader, label, rate
        self.probe = name
        self.name = f"{grader}: {name}" if several else name

    @property
    def interval(self) -> Interval:
        return self.share.interval()


def _lines(report: Report, grader: str) -> list[_Line]:
    """One line per transformation, by the label of its texts."""
    case = case_of(report, grader)
    names = report.samples.frame[COLUMN].astype(str).to_numpy()[case.rows]
    labels = case.labels[case.rows]
    groups = report.prompt_codes[case.rows]
    several = len(report.graders) > 1
    found = []
    for name in dict.fromkeys(names.tolist()):
        own = names == name
        label = int(labels[own][0])
        fooled = own & (case.accepted if label != 1 else ~case.accepted)
        meant = None if label < 0 else label == 1
        # Texts of one prompt are similar.
        rate = share(fooled[own], compact(groups[own]))
        found.append(_Line(grader, name, meant, rate, several=several))
    return found


def _bars(lines: Sequence[_Line], label: bool | None) -> Any:
    from plotly import graph_objects as go

    own = [(at, line) for at, line in enumerate(lines) if line.label is label]
    ends = [line.interval for _, line in own]
    values = np.array([line.share.value for _, line in own])
    return go.Bar(
        orientation="h",
        y=[at for at, _ in own],
        x=values,
        error_x={
            "type": "data", "symmetric": False, "thickness": 1, "width": 2, "color": "#808080",
            "array": [max(0.0, end.hi - value) for end, value in zip(ends, values, strict=True)],
            "arrayminus": [max(0.0, value - end.lo) for end, value in zip(ends, values, strict=True)],
        },
        customdata=[_conditions(line) for _, line in own],
        hovertext=[
            f"{text(line.name)}<br>{_NAMES[label]}: {line.share.k:,} of {line.share.n:,} rows, {100 * line.share.value:.0f} %"
            for _, line in own
        ],
        hovertemplate="%{hovertext}<extra></extra>",
        marker={"color": _COLOURS[label], "line": {"width": 0}},
        name=_NAMES[label],
    )  # fmt: skip


def _conditions(line: _Line) -> list[dict[str, Any]]:
    """The rows of a bar: texts of the transformation with a wrong verdict."""
    return [{"probe": line.probe}, {"grader": line.grader, "passed": line.label is not True}]


def _layout(lines: int) -> dict[str, Any]:
    margin = {"l": 56, "r": 24, "t": 40, "b": 48}
    return bare_layout(
        _FRAME + _ROW_HEIGHT * lines, showlegend=True, legend=LEGEND, margin=margin, bargap=0.3
    )
