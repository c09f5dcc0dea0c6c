"""Modules found by name: those that register themselves, those of higher levels, and `jsonschema` without its grammar.

Modules import only from lower levels. A method that delegates to a higher level (`grader.run(...)`, `report.plot()`) looks up
the function by name when it is called, only through `higher_level`, whose list is the complete list of exceptions.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Callable
from importlib import import_module
from pkgutil import walk_packages
from types import ModuleType
from typing import Any


def load_modules(package: ModuleType, *, exclude: tuple[str, ...] = ()) -> None:
    """Import every module of a package and of its subpackages, by name.

    Args:
        package: The package.
        exclude: Subpackages, by their own names, without modules to register.
    """
    left_out = {f"{package.__name__}.{name}" for name in exclude}
    for module in walk_packages(package.__path__, f"{package.__name__}."):
        if not any(f"{module.name}.".startswith(f"{name}.") for name in left_out):
            import_module(module.name)


def refuse_taken(noun: str, name: str, taken: Any, new: Any) -> None:
    """Refuse a name that another function or class has; a rerun cell may replace its own definition.

    Args:
        noun: What is registered, such as "figure".
        name: Its name.
        taken: What is registered under it; None for nothing.
        new: The new function or class.

    Raises:
        ValueError: The name is taken; the message names the existing definition.
    """
    if taken is not None and taken.__qualname__ != new.__qualname__:
        raise ValueError(f"{noun} {name!r} is taken by {taken.__module__}.{taken.__qualname__}")


_FUNCTIONS = {
    "run": ("workbench.run.suite", "run"),
    "judge_with_examples": ("workbench.report.panels", "judge_with_examples"),
    "fit_panel": ("workbench.report.panels", "fit_panel"),
    "draw": ("workbench.report.plots", "draw"),
    "figures_for": ("workbench.report.plots", "figures_for"),
    "draw_forecast": ("workbench.report.plots.groups", "draw_forecast"),
    "write_html": ("workbench.report.page", "write_html"),
    "read_graders": ("workbench.formats.grader_sources", "read_graders"),
    "check": ("workbench.deploy.guard", "check"),
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


_GRAMMAR = "rfc3987_syntax"


def import_jsonschema() -> Any:
    """The package `jsonschema`, without compiling its grammar of internationalised addresses when it is imported.

    `jsonschema` imports `rfc3987_syntax` if it is installed, for example with Jupyter, and that takes 1 to 5 s. Only formats
    that no schema here uses need it; the first use of one imports it.
    """
    if "jsonschema" in sys.modules or _GRAMMAR in sys.modules or importlib.util.find_spec(_GRAMMAR) is None:
        return import_module("jsonschema")
    stand_in = ModuleType(_GRAMMAR)

    def is_valid_syntax(*arguments: Any) -> Any:
        return import_module(_GRAMMAR).is_valid_syntax(*arguments)

    stand_in.is_valid_syntax = is_valid_syntax  # type: ignore[attr-defined]
    sys.modules[_GRAMMAR] = stand_in
    try:
        return import_module("jsonschema")
    finally:
        del sys.modules[_GRAMMAR]
