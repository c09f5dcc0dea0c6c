"""The `openai` package's client, on aiohttp where that is installed, with a limit on what an answer may hold."""

from __future__ import annotations

from collections.abc import AsyncIterator
from functools import cache
from typing import Any

from workbench.judges.client.faults import TooLargeError

__all__ = ["MAX_ANSWER", "new_client"]

MAX_ANSWER = 4 * 2**20
"""Bytes of an answer that are read."""


def new_client(address: str) -> Any:
    """A client that tries once; its key is set by whoever asks."""
    import openai

    hooks: dict[str, Any] = {"response": [_limit]}
    try:
        http = openai.DefaultAioHttpClient(event_hooks=hooks)
    except (
        RuntimeError,
        AttributeError,
    ):  # aiohttp is not installed, or the package is older than its transport
        http = openai.DefaultAsyncHttpxClient(event_hooks=hooks)
    # Unpacked answers could be a thousand times the bytes that were counted.
    plain = {"Accept-Encoding": "identity"}
    return openai.AsyncOpenAI(
        api_key="none", base_url=address, http_client=http, max_retries=0, default_headers=plain
    )


async def _limit(response: Any) -> None:
    """Read no more than `MAX_ANSWER` bytes of an answer, whatever its headers say."""
    packed = response.headers.get("content-encoding", "identity").strip().lower()
    if packed not in {"", "identity"}:
        raise TooLargeError(f"packed as {packed[:40]}, which was not asked for and could hold anything")
    response.stream = _counting(response.stream.__class__)(response.stream)


@cache
def _counting(kind: Any) -> Any:
    """A stream that counts, for the stream class of whichever transport is at work."""
    # The transport's library checks the class, and has had two names over time.
    stream = next(base for base in kind.__mro__ if base.__name__ == "AsyncByteStream")

    class Counting(stream):  # type: ignore[misc, valid-type]
        def __init__(self, inner: Any) -> None:
            self._inner = inner

        async def __aiter__(self) -> AsyncIterator[bytes]:
            size = 0
            async for part in self._inner:
                size += len(part)
                if size > MAX_ANSWER:
                    raise TooLargeError(f"more than {MAX_ANSWER:,} bytes")
                yield part

        async def aclose(self) -> None:
            await self._inner.aclose()

    return Counting
