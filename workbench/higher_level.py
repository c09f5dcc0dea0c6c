"""Conveniences that reach up the house: `grader.run(...)`, `report.plot()`.

Modules import downward only. A method that must hand its work to a higher room looks that room up by
name when it is called, here and nowhere else, so that the list below is the list of exceptions.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

__all__ = ["upstairs"]

_ROOMS = {
    "run": ("workbench.suite", "run"),
    "plot_scores": ("workbench.plots", "plot_scores"),
    "write_html": ("workbench.html", "write_html"),
}


def upstairs(name: str) -> Callable[..., Any]:
    """The function of a higher room behind a convenience method.

    Raises:
        KeyError: Not one of the listed exceptions.
    """
    module, attribute = _ROOMS[name]
    function: Callable[..., Any] = getattr(importlib.import_module(module), attribute)
    return function
