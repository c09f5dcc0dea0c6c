"""Graders against labels: what each does with rows known to be good, and with rows known to be bad."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from workbench.plots.look import COLOURS, bare_layout, chosen, grader_ticks, text
from workbench.plots.register import figure
from workbench.report.where import case_of

if TYPE_CHECKING:
    from workbench.report import Report

__all__ = ["plot_labels"]

_LINE_HEIGHT, _FRAME = 34, 90  # pixels
# Right verdicts in the first colour, mistakes in the second, at both labels.
_PARTS = ((True, True, 0), (True, False, 1), (False, False, 0), (False, True, 1))


@figure("labels", "Against labels", fits=lambda report: report.labels is not None)
def plot_labels(report: Report, graders: Sequence[str] | None = None) -> Any:
    """Counts of accepted and refused rows, by label: known good to the right, known bad to the left.

    Args:
        report: What to draw; it has labels.
        graders: Names, in this order; None for all.

    Returns:
        A `plotly.graph_objects.Figure`: four bars a grader, mistakes in another colour and outermost.

    Raises:
        ReportError: An unknown grader.
    """
    from plotly import graph_objects as go

    names = chosen(report, graders)
    drawn = go.Figure(layout=bare_layout(_FRAME + _LINE_HEIGHT * len(names), barmode="relative", bargap=0.35))
    for label, accepted, colour in _PARTS:
        drawn.add_trace(_bars(report, names, (label, accepted), COLOURS[colour]))
    drawn.update_yaxes(**grader_ticks(names), autorange="reversed")
    title = "← known bad &nbsp; rows &nbsp; known good →"
    drawn.update_xaxes(title={"text": title}, zeroline=True, zerolinecolor="#808080", tickformat=",~s")
    return drawn


def _bars(report: Report, names: Sequence[str], which: tuple[bool, bool], colour: str) -> Any:
    from plotly import graph_objects as go

    label, accepted = which
    counts = [_count(report, name, label=label, accepted=accepted) for name in names]
    said = f"known {'good' if label else 'bad'}, {'accepted' if accepted else 'refused'}"
    return go.Bar(
        orientation="h",
        y=list(range(len(names))),
        x=[count if label else -count for count in counts],
        customdata=[[{"label": label}, {"grader": name, "passed": accepted}] for name in names],
        hovertext=[
            f"{text(name)}<br>{said}: {count:,} rows" for name, count in zip(names, counts, strict=True)
        ],
        hovertemplate="%{hovertext}<extra></extra>",
        marker={"color": colour, "line": {"width": 0}},
        name=said,
    )


def _count(report: Report, name: str, *, label: bool, accepted: bool) -> int:
    case = case_of(report, name)
    return int(((case.labels[case.rows] == int(label)) & (case.accepted == accepted)).sum())
