"""Methods that call upward: `grader.run(...)`, `report.plot()`, `report.to_html(...)`.

Modules import from lower levels only. A method that hands its work to a higher level looks the function up by name when
it is called, here and nowhere else, so that the list below is the whole list of exceptions.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

__all__ = ["higher_level"]

_FUNCTIONS = {
    "run": ("workbench.suite", "run"),
    "draw": ("workbench.plots", "draw"),
    "figures_for": ("workbench.plots", "figures_for"),
    "draw_forecast": ("workbench.plots.figures.forecast", "draw_forecast"),
    "write_html": ("workbench.html", "write_html"),
    "write_certificate": ("workbench.html", "write_certificate"),
}


def higher_level(name: str) -> Callable[..., Any]:
    """The function of a higher level behind a convenience method.

    Raises:
        KeyError: Not one of the listed exceptions.
    """
    module, attribute = _FUNCTIONS[name]
    function: Callable[..., Any] = getattr(importlib.import_module(module), attribute)
    return function
