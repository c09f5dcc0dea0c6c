"""The plain values of YAML 1.2's core schema: `yes`, `on` and `1:30` are texts there, which PyYAML reads otherwise."""

from __future__ import annotations

import re
from typing import Any

_FLOAT = (
    r"[-+]?(?:[0-9][0-9_]*(?:\.[0-9_]*)?(?:[eE][-+]?[0-9]+)?|\.[0-9_]+(?:[eE][-+]?[0-9]+)?)"
    r"|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)"
)
_PATTERNS = (
    ("bool", "true|True|TRUE|false|False|FALSE", "tTfF"),
    ("null", "~|null|Null|NULL|", ["~", "n", "N", ""]),
    ("int", "[-+]?(?:0b[01_]+|0o[0-7_]+|0x[0-9a-fA-F_]+|[0-9][0-9_]*)(?<!_)", "-+0123456789"),
    ("float", _FLOAT, "-+0123456789."),
)


def core_resolvers() -> dict[str, list[tuple[str, Any]]]:
    """Implicit resolvers for a loader of PyYAML, by the first character of a value."""
    resolvers: dict[str, list[tuple[str, Any]]] = {}
    for tag, pattern, first in _PATTERNS:
        for sign in first:
            resolvers.setdefault(sign, []).append(
                (f"tag:yaml.org,2002:{tag}", re.compile(f"^(?:{pattern})$"))
            )
    return resolvers
