"""Answers kept by what was asked, so that no row is paid for twice."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any, Protocol, runtime_checkable

from workbench.judges.protocol import Messages, Reply

__all__ = ["ReplyStore", "content_key"]

_PART = 2_000
"""Bytes hashed at a time: more would hand the interpreter to another thread, and waiting for it costs more."""
_NOT_CONTENT = frozenset({"timeout", "max_retries"})
"""Settings that say how to ask, not what."""


@runtime_checkable
class ReplyStore(Protocol):
    """Where answers are kept. `workbench.store` has one on a database."""

    async def get(self, key: str) -> Reply | None:
        """The answer under a key, None where there is none."""
        ...

    async def put(self, key: str, reply: Reply, *, model: str) -> None:
        """Keep an answer; returns when it would survive the process."""
        ...


def content_key(server: str, messages: Messages, settings: Mapping[str, Any]) -> str:
    """The key of a question: 64 hexadecimal digits of BLAKE2b over who is asked, the messages and the settings.

    Args:
        server: Who is asked: two servers may call different models by one name.
        messages: As they are sent.
        settings: Model, temperature, format and so on; time limits and retries are left out.
    """
    asked = {
        name: value for name, value in settings.items() if name not in _NOT_CONTENT and value is not None
    }
    text = json.dumps([server, messages, asked], sort_keys=True, separators=(",", ":"), default=str)
    data, digest = text.encode("utf-8", "surrogatepass"), hashlib.blake2b(digest_size=32)
    for start in range(0, len(data), _PART):
        digest.update(data[start : start + _PART])
    return digest.hexdigest()
