"""Packages that only some features need: what works without them, and the command that installs each."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from typing import NamedTuple

from workbench.core.errors import MissingPackageError


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
