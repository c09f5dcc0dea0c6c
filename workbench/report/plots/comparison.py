"""Figures that compare graders on the same rows: two by their scores, many by the share of rows on which they differ."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from workbench.core.errors import ReportError
from workbench.core.grades import SCORED
from workbench.report.plots import (
    SHADES,
    bare_layout,
    figure,
    grader_ticks,
    graders_to_draw,
    shade_range,
    text,
)
from workbench.report.selection import edges_of, joint
from workbench.report.where import matching

if TYPE_CHECKING:
    from workbench.report import Report


_MAX_LEVELS = 6  # distinct scores; graders with more are shown in bins
_LEVEL_TOLERANCE = 1e-8
"""Share of a grader's span: closer levels share a cell. Ten times the tolerance of bins, which must separate cells."""
_HEIGHT = 380  # pixels


@figure("comparison", "Score by score", fits=lambda report: len(report.graders) > 1, pair=True, position=4)
def plot_comparison(report: Report, graders: Sequence[str] | None = None) -> Any:
    """Number of rows for each pair of scores: rows with equal scores are on the diagonal.

    Graders with at most six distinct scores get a cell for each pair of scores, others one for each pair of bins.

    Args:
        report: What to draw.
        graders: Two names; the first two by default.

    Returns:
        A `plotly.graph_objects.Figure`; a click on a cell selects its rows.

    Raises:
        ReportError: An unknown grader, or not two names.
    """
    from plotly import graph_objects as go

    names = graders_to_draw(report, report.graders[:2] if graders is None else graders)
    if len(names) != 2:
        raise ReportError("a comparison needs two graders", found=", ".join(map(repr, names)) or "none")
    across, up = (_cells(report, name) for name in names)
    counts = _counts(report, names, (across, up))
    has_few_cells = len(across) <= _MAX_LEVELS and len(up) <= _MAX_LEVELS
    heat = go.Heatmap(
        # A cell without a value remains blank, while a 0 would get the lowest shade.
        z=[[count or None for count in row] for row in counts],
        customdata=[[_conditions(names, (x, y)) for x in across] for y in up],
        hovertext=[[_hover(names, (x, y), counts[j][i]) for i, x in enumerate(across)] for j, y in enumerate(up)],
        hovertemplate="%{hovertext}<extra></extra>",
        text=[[f"{count:,}" if count else "" for count in row] for row in counts],
        texttemplate="%{text}" if has_few_cells else "",
        showscale=False, xgap=1, ygap=1, **shade_range(max((count for row in counts for count in row), default=0)),
    )  # fmt: skip
    axes = [
        {**_axis(cells), "title": {"text": text(name, 40)}}
        for name, cells in zip(names, (across, up), strict=True)
    ]
    return go.Figure(heat, layout=bare_layout(_HEIGHT, template=SHADES, xaxis=axes[0], yaxis=axes[1]))


class _Cell(NamedTuple):
    """Scores from `lo` up to `hi`, without `hi` itself except in the last cell."""

    lo: float
    hi: float
    name: str


def _cells(report: Report, name: str) -> list[_Cell]:
    """The cells of one grader: one for each level if there are few, else its bins. Each score is in exactly one."""
    scores = _scores(report, name)
    levels, edges = np.unique(scores), edges_of(scores)
    if len(levels) <= _MAX_LEVELS:
        return _cells_around(levels, edges)
    return [_Cell(lo, hi, f"{lo:.3g} to {hi:.3g}") for lo, hi in itertools.pairwise(edges.tolist())]


def _cells_around(levels: NDArray[np.float64], edges: NDArray[np.float64]) -> list[_Cell]:
    """Cells that meet halfway between neighbouring levels."""
    halves = levels / 2  # the span of two finite scores may be infinite
    is_gap = np.diff(halves) > _LEVEL_TOLERANCE * (edges[-1] / 2 - edges[0] / 2)
    midpoints = (halves[:-1] + halves[1:])[is_gap].tolist()
    ends = [float(edges[0]), *midpoints, float(edges[-1])] if len(levels) else []
    level_groups = [part.tolist() for part in np.split(levels, np.flatnonzero(is_gap) + 1)]
    return [
        _Cell(*pair, name) for pair, name in zip(itertools.pairwise(ends), _names(level_groups), strict=False)
    ]


def _names(parts: Sequence[Sequence[float]]) -> list[str]:
    """Each cell's level, or its lowest and highest, with the fewest digits that keep the names distinct."""
    for digits in range(3, 18):
        names = [
            " to ".join(dict.fromkeys(f"{x:.{digits}g}" for x in (part[0], part[-1])))
            for part in parts
            if part
        ]
        if len(set(names)) == len(names):
            break
    return names


def _scores(report: Report, name: str) -> NDArray[np.float64]:
    grades = report.grades[name]
    scores: NDArray[np.float64] = grades.scores[grades.codes == SCORED]
    return scores


def _axis(cells: Sequence[_Cell]) -> dict[str, Any]:
    marks = list(range(len(cells)))
    plain = {"showgrid": False, "zeroline": False, "automargin": True, "tickvals": marks}
    if len(cells) <= _MAX_LEVELS:
        return {**plain, "ticktext": [cell.name for cell in cells]}
    ticks = marks[:: max(1, len(marks) // 5)]
    return {**plain, "tickvals": ticks, "ticktext": [f"{cells[at].lo:.3g}" for at in ticks]}


def _conditions(names: Sequence[str], cells: tuple[_Cell, _Cell]) -> list[dict[str, Any]]:
    return [{"grader": name, "score": [cell.lo, cell.hi]} for name, cell in zip(names, cells, strict=True)]


def _counts(
    report: Report, names: Sequence[str], cells: tuple[Sequence[_Cell], Sequence[_Cell]]
) -> list[list[int]]:
    """Rows in each cell, one list for each cell of the second grader."""
    a, b = (report.grades[name] for name in names)
    across, up = (np.array([*(cell.lo for cell in part), *(cell.hi for cell in part[-1:])]) for part in cells)
    counts: list[list[int]] = joint(a, b, a_edges=across, b_edges=up).counts.T.tolist()
    return counts


def _hover(names: Sequence[str], cells: tuple[_Cell, _Cell], count: int) -> str:
    lines = [f"{text(name)}: {cell.name}" for name, cell in zip(names, cells, strict=True)]
    return "<br>".join([*lines, f"{count:,} rows"])


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
    layout |= {"xaxis": ticks, "yaxis": {**ticks, "autorange": "reversed"}}
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
