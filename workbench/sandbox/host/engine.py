"""Where the JavaScript engine is, and how to get it where it is not."""

from __future__ import annotations

import importlib.util

from workbench.errors import SandboxError

__all__ = ["engine_path", "require_engine"]


def engine_path() -> str:
    """The file of the JavaScript engine (package `quickjs-ng`), "" where it is not installed."""
    try:
        spec = importlib.util.find_spec("_quickjs")
    except (ImportError, ValueError):
        return ""
    return (spec.origin or "") if spec is not None else ""


def require_engine() -> None:
    """Refuse to go on without the JavaScript engine.

    Raises:
        SandboxError: It is not installed; how to get it, and for which systems there are wheels.
    """
    if engine_path():
        return
    raise SandboxError(
        "JavaScript graders need the package quickjs-ng, which is not installed",
        expected="the module _quickjs of quickjs-ng",
        hint="pip install quickjs-ng, then restart Python; there are wheels for Linux (x86_64, aarch64), macOS on "
        "Apple silicon and Windows; on an Intel Mac it is built from source and needs a C compiler",
    )
