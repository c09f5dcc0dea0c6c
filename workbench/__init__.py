"""Grader workbench: write a grader in a cell, prove it, run it, diagnose it, export it.

The public names stand in `__init__.pyi` and load on first use, so that `import workbench` stays light.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

import lazy_loader

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

__version__ = "0.1.0"

_public, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)


def __getattr__(name: str) -> Any:
    """Load a public name, or the session package: the lines that the app shows name its functions."""
    return import_module("workbench.session") if name == "session" else _public(name)


def load_ipython_extension(shell: InteractiveShell) -> None:
    """`%load_ext workbench`: registers `%%grader`."""
    from workbench.widgets.magics import load

    load(shell)
