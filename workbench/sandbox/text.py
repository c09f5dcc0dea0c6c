"""Text from the sandbox, made fit to be shown."""

from __future__ import annotations

import re

__all__ = ["clean"]

# Control characters except tab and newline, bidirectional overrides and isolates, lone surrogates.
_UNSAFE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ud800-\udfff]"
)


def clean(text: str, limit: int = 2000) -> str:
    """Cut to `limit` characters and replace what could fool a reader or break an encoder by U+FFFD."""
    return _UNSAFE.sub("\ufffd", text[:limit])
