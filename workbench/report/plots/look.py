"""Shared by all figures: colours that are readable on white and on black, and texts without markup."""

from __future__ import annotations

import html
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from workbench.core.display_text import one_line
from workbench.report.select import check_graders

if TYPE_CHECKING:
    from workbench.report import Report

__all__ = [
    "COLOURS",
    "INK",
    "LINE",
    "QUIET",
    "SHADES",
    "bare_layout",
    "grader_ticks",
    "graders_to_draw",
    "shade_range",
    "text",
]

INK, QUIET, LINE = "#808080", "#8a8a8a", "rgba(128,128,128,0.3)"
COLOURS = ("#4c8bd6", "#d9822b", "#3d9970", "#b46ad1", "#c75d5d")
SHADES = {
    "data": {"heatmap": [{"colorscale": [[0.0, "rgba(76,139,214,0.06)"], [1.0, "rgba(76,139,214,1)"]]}]}
}
"""A template for counts: from nearly transparent to the first colour. A live chart uses the page's background instead."""
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
