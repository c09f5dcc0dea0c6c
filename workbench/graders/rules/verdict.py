"""The return value of every rule."""

from __future__ import annotations

from typing import Any

Verdict = tuple[float, str, dict[str, Any]]
"""Score, reason as text, details as plain JSON values."""


def verdict(passed: bool, yes: str, no: str, **details: Any) -> Verdict:
    """1.0 or 0.0, with the corresponding reason."""
    return (1.0, yes, details) if passed else (0.0, no, details)


def listed(names: Any) -> str:
    """Names as Umbraco's messages list them: `[a, b]`."""
    return f"[{', '.join(names)}]"
