"""Keys taken out of what servers say: some repeat what they were sent."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

__all__ = ["hide", "hide_in"]

_LIKE_A_KEY = re.compile(r"\b(?:(?:sk|pk)[-_]|Bearer )[\w*.-]{6,}")


_SHORTEST, _SHORTEST_IN_DATA = 8, 16
"""Characters of a secret that is looked for, in errors and in answers. A server of one's own is given "x" or "EMPTY"
for a key, and no answer may lose its words to that; real keys are longer."""


def hide(text: str, secrets: Sequence[str]) -> str:
    """A text without the secrets, and without anything that looks like a key.

    Example:
        >>> hide("bad key hunter2hunter2, not sk-abc123456", ["hunter2hunter2"])
        'bad key ***, not ***'
    """
    for secret in secrets:
        if len(secret) >= _SHORTEST:
            text = text.replace(secret, "***")
    return _LIKE_A_KEY.sub("***", text)


def hide_in(told: Any, secrets: Sequence[str]) -> Any:
    """JSON data without the secrets; the same object where none stands in it."""
    found = [secret for secret in secrets if len(secret) >= _SHORTEST_IN_DATA and secret in repr(told)]
    if not found:
        return told
    text = json.dumps(told, ensure_ascii=False)
    for secret in found:
        text = text.replace(json.dumps(secret, ensure_ascii=False)[1:-1], "***")
    return json.loads(text)
