"""OpenAI's Batch API: a file of requests is uploaded, and the file of replies is downloaded hours later, at a lower price."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from workbench.core.user_functions import attempt_async
from workbench.judges.cache import QueuedRequest
from workbench.judges.chat_request import read_completion
from workbench.judges.openai_client import OpenAIClient, new_client
from workbench.judges.prices import price_of
from workbench.judges.protocol import Reply
from workbench.judges.response import RequestFailedError, RequestTarget, fault_of, refusal_fault
from workbench.judges.responses_api import APIS, chat_completion

MAX_REQUESTS, MAX_BYTES = 50_000, 190 * 2**20
"""Maximum requests and bytes of one batch. Source: OpenAI's API reference, 50,000 and 200 MB; less, since a MB may be either."""
_MAX_FILE_BYTES = 2**31
"""Maximum bytes of a file of replies. Workbench limit: 50,000 of the longest replies."""
_TRIES = 3
"""Tries of the package after a transient fault."""
_ENDED = frozenset({"completed", "failed", "expired", "cancelled"})


@dataclass(frozen=True)
class BatchState:
    """What a server reports about a batch.

    Attributes:
        id: Its name at the server.
        status: "validating", "in_progress", "finalizing", "completed", "failed", "expired", "cancelling" or "cancelled".
        total: Number of requests.
        done: Requests with an outcome so far.
        files: Ids of the files of replies and errors, if there are any.
        problem: Why the server rejected the file; "" if it did not.
    """

    id: str
    status: str
    total: int = 0
    done: int = 0
    files: tuple[str, ...] = ()
    problem: str = ""

    @property
    def has_ended(self) -> bool:
        """Whether its files are complete."""
        return self.status in _ENDED


@dataclass(frozen=True)
class BatchOutcome:
    """The outcome of one request of a batch.

    Attributes:
        key: The key under which its reply is to be stored.
        reply: The reply, with its cost at the price of a batch; None if it failed.
        error: Why it failed.
    """

    key: str
    reply: Reply | None
    error: str = ""


class BatchApi:
    """The batches of one client's server.

    Args:
        client: The client, whose key, headers and query are used.
    """

    def __init__(self, client: OpenAIClient) -> None:
        self._client = client

    def _target(self, model: str = "") -> RequestTarget:
        return self._client.target(model)

    async def submit(self, requests: Iterable[QueuedRequest]) -> BatchState:
        """Upload the file of these requests, which call one model, and start a batch.

        Raises:
            JudgeServerError: The server rejected it, or cannot be reached.
        """
        path = f"/v1{APIS[self._client.api]}"
        data = b"".join(request.line(path) for request in requests)

        async def send(server: Any, extras: Mapping[str, Any]) -> Any:
            file = await server.files.create(file=("requests.jsonl", data), purpose="batch", **extras)
            return await server.batches.create(
                input_file_id=file.id, endpoint=path, completion_window="24h", **extras
            )

        return _state(await self._call(send), self._target())

    async def state(self, batch: str) -> BatchState:
        """What the server reports about a batch.

        Raises:
            JudgeServerError: There is no such batch, or the server cannot be reached.
        """

        async def look(server: Any, extras: Mapping[str, Any]) -> Any:
            return await server.batches.retrieve(batch, **extras)

        return _state(await self._call(look), self._target())

    async def outcomes(self, state: BatchState, model: str) -> Iterator[BatchOutcome]:
        """The outcome of each request in the files of a batch that has ended.

        Raises:
            JudgeServerError: A file cannot be downloaded.
        """

        async def download(server: Any, extras: Mapping[str, Any]) -> list[bytes]:
            return [(await server.files.content(file, **extras)).content for file in state.files]

        texts = await self._call(download)
        target = self._target(model)
        lines = (line for text in texts for line in text.splitlines() if line.strip())
        return (
            outcome for line in lines if (outcome := _outcome(line, target, self._client.api)) is not None
        )

    async def _call(self, work: Callable[[Any, Mapping[str, Any]], Awaitable[Any]]) -> Any:
        target = self._target()
        headers, query = self._client.extras.resolved(target.address)
        # A separate client: files are larger than replies may be.
        server = new_client(target.address, max_bytes=_MAX_FILE_BYTES, max_retries=_TRIES)

        async def worked() -> Any:
            async with server:
                server.api_key = target.key or "none"
                extra_headers: dict[str, Any] = dict(headers)
                if not target.key and not self._client.extras.has_authorization:
                    from openai import Omit

                    extra_headers["Authorization"] = Omit()
                return await work(server, {"extra_headers": extra_headers, "extra_query": query})

        result = await attempt_async(worked())  # the package's transports raise their own exceptions
        if isinstance(result, Exception):
            # Not from it: it would become the context, and contains the request with the key.
            raise fault_of(result, target).error
        return result


def _state(batch: Any, target: RequestTarget) -> BatchState:
    """The state in a batch object of the server, whose fields may have any type."""
    counts = getattr(batch, "request_counts", None)
    done = [getattr(counts, name, 0) for name in ("completed", "failed")]
    files = [getattr(batch, name, None) for name in ("output_file_id", "error_file_id")]
    errors = getattr(getattr(batch, "errors", None), "data", None) or ()
    problems = [f"{error.message}" + (f" (line {error.line})" if error.line else "") for error in errors]
    return BatchState(
        str(batch.id), str(batch.status), _count(getattr(counts, "total", 0)), sum(map(_count, done)),
        tuple(file for file in files if isinstance(file, str) and file), target.clean("; ".join(problems[:3])),
    )  # fmt: skip


def _count(value: Any) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else 0


def _outcome(line: bytes, target: RequestTarget, api: str) -> BatchOutcome | None:
    """The outcome in one line of a file; None for a line without a key."""
    try:
        data = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(data, Mapping) or not isinstance(key := data.get("custom_id"), str):
        return None
    response = data.get("response")
    if not isinstance(response, Mapping) or not isinstance(status := response.get("status_code"), int):
        error = data.get("error")
        message = error.get("message") if isinstance(error, Mapping) else None
        return BatchOutcome(key, None, target.clean(str(message or error or "no response")))
    body = response.get("body")
    if not 200 <= status < 300:
        error = body.get("error") if isinstance(body, Mapping) else None
        message = error.get("message") if isinstance(error, Mapping) else body
        return BatchOutcome(
            key, None, str(refusal_fault(status, "", target.clean(str(message)), {}, target).error)
        )
    try:
        reply = read_completion(body if api == "chat" else chat_completion(body), target, 0.0)
    except RequestFailedError as failure:
        return BatchOutcome(key, None, str(failure.fault.error))
    return BatchOutcome(key, _at_batch_price(reply, target.model))


def _at_batch_price(reply: Reply, model: str) -> Reply:
    usage, price = reply.usage, price_of(model)
    if usage is not None and usage.cost is None and price is not None:
        usage = replace(usage, cost=price.of(usage) * price.batch)
    return replace(reply, usage=usage, raw={**reply.raw, "batch": True})
