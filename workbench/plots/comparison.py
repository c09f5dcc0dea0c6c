"""Two graders on the same rows: a matrix of their levels, or of their bins where they have many."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from workbench.errors import ReportError
from workbench.plots.look import SHADES, bare_layout, check_graders, text
from workbench.plots.register import figure
from workbench.report.bins import edges_of, within

if TYPE_CHECKING:
    from workbench.report import Report

__all__ = ["plot_comparison"]

_MOST_LEVELS = 6
_SLACK = 1e-6
_HEIGHT = 380  # pixels


@figure("comparison", "Score by score", fits=lambda report: len(report.graders) > 1, pair=True)
def plot_comparison(report: Report, graders: Sequence[str] | None = None) -> Any:
    """How many rows got which score from the one and from the other: equal ones lie on the diagonal.

    Graders with six scores or fewer get a cell for each pair of scores, others one for each pair of bins.

    Args:
        report: What to draw.
        graders: Two names; the first two by default.

    Returns:
        A `plotly.graph_objects.Figure`; a click on a cell means its rows.

    Raises:
        ReportError: An unknown grader, or another number than two.
    """
    from plotly import graph_objects as go

    names = list(report.graders[:2] if graders is None else graders)
    check_graders(names, report.graders)
    if len(names) != 2:
        raise ReportError("a comparison is of two graders", found=", ".join(map(repr, names)) or "none")
    across, up = (_cells(report, name) for name in names)
    counts = _counts(report, names, (across, up))
    few = len(across) <= _MOST_LEVELS and len(up) <= _MOST_LEVELS
    heat = go.Heatmap(
        z=[[count or None for count in line] for line in counts],
        customdata=[[_conditions(names, (x, y)) for x in across] for y in up],
        hovertext=[[_hover(names, (x, y), counts[j][i]) for i, x in enumerate(across)] for j, y in enumerate(up)],
        hovertemplate="%{hovertext}<extra></extra>",
        text=[[f"{count:,}" if count else "" for count in line] for line in counts],
        texttemplate="%{text}" if few else "",
        showscale=False, xgap=1, ygap=1, zmin=0,
    )  # fmt: skip
    axes = [
        {**_axis(cells), "title": {"text": text(name, 40)}}
        for name, cells in zip(names, (across, up), strict=True)
    ]
    return go.Figure(heat, layout=bare_layout(_HEIGHT, template=SHADES, xaxis=axes[0], yaxis=axes[1]))


Cell = tuple[float, float]


def _cells(report: Report, name: str) -> list[Cell]:
    """Ends of the cells of one grader: around each level where there are few, else its bins."""
    scores = _scored(report, name)
    levels = np.unique(scores)
    if len(levels) <= _MOST_LEVELS:
        return [(float(level) - _SLACK, float(level) + _SLACK) for level in levels]
    edges = edges_of(scores).tolist()
    return list(itertools.pairwise(edges))


def _scored(report: Report, name: str) -> NDArray[np.float64]:
    grades = report.grades[name]
    scores: NDArray[np.float64] = grades.scores[grades.codes == 1]
    return scores


def _axis(cells: Sequence[Cell]) -> dict[str, Any]:
    marks = list(range(len(cells)))
    plain = {"showgrid": False, "zeroline": False, "automargin": True, "tickvals": marks}
    if len(cells) <= _MOST_LEVELS:
        return {**plain, "ticktext": [_level(cell) for cell in cells]}
    shown = marks[:: max(1, len(marks) // 5)]
    return {**plain, "tickvals": shown, "ticktext": [f"{cells[at][0]:.3g}" for at in shown]}


def _level(cell: Cell) -> str:
    return f"{cell[0] / 2 + cell[1] / 2:.3g}"


def _conditions(names: Sequence[str], cells: tuple[Cell, Cell]) -> list[dict[str, Any]]:
    return [{"grader": name, "score": list(cell)} for name, cell in zip(names, cells, strict=True)]


def _counts(
    report: Report, names: Sequence[str], cells: tuple[Sequence[Cell], Sequence[Cell]]
) -> list[list[int]]:
    """Rows in each cell, a line a cell of the second grader."""
    across, up = (
        np.array([_inside(report, name, cell) for cell in part], dtype=np.float64).reshape(
            len(part), len(report)
        )
        for name, part in zip(names, cells, strict=True)
    )
    return [[int(count) for count in line] for line in up @ across.T]


def _inside(report: Report, name: str, cell: Cell) -> NDArray[np.bool_]:
    grades = report.grades[name]
    rows = np.zeros(len(grades), bool)
    scored = np.flatnonzero(grades.codes == 1)
    rows[scored[within(grades.scores[scored], *cell)]] = True
    return rows


def _hover(names: Sequence[str], cells: tuple[Cell, Cell], count: int) -> str:
    said = [
        f"{text(name)}: {_level(cell) if cell[1] - cell[0] < 3 * _SLACK else f'{cell[0]:.3g} to {cell[1]:.3g}'}"
        for name, cell in zip(names, cells, strict=True)
    ]
    return "<br>".join([*said, f"{count:,} rows"])
