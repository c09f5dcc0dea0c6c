"""Location of the JavaScript engine, and how to install it if it is missing."""

from __future__ import annotations

import importlib.util

from workbench.core.errors import SandboxError

__all__ = ["engine_path", "require_engine"]


def engine_path() -> str:
    """Path of the JavaScript engine (package `quickjs-ng`); "" if it is not installed."""
    try:
        spec = importlib.util.find_spec("_quickjs")
    except (ImportError, ValueError):
        return ""
    return (spec.origin or "") if spec is not None else ""


def require_engine() -> None:
    """Require the JavaScript engine.

    Raises:
        SandboxError: It is not installed; the hint explains how to install it and which systems have wheels.
    """
    if engine_path():
        return
    raise SandboxError(
        "JavaScript graders need the package quickjs-ng, which is not installed",
        expected="the module _quickjs of quickjs-ng",
        hint="pip install quickjs-ng, then restart Python; wheels exist for Linux (x86_64, aarch64), macOS on "
        "Apple silicon and Windows; on an Intel Mac pip builds it from source, which needs a C compiler",
    )
