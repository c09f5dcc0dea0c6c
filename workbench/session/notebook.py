"""The notebook that runs: its names, and which of them a grader may not take."""

from __future__ import annotations

import builtins
import keyword
import re
import sys
from collections.abc import Mapping
from types import ModuleType
from typing import Any

__all__ = ["notebook_names", "taken_by"]

_IPYTHON = frozenset({"In", "Out", "get_ipython", "exit", "quit", "display"})
_HISTORY = re.compile(r"_{1,3}|_i*\d*|_(oh|dh|ih)|__\w+__")


def taken_by(name: str, namespace: Mapping[str, Any]) -> str:
    """Why a cell's grader cannot have a name that Python can read: it would hide something else; "" where it can."""
    owner = "a Python keyword" if keyword.iskeyword(name) else ""
    owner = owner or ("a builtin" if hasattr(builtins, name) else "")
    owner = owner or ("IPython's own" if name in _IPYTHON or _HISTORY.fullmatch(name) else "")
    return owner or ("a module of this notebook" if isinstance(namespace.get(name), ModuleType) else "")


def notebook_names() -> Mapping[str, Any]:
    """The names of the notebook that runs; none outside of one."""
    if "IPython" not in sys.modules:
        return {}
    from IPython import get_ipython

    return getattr(get_ipython(), "user_ns", {})
