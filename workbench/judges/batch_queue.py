"""The requests of a run that are to be sent as a batch, instead of one by one."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Protocol, runtime_checkable

from workbench.core.grade import ErrorKind
from workbench.judges.protocol import JudgeServerError, Messages


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
