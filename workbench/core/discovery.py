"""Modules and packages found by name: modules that register themselves, those of higher levels, and optional packages.

Modules import only from lower levels. A method that delegates to a higher level (`grader.run(...)`, `report.plot()`) looks up
the function by name when it is called, only through `higher_level`, whose list is the complete list of exceptions.

Optional packages are those that only some features need; everything else works without them.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from importlib.util import find_spec
from pkgutil import walk_packages
from types import ModuleType
from typing import Any, NamedTuple

from workbench.core.errors import MissingPackageError


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
    "read_graders": ("workbench.formats", "read_graders"),
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


class OptionalPackage(NamedTuple):
    """A package that a part of the product needs.

    Attributes:
        module: The module that is imported.
        install: What pip is given.
        feature: What needs it.
    """

    module: str
    install: str
    feature: str


OPTIONAL = (
    OptionalPackage("plotly", "plotly", "figures: report.plot(), probe.plot()"),
    OptionalPackage("anywidget", "anywidget ipywidgets", "the app in a notebook"),
    OptionalPackage("ipywidgets", "ipywidgets", "the app in a notebook"),
    OptionalPackage("traitlets", "ipywidgets", "the app in a notebook"),
    OptionalPackage("IPython", "ipython", "the app and %%grader in a notebook"),
    OptionalPackage("openai", "'openai[aiohttp]'", "judges that call a model, and OpenAI's files"),
    OptionalPackage("sqlalchemy", "sqlalchemy", "a store: wb.open_store()"),
    OptionalPackage("rapidfuzz", "rapidfuzz", "text similarity"),
    OptionalPackage("quickjs", "quickjs-ng", "JavaScript graders"),
    OptionalPackage("dask", "'grader-workbench[scale]'", "runs on a cluster"),
    OptionalPackage("starlette", "'grader-workbench[serve]'", "workbench serve"),
    OptionalPackage("uvicorn", "'grader-workbench[serve]'", "workbench serve"),
    OptionalPackage("openpyxl", "'grader-workbench[excel]'", "Excel files"),
    OptionalPackage("psycopg", "'grader-workbench[postgres]'", "a store in PostgreSQL"),
    OptionalPackage("opentelemetry", "'grader-workbench[telemetry]'", "OpenTelemetry events"),
    OptionalPackage("math_verify", "'grader-workbench[math]'", "MathEqual(engine='math-verify')"),
    OptionalPackage("duckdb", "'grader-workbench[duckdb]'", "SqlResult(dialect='duckdb')"),
    OptionalPackage("jupyterlab", "'grader-workbench[lab]'", "workbench lab"),
)
"""Everything else works without them; `docs/install.md` has the list of what is needed then."""

_BY_MODULE = {package.module: package for package in OPTIONAL}


def is_installed(package: OptionalPackage) -> bool:
    """Whether its module can be found; nothing is imported."""
    try:
        return find_spec(package.module) is not None
    except ModuleNotFoundError:  # an import hook refuses it
        return False


def check_installed(module: str) -> None:
    """Raise if one of `OPTIONAL` is not installed.

    Raises:
        MissingPackageError: With the command that installs it.
    """
    if not is_installed(_BY_MODULE[module]):
        raise missing(_BY_MODULE[module])


def named(error: ModuleNotFoundError) -> ModuleNotFoundError:
    """The error that names feature and command if the module is one of `OPTIONAL`; any other one unchanged."""
    package = _BY_MODULE.get((error.name or "").partition(".")[0])
    return error if package is None or isinstance(error, MissingPackageError) else missing(package)


@contextmanager
def needed_packages() -> Iterator[None]:
    """Name the feature and the command if one of `OPTIONAL` cannot be imported.

    Raises:
        MissingPackageError: Instead of Python's own error, which names a module only.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        if (better := named(error)) is error:
            raise
        raise better from error


def missing(package: OptionalPackage) -> MissingPackageError:
    """The error for a package that is not installed."""
    return MissingPackageError(
        f"the package {package.module} is not installed",
        expected=f"it is needed for {package.feature}", hint=f"pip install {package.install}",
    )  # fmt: skip
