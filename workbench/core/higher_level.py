"""Methods that call upward: `grader.run(...)`, `report.plot()`, `report.to_html(...)`.

Modules import only from lower levels. A method that delegates to a higher level looks up the function by name when
it is called, only through this module, so that the list below is the complete list of exceptions.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

__all__ = ["higher_level"]

_FUNCTIONS = {
    "run": ("workbench.run.suite", "run"),
    "draw": ("workbench.report.plots", "draw"),
    "figures_for": ("workbench.report.plots", "figures_for"),
    "draw_forecast": ("workbench.report.plots.figures.forecast", "draw_forecast"),
    "write_html": ("workbench.report.page", "write_html"),
    "write_certificate": ("workbench.report.page", "write_certificate"),
}


def higher_level(name: str) -> Callable[..., Any]:
    """The function of a higher level for a convenience method.

    Raises:
        KeyError: It is not one of the listed exceptions.
    """
    module, attribute = _FUNCTIONS[name]
    function: Callable[..., Any] = getattr(importlib.import_module(module), attribute)
    return function
