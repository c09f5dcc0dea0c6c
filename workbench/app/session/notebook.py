"""The running notebook: its names, and which of them a grader cannot have."""

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
    """Why a cell's grader cannot be bound to a name: it would shadow something else; "" if it can."""
    owner = "a Python keyword" if keyword.iskeyword(name) else ""
    owner = owner or ("a builtin" if hasattr(builtins, name) else "")
    owner = owner or ("an IPython name" if name in _IPYTHON or _HISTORY.fullmatch(name) else "")
    return owner or ("a module of this notebook" if isinstance(namespace.get(name), ModuleType) else "")


def notebook_names() -> Mapping[str, Any]:
    """The names of the running notebook; none outside of one."""
    if "IPython" not in sys.modules:
        return {}
    from IPython import get_ipython

    return getattr(get_ipython(), "user_ns", {})
