"""Removes API keys from what servers answer: some repeat what they were sent."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

__all__ = ["hide_secrets", "hide_secrets_in_data"]

_KEY_PATTERN = re.compile(r"\b(?:(?:sk|pk)[-_]|Bearer )[\w*.-]{6,}")

_MIN_LENGTH, _MIN_LENGTH_IN_DATA = 8, 16
"""Characters that a secret must have to be removed from error texts, and from answers. Local servers are often given a
key such as "x" or "EMPTY": removing that would damage answers. Real keys are longer."""


def hide_secrets(text: str, secrets: Sequence[str]) -> str:
    """A text without the secrets, and without anything that looks like a key.

    Example:
        >>> hide_secrets("bad key hunter2hunter2, not sk-abc123456", ["hunter2hunter2"])
        'bad key ***, not ***'
    """
    for secret in secrets:
        if len(secret) >= _MIN_LENGTH:
            text = text.replace(secret, "***")
    return _KEY_PATTERN.sub("***", text)


def hide_secrets_in_data(data: Any, secrets: Sequence[str]) -> Any:
    """JSON data without the secrets; the same object where it holds none."""
    present = [secret for secret in secrets if len(secret) >= _MIN_LENGTH_IN_DATA and secret in repr(data)]
    if not present:
        return data
    text = json.dumps(data, ensure_ascii=False)
    for secret in present:
        # As it is spelled inside a JSON string: with its quotes and backslashes escaped.
        text = text.replace(json.dumps(secret, ensure_ascii=False)[1:-1], "***")
    return json.loads(text)
