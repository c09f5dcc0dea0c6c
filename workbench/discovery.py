"""Things that are found by being there: every module of a package is loaded, and registers what it holds."""

from __future__ import annotations

from importlib import import_module
from pkgutil import walk_packages
from types import ModuleType

__all__ = ["load_modules"]


def load_modules(package: ModuleType, *, but: tuple[str, ...] = ()) -> None:
    """Load every module of a package and of the packages in it, by name.

    Args:
        package: Where they are.
        but: Packages in it, by their own names, whose modules hold nothing to register.
    """
    left_out = tuple(f"{package.__name__}.{name}" for name in but)
    for module in walk_packages(package.__path__, f"{package.__name__}."):
        if not module.name.startswith(left_out):
            import_module(module.name)
