"""Reports as plotly figures: their register, and what they share.

Each module of this package contains figures of one subject, each registered by `@figure(name, title)`; the app offers all
of them. Their size does not depend on the number of rows: only counts are drawn. Every clickable mark has in `customdata` a
list of conditions for `report.row_numbers(*conditions)`.
"""

from __future__ import annotations

import html
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from workbench.core.discovery import load_modules, needed_packages, refuse_taken
from workbench.core.display_text import one_line
from workbench.core.errors import ReportError
from workbench.report.selection import check_graders

if TYPE_CHECKING:
    from workbench.report import Report


INK, QUIET, LINE = "#808080", "#8a8a8a", "rgba(128,128,128,0.3)"
COLOURS = ("#4c8bd6", "#d9822b", "#3d9970", "#b46ad1", "#c75d5d")
SHADES = {
    "data": {"heatmap": [{"colorscale": [[0.0, "rgba(76,139,214,0.06)"], [1.0, "rgba(76,139,214,1)"]]}]}
}
"""A template for counts: from nearly transparent to the first colour. A live chart uses the page's background instead."""
LEGEND = {
    "orientation": "h",
    "x": 0,
    "y": 1,
    "yanchor": "bottom",
    "itemclick": False,
    "itemdoubleclick": False,
}
"""A legend above the bars. A click on it would hide bars that keyboard navigation still reaches."""
_FAINTEST = 0.25
"""Position of the smallest count between background (0) and first colour (1): fainter cells look empty."""


def shade_range(largest: float) -> dict[str, float]:
    """Settings of a heatmap whose cells without rows are None, so that the smallest count differs from the background.

    Args:
        largest: The largest value; the shade of 0 is a quarter of the way to it.
    """
    top = largest if largest > 0 else 1.0  # plotly ignores a range without a length
    return {"zmin": -top * _FAINTEST / (1 - _FAINTEST), "zmax": top}


def text(value: str, limit: int = 60) -> str:
    """A text inside a figure, escaped: plotly interprets some tags, and a grader's name may look like one."""
    return html.escape(one_line(value, limit), quote=False)


def bare_layout(height: int, **settings: Any) -> dict[str, Any]:
    """A layout with a transparent background, for light and dark pages.

    Args:
        height: Pixels.
        settings: Further settings, which override the defaults.
    """
    defaults = {
        "height": height,
        "showlegend": False,
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "font": {"color": INK, "size": 12},
        "margin": {"l": 56, "r": 24, "t": 28, "b": 40},
    }
    return {**defaults, **settings}


def graders_to_draw(report: Report, graders: Sequence[str] | None) -> list[str]:
    """Names of the graders to draw, in order: all of the report for None.

    Raises:
        ReportError: An unknown grader.
    """
    names = list(report.graders if graders is None else graders)
    check_graders(names, report.graders)
    return names


def grader_ticks(names: Sequence[str], limit: int = 28) -> dict[str, Any]:
    """Settings of an axis with one tick for each grader, numbered from 0.

    Args:
        names: The graders.
        limit: Characters of a name.
    """
    marks = list(range(len(names)))
    return {
        "tickvals": marks,
        "ticktext": [text(name, limit) for name in names],
        "automargin": True,
        "showgrid": False,
    }


Draw = Callable[["Report", Sequence[str] | None], Any]


@dataclass(frozen=True)
class FigureKind:
    """A figure of a report.

    Attributes:
        name: Its name in code.
        title: Its title.
        draw: Function from a report and names of graders (None for all) to a `plotly.graph_objects.Figure`.
        fits: Whether a report has the data it needs.
        pair: Whether it compares two graders, whose names it is called with.
        all_graders: Whether it makes sense only for all graders together, independent of the selection.
        position: Position among the offered figures: 0 first.
    """

    name: str
    title: str
    draw: Draw
    fits: Callable[[Report], bool]
    pair: bool = False
    all_graders: bool = False
    position: int = 100


FIGURES: dict[str, FigureKind] = {}
"""Every figure by its name."""


def figure(
    name: str,
    title: str,
    *,
    fits: Callable[[Report], bool] = lambda _: True,
    pair: bool = False,
    all_graders: bool = False,
    position: int = 100,
) -> Callable[[Draw], Draw]:
    """Register a function from a report to a figure; the app then offers it.

    Args:
        name: Short and hyphenated.
        title: As shown to users.
        fits: Whether a report has the data it needs.
        pair: Whether it compares two graders, whose names it is called with.
        all_graders: Whether it makes sense only for all graders together, independent of the selection.
        position: Position among the offered figures: 0 first; after the bundled ones by default.

    Raises:
        ValueError: Another function has the name.
    """

    def register(draw: Draw) -> Draw:
        taken = FIGURES.get(name)
        refuse_taken("figure", name, taken and taken.draw, draw)
        FIGURES[name] = FigureKind(name, title, draw, fits, pair, all_graders, position)
        return draw

    return register


def draw(report: Report, graders: Sequence[str] | None = None, name: str = "scores") -> Any:
    """Draw a report's figure by name.

    Args:
        report: What is drawn.
        graders: Names of graders, None for all; two for a figure that compares two.
        name: Of the figure.

    Raises:
        ReportError: Unknown figure, or the report lacks the data it needs.
    """
    kind = FIGURES.get(name)
    if kind is None or not kind.fits(report):
        fitting = [other for other, known in FIGURES.items() if known.fits(report)]
        raise ReportError(
            "unknown figure" if kind is None else "the report lacks the data for this figure",
            found=repr(name), expected=", ".join(fitting),
        )  # fmt: skip
    with needed_packages():
        return kind.draw(report, graders)


def figures_for(report: Report, *, pair: bool = False) -> list[FigureKind]:
    """The figures that fit a report, either those that compare two graders or the others, in order of position."""
    fitting = [kind for kind in FIGURES.values() if kind.pair is pair and kind.fits(report)]
    return sorted(fitting, key=lambda kind: (kind.position, kind.name))


# Each module registers its figures when it is loaded.
load_modules(sys.modules[__name__])
