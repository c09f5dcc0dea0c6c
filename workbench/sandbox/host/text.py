"""Text from the sandbox, made fit to be shown."""

from __future__ import annotations

from workbench.display_text import HIDDEN

__all__ = ["clean"]


def clean(text: str, limit: int = 2000) -> str:
    """Cut to `limit` characters and replace what could fool a reader or break an encoder by U+FFFD."""
    return HIDDEN.sub("\ufffd", text[:limit])
