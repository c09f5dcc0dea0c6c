"""Stores of replies, with a key for each request, so that no request is paid for twice, and requests that are sent as a batch."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, ClassVar, Protocol, runtime_checkable

from workbench.core.grade import ErrorKind
from workbench.judges.protocol import JudgeServerError, Messages, Reply
from workbench.judges.server import RequestLimit

_CHUNK = 2_000
"""Bytes hashed per call. From 2,048 on hashlib releases the interpreter lock (HASHLIB_GIL_MINSIZE), and acquiring it
again costs more than the hash."""
_MAX_CACHED_CHARACTERS = 10_000
"""Maximum characters of a message whose JSON is cached: instructions and examples are shorter, a row's conversation is not reused."""
_DELIVERY_SETTINGS = frozenset({"timeout", "max_retries"})
"""Settings that do not change the reply, and so are not part of the key."""


@runtime_checkable
class ReplyStore(Protocol):
    """A store of replies. `workbench.store` implements one in a database."""

    async def get(self, key: str) -> Reply | None:
        """The reply stored under a key; None if there is none."""
        ...

    async def put(self, key: str, reply: Reply, *, model: str) -> None:
        """Store a reply; returns when it would survive the end of the process."""
        ...


@runtime_checkable
class ClaimingReplyStore(ReplyStore, Protocol):
    """A store that several processes share, and that lets only one of them send a request at a time."""

    async def claim(self, key: str) -> bool:
        """Whether the caller is to send the request; if not, another process sends it, or the reply is stored."""
        ...

    def release(self, key: str) -> None:
        """Release a claim whose request got no reply to store."""
        ...


@runtime_checkable
class ForgettingReplyStore(ReplyStore, Protocol):
    """A store that may have replies that no judge has parsed yet: those of a batch."""

    def forget(self, key: str) -> None:
        """Delete a reply that could not be parsed, without waiting."""
        ...


def content_key(server: str, messages: Messages, settings: Mapping[str, Any]) -> str:
    """The key of a request: 64 hexadecimal digits of BLAKE2b over the server, the messages and the settings.

    Args:
        server: What identifies the server: two of them may use one name for different models.
        messages: As sent.
        settings: Model, temperature, format and so on; time limits and retries are left out.
    """
    # None is a setting that was not given, so it must not change the key.
    answer_settings = {
        name: value
        for name, value in settings.items()
        if name not in _DELIVERY_SETTINGS and value is not None
    }
    # Sorted, so that the order in which settings were given does not change the key.
    asked = ",".join([*map(_repeated_json, messages[:-1]), *map(_json, messages[-1:])])
    text = f"[{_json(server)},[{asked}],{_json(answer_settings)}]"
    data, digest = text.encode("utf-8", "surrogatepass"), hashlib.blake2b(digest_size=32)
    for start in range(0, len(data), _CHUNK):
        digest.update(data[start : start + _CHUNK])
    return digest.hexdigest()


def _json(value: Any) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"), default=str)


def _repeated_json(message: Mapping[str, Any]) -> str:
    """The JSON of a message before the last: a judge's instructions and examples, the same in all its requests."""
    is_plain = set(message) == {"role", "content"} and all(type(value) is str for value in message.values())
    if is_plain and len(message["content"]) <= _MAX_CACHED_CHARACTERS:
        return _turn_json(message["role"], message["content"])
    return _json(message)


@lru_cache(maxsize=64)
def _turn_json(role: str, content: str) -> str:
    return _json({"role": role, "content": content})


class UnstoredAnswerLimit(RequestLimit):
    """A limit of requests being sent and replies being stored.

    A reply that waits for a slow or locked store takes a slot. A run therefore never has more paid, unstored replies than
    the client sends concurrent requests: if the store never recovers, no more than those are lost. Unlike
    `acquire`, `storing` may exceed the limit.
    """

    @contextmanager
    def storing(self) -> Iterator[None]:
        """Take a slot while a reply is written. Never waits, because the reply is paid for already."""
        self.busy += 1
        try:
            yield
        finally:
            self.release()


class PendingError(JudgeServerError):
    """The request is in a batch, or will be sent in one at the end of the run."""

    kind: ClassVar[ErrorKind] = ErrorKind.PENDING


@runtime_checkable
class BatchClient(Protocol):
    """A client whose server has a batch API. `OpenAIClient` is one."""

    @property
    def address(self) -> str:
        """The URL of the server."""
        ...

    def batch_body(self, messages: Messages, settings: Mapping[str, Any]) -> dict[str, Any]:
        """The body of a request of a batch."""
        ...


@dataclass(frozen=True)
class QueuedRequest:
    """One request for a batch.

    Attributes:
        key: The key under which its reply is stored.
        client: The client that is to send it.
        model: The model that is called.
        body: As JSON.
    """

    key: str
    client: BatchClient
    model: str
    body: str

    def line(self, path: str) -> bytes:
        """Its line of a batch file."""
        head = json.dumps({"custom_id": self.key, "method": "POST", "url": path})
        return f'{head[:-1]}, "body": {self.body}}}\n'.encode()


@dataclass
class BatchQueue:
    """Requests of one run without a stored reply, each once. Used on one event loop.

    Attributes:
        pending: Keys of requests that are in an earlier batch.
        requests: New requests, by key.
        waiting: Keys in `pending` that this run needs.
    """

    pending: frozenset[str] = frozenset()
    requests: dict[str, QueuedRequest] = field(default_factory=dict)
    waiting: set[str] = field(default_factory=set)

    def is_new(self, key: str) -> bool:
        """Whether a request was not added yet, and is in no earlier batch."""
        if key in self.pending:
            self.waiting.add(key)
        return key not in self.pending and key not in self.requests

    def add(self, key: str, client: BatchClient, messages: Messages, settings: Mapping[str, Any]) -> None:
        """Add a request."""
        body = client.batch_body(messages, settings)
        text = json.dumps(body, ensure_ascii=False, separators=(",", ":"))
        self.requests[key] = QueuedRequest(key, client, str(body.get("model") or ""), text)
