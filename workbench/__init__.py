"""Grader workbench: write a grader in a cell, validate it, run it, diagnose it, export it.

The public names are listed in `__init__.pyi` and load on first use, so that `import workbench` stays fast.
"""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import lazy_loader

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

__version__ = "0.1.0"

_public, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)


_MODULES = {
    "errors": "workbench.core.errors",
    "session": "workbench.app.session",
    "widgets": "workbench.app.widgets",
}
"""Public modules that are inside a package."""


def __getattr__(name: str) -> Any:
    """Load a public name or a public module on first use."""
    if name in _MODULES:
        return import_module(_MODULES[name])
    # `from workbench import core` calls this first: a package is not a misspelt name, and must not be loaded.
    if name not in __all__ and not name.startswith("_") and find_spec(f"{__name__}.{name}") is None:
        raise AttributeError(f"workbench has no {name!r}{_suggestion(name)}")
    try:
        return _public(name)
    except ModuleNotFoundError as error:
        from workbench.core.discovery import named

        raise named(error) from error


def _suggestion(name: str) -> str:
    """The closest public name, including those in `combine`, `judges` and `errors`."""
    import difflib

    names = {public.lower(): public for public in __all__}
    for module in ("combine", "judges", "errors"):
        names |= {public.lower(): f"{module}.{public}" for public in _public(module).__all__}
    near = difflib.get_close_matches(name.lower(), names, n=1)
    return f"; did you mean wb.{names[near[0]]}?" if near else "; dir(workbench) lists the public names"


def load_ipython_extension(shell: InteractiveShell) -> None:
    """`%load_ext workbench`: registers `%%grader`."""
    from workbench.app.widgets.notebook import load

    load(shell)
