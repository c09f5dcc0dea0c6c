"""Text from the sandbox, cleaned for display."""

from __future__ import annotations

from workbench.core.display_text import HIDDEN

__all__ = ["clean"]


def clean(text: str, limit: int = 2000) -> str:
    """Cut to `limit` characters and replace what could mislead a reader or break an encoder by U+FFFD."""
    return HIDDEN.sub("\ufffd", text[:limit])
