"""The `openai` package's client, on aiohttp if that is installed, with a limit on the size of a response."""

from __future__ import annotations

from collections.abc import AsyncIterator
from functools import cache
from typing import Any

from workbench.judges.client.faults import AnswerTooLargeError, PackedAnswerError

__all__ = ["MAX_ANSWER_BYTES", "new_client"]

MAX_ANSWER_BYTES = 4 * 2**20
"""Maximum bytes of a response. Workbench limit: about eight times the longest reply of 2026."""


def new_client(address: str) -> Any:
    """A client of the server at this address that does not retry; its key is set before each request."""
    import openai

    hooks: dict[str, Any] = {"response": [_limit_size]}
    try:
        http = openai.DefaultAioHttpClient(event_hooks=hooks)
    except (RuntimeError, AttributeError):  # no aiohttp, or a package too old to have a transport for it
        http = openai.DefaultAsyncHttpxClient(event_hooks=hooks)
    # A compressed response could unpack to a thousand times the bytes that were counted.
    uncompressed = {"Accept-Encoding": "identity"}
    return openai.AsyncOpenAI(
        api_key="none", base_url=address, http_client=http, max_retries=0, default_headers=uncompressed
    )


async def _limit_size(response: Any) -> None:
    """Read at most `MAX_ANSWER_BYTES` bytes of a response; its headers are not trusted."""
    encoding = response.headers.get("content-encoding", "identity").strip().lower()
    if encoding not in {"", "identity"}:
        raise PackedAnswerError(
            f"compressed as {encoding[:40]}, which was not requested and may have any size"
        )
    response.stream = _counting_stream(response.stream.__class__)(response.stream)


@cache
def _counting_stream(stream_class: Any) -> Any:
    """A stream class that counts bytes, for the stream class of the transport in use."""
    # The HTTP library requires its base class. Looked up, not imported: the library has had two names.
    base_class = next(base for base in stream_class.__mro__ if base.__name__ == "AsyncByteStream")

    class CountingStream(base_class):  # type: ignore[misc, valid-type]
        def __init__(self, inner: Any) -> None:
            self._inner = inner

        async def __aiter__(self) -> AsyncIterator[bytes]:
            size = 0
            async for chunk in self._inner:
                size += len(chunk)
                if size > MAX_ANSWER_BYTES:
                    raise AnswerTooLargeError(f"more than {MAX_ANSWER_BYTES:,} bytes")
                yield chunk

        async def aclose(self) -> None:
            await self._inner.aclose()

    return CountingStream
