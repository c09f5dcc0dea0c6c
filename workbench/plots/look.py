"""What all figures share: colours that stand out from white and from black alike, and texts that are no markup."""

from __future__ import annotations

import html
from collections.abc import Sequence
from typing import Any

from workbench.errors import ReportError
from workbench.visible import one_line

__all__ = ["COLOURS", "INK", "LINE", "QUIET", "SHADES", "bare_layout", "check_graders", "text"]

INK, QUIET, LINE = "#808080", "#8a8a8a", "rgba(128,128,128,0.3)"
COLOURS = ("#4c8bd6", "#d9822b", "#3d9970", "#b46ad1", "#c75d5d")
SHADES = {
    "data": {"heatmap": [{"colorscale": [[0.0, "rgba(76,139,214,0.06)"], [1.0, "rgba(76,139,214,1)"]]}]}
}
"""A template for counts: from nearly nothing to the first colour. A live chart has the page's own ground in its place."""


def text(value: str, limit: int = 60) -> str:
    """A text inside a figure: plotly reads a few tags, and a grader's name is no markup."""
    return html.escape(one_line(value, limit), quote=False)


def bare_layout(height: int, **rest: Any) -> dict[str, Any]:
    """A layout that sits on whatever the page's theme is.

    Args:
        height: Pixels.
        rest: Further settings, over these.
    """
    plain = {
        "height": height,
        "showlegend": False,
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "font": {"color": INK, "size": 12},
        "margin": {"l": 56, "r": 24, "t": 28, "b": 40},
    }
    return {**plain, **rest}


def check_graders(names: Sequence[str], known: Sequence[str]) -> None:
    """Refuse a grader that is not in the report.

    Raises:
        ReportError: With the names there are.
    """
    missing = [name for name in names if name not in known]
    if missing:
        raise ReportError(
            f"there is no grader {missing[0]!r} in this report", expected=" or ".join(map(repr, known))
        )
