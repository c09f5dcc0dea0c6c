"""`OpenAIClient`: a client of any server that implements OpenAI's chat protocol, and of providers by name."""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import json
import os
import weakref
from collections.abc import AsyncIterator, Mapping
from dataclasses import KW_ONLY, dataclass, field, fields
from functools import cache, partial
from typing import Any, ClassVar
from urllib.parse import urlsplit
from weakref import WeakKeyDictionary

from workbench.core import background
from workbench.core.discovery import needed_packages
from workbench.core.display_text import did_you_mean
from workbench.core.errors import FormatError, WorkbenchError
from workbench.core.python_text import cached_property
from workbench.graders.base import is_number
from workbench.judges.chat_request import ChatRequest
from workbench.judges.protocol import (
    DELIVERY,
    JudgeKeyError,
    Messages,
    NoModelError,
    Reply,
    check_request,
    merge_settings,
)
from workbench.judges.rate_limit import RateLimit
from workbench.judges.request_headers import RequestExtras
from workbench.judges.response import (
    AnswerTooLargeError,
    PackedAnswerError,
    RequestTarget,
    register_key_variable,
)
from workbench.judges.responses_api import APIS, capabilities_key, response_request
from workbench.judges.server import AdaptiveLimit, Connection, capabilities_of

MAX_ANSWER_BYTES = 4 * 2**20
"""Maximum bytes of a response. Workbench limit: about eight times the longest reply of 2026."""


def new_client(address: str, *, max_bytes: int = MAX_ANSWER_BYTES, max_retries: int = 0) -> Any:
    """A client of the openai package for the server at this address; its key is set before each request.

    Args:
        address: The server's URL.
        max_bytes: Maximum bytes of a response.
        max_retries: Tries of the package after a transient fault; chat requests have their own.
    """
    with needed_packages():
        import openai

    settings: dict[str, Any] = {
        "event_hooks": {"response": [partial(_limit_size, max_bytes=max_bytes)]},
        "follow_redirects": False,
    }
    try:
        http = openai.DefaultAioHttpClient(**settings)
    except (RuntimeError, AttributeError):  # no aiohttp, or a package too old to have a transport for it
        http = openai.DefaultAsyncHttpxClient(**settings)
    # A compressed response could unpack to a thousand times the bytes that were counted.
    uncompressed = {"Accept-Encoding": "identity"}
    return openai.AsyncOpenAI(
        api_key="none",
        base_url=address,
        http_client=http,
        max_retries=max_retries,
        default_headers=uncompressed,
    )


async def _limit_size(response: Any, max_bytes: int) -> None:
    """Read at most this number of bytes of a response; its headers are not trusted."""
    encoding = response.headers.get("content-encoding", "identity").strip().lower()
    if encoding not in {"", "identity"}:
        raise PackedAnswerError(
            f"compressed as {encoding[:40]}, which was not requested and may have any size"
        )
    response.stream = _counting_stream(response.stream.__class__)(response.stream, max_bytes)


@cache
def _counting_stream(stream_class: Any) -> Any:
    """A stream class that counts bytes, for the stream class of the transport in use."""
    # The HTTP library requires its base class. Looked up, not imported: the library has had two names.
    base_class = next(base for base in stream_class.__mro__ if base.__name__ == "AsyncByteStream")

    class CountingStream(base_class):  # type: ignore[misc, valid-type]
        def __init__(self, inner: Any, max_bytes: int) -> None:
            self._inner, self._max_bytes = inner, max_bytes

        async def __aiter__(self) -> AsyncIterator[bytes]:
            size = 0
            async for chunk in self._inner:
                size += len(chunk)
                if size > self._max_bytes:
                    raise AnswerTooLargeError(f"more than {self._max_bytes:,} bytes")
                yield chunk

        async def aclose(self) -> None:
            await self._inner.aclose()

    return CountingStream


PROVIDERS: dict[str, tuple[str | None, str]] = {
    "openai": (None, "OPENAI_API_KEY"),
    "anthropic": ("https://api.anthropic.com/v1/", "ANTHROPIC_API_KEY"),
    "google": ("https://generativelanguage.googleapis.com/v1beta/openai/", "GEMINI_API_KEY"),
}
"""Base URL of each provider (None for the package's default), and the environment variable of its key."""

OPENAI_URL = "https://api.openai.com/v1"
_LOCAL_HOSTS = frozenset({"localhost", "127.0.0.1", "::1"})


@dataclass(frozen=True)
class OpenAIClient:
    """Calls a model through the `openai` package, on aiohttp if that is installed.

    The key is read from the environment for every request and never stored: not in the repr, a spec, an error or a
    pickle. The number of requests in flight grows while the server is healthy and is halved when it is overloaded
    (429, 503). After those rejections the client waits as long as `Retry-After` requires; other transient faults are
    retried `max_retries` times, after `Retry-After` if the server sends it. A server that replied in a run, and then
    rejects or drops all connections, seems to restart and is waited for like an overloaded one. What a model does not
    support (JSON schema, JSON object, temperature) is learned from rejected requests, remembered for ten minutes, and
    reported in the report's notes.

    Attributes:
        base_url: The server's URL; None for `OPENAI_BASE_URL`, else OpenAI.
        key_variable: Environment variable of the key; "" to send no key. Servers on this machine need none.
        models: Further settings by model's name, sent with every request to it, such as
            `{"qwen3-8b": {"top_p": 0.8, "extra_body": {"chat_template_kwargs": {"enable_thinking": False}}}}`.
            They override the judge's settings.
        api: Form of the requests: "chat" (chat completions), which most servers have, or "responses" (OpenAI's Responses API).
        headers: Headers of every request, such as `{"api-key": "$AZURE_OPENAI_API_KEY"}`. `$NAME` is an environment variable,
            read for each request; a header for a key needs one.
        query: Query parameters of every request, such as `{"api-version": "2024-10-21"}`; with variables as `headers`.
        requests_per_minute: Maximum requests in any 60 seconds, retries included; None for no limit. All judges of this
            process that call this server share the window.
        tokens_per_minute: The same for tokens of requests and replies; a request counts at what it may take, then at
            what it took.
        concurrency: Maximum number of requests in flight.
        timeout: Seconds one try may take, from the first byte to the last.
        max_retries: Tries after the first, for transient faults.
        patience: Total seconds that a request may wait for a server that is overloaded or became unreachable. It also
            limits the total time per run in which the server drops all connections.

    Raises:
        FormatError: A field has an impossible value.
        JudgeKeyError: From `check_ready` and `complete`: the variable is not set.
        JudgeServerError: From `complete`: there is no reply. Its subclasses give the reason.
    """

    base_url: str | None = None
    key_variable: str = "OPENAI_API_KEY"
    _: KW_ONLY
    models: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    api: str = "chat"
    headers: Mapping[str, str] = field(default_factory=dict)
    query: Mapping[str, str] = field(default_factory=dict)
    requests_per_minute: float | None = None
    tokens_per_minute: float | None = None
    concurrency: int = 64
    timeout: float = 120.0
    max_retries: int = 5
    patience: float = 300.0
    needs_model: ClassVar[bool] = True
    # By event loop. Weak, so that a closed loop does not keep its connections.
    _connections: WeakKeyDictionary[Any, Connection] = field(
        default_factory=WeakKeyDictionary, init=False, repr=False, compare=False
    )

    def __post_init__(self) -> None:
        # Copies: replies are stored under these settings, which must not change without the client's knowledge.
        object.__setattr__(self, "models", {name: dict(own) for name, own in self.models.items()})
        object.__setattr__(self, "headers", dict(self.extras.headers))
        object.__setattr__(self, "query", dict(self.extras.query))
        if self.api not in APIS:
            raise FormatError("unknown api of a client", found=repr(self.api)[:80], expected=", ".join(APIS))
        _check_address(self.address)
        register_key_variable(self.key_variable)
        for name in ("timeout", "patience"):
            _check(getattr(self, name) > 0, f"{name} must be above 0 seconds", getattr(self, name))
        for name in ("requests_per_minute", "tokens_per_minute"):
            value = getattr(self, name)
            _check(value is None or (is_number(value) and value >= 1), f"{name} must be 1 or more", value)
        _check(self.concurrency >= 1, "concurrency must be 1 or more", self.concurrency)
        _check(self.max_retries >= 0, "max_retries must be 0 or more", self.max_retries)

    def __hash__(self) -> int:
        # Without `models`, since a dict has no hash; equal clients still have equal hashes.
        return hash((self.base_url, self.key_variable))

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle without the connections."""
        return (_unpickled, ({f.name: getattr(self, f.name) for f in fields(self) if f.init},))

    @cached_property
    def extras(self) -> RequestExtras:
        """The headers and query parameters of every request."""
        return RequestExtras(self.headers, self.query)

    @property
    def address(self) -> str:
        """The URL of the server."""
        return self.base_url or os.environ.get("OPENAI_BASE_URL", "").strip() or OPENAI_URL

    def content(self, model: str) -> str:
        """What a reply depends on apart from the request: the server, and the client's settings for the model."""
        # Further parts only if they are set, so that replies stored before are found.
        parts = [self.address.rstrip("/"), self.models.get(model, {}), *self.extras.content()]
        parts += [] if self.api == "chat" else [self.api]
        return json.dumps(parts, sort_keys=True, default=str)

    def check_ready(self) -> None:
        """Raise if a key is not set. See `Judge.check_ready`."""
        self._key()
        self.extras.resolved(self.address)

    def _key(self) -> str:
        key = os.environ.get(self.key_variable, "").strip() if self.key_variable else ""
        if key or not self.key_variable or urlsplit(self.address).hostname in _LOCAL_HOSTS:
            return key
        raise JudgeKeyError(
            "a judge needs a key for its model",
            where=self.address,
            expected=f"the environment variable {self.key_variable}",
            hint=f"set it before the kernel starts, or in a cell: os.environ[{self.key_variable!r}] = "
            "getpass.getpass(); or use your own server: client=wb.judges.OpenAIClient(base_url=...)",
        )

    async def complete(self, messages: Messages, **settings: Any) -> Reply:
        """Request the next message from the model. See `ChatClient.complete`."""
        request = self._request(messages, settings)
        limits = {name: request.pop(name, None) for name in ("timeout", "max_retries")}
        timeout = self.timeout if limits["timeout"] is None else limits["timeout"]
        max_retries = self.max_retries if limits["max_retries"] is None else limits["max_retries"]
        target = self.target(str(request.get("model") or ""))
        if not target.model:
            raise NoModelError.at(self.address)
        rate = RateLimit(self.requests_per_minute, self.tokens_per_minute)
        chat_request = ChatRequest(
            self._connection(target.key),
            request,
            target,
            timeout,
            self.extras,
            None if rate == RateLimit() else rate,
            self.api,
        )
        return await chat_request.send(max_retries, self.patience)

    def target(self, model: str) -> RequestTarget:
        """The server and model of a request, with the key.

        Raises:
            JudgeKeyError: The variable of the key is not set.
        """
        return RequestTarget(self.address, model, self._key(), self.key_variable)

    def batch_body(self, messages: Messages, settings: Mapping[str, Any]) -> dict[str, Any]:
        """The body of a request of a batch: what this process knows that the model lacks is left out.

        Raises:
            NoModelError: No model is named.
            FormatError: A setting that may not be sent.
        """
        request = self._request(messages, settings)
        request = {name: value for name, value in request.items() if name not in DELIVERY}
        if not request.get("model"):
            raise NoModelError.at(self.address)
        sent = capabilities_of(capabilities_key(self.address, self.api), str(request["model"])).adapt(request)
        return sent if self.api == "chat" else response_request(sent)

    def _request(self, messages: Messages, settings: Mapping[str, Any]) -> dict[str, Any]:
        check_request(settings)
        own = self.models.get(str(settings.get("model")), {})
        return {"messages": _sendable(messages), **chat_settings(settings, own)}

    def _connection(self, key: str) -> Connection:
        # A connection pool works only on the event loop it was created on.
        loop = asyncio.get_running_loop()
        # A loop that ended without `close` leaves its connections here, which cannot be closed without it.
        for closed_loop in [known_loop for known_loop in self._connections if known_loop.is_closed()]:
            _open_clients.discard(self._connections.pop(closed_loop).client)
        connection = self._connections.get(loop)
        if connection is None or connection.address != self.address:  # OPENAI_BASE_URL may change
            client = new_client(self.address)
            connection = Connection(self.address, client, AdaptiveLimit(self.concurrency))
            self._connections[loop] = connection
            _open_clients.add(client)
            # Not at exit: `_close_all` does it then, while the loop still runs.
            weakref.finalize(self, _close_on_loop, loop, client).atexit = False
        # For every request: the key may be changed in the environment while connections stay open.
        connection.client.api_key = key or "none"  # the package rejects an empty key
        return connection

    async def close(self) -> None:
        """Close this loop's connections; the next request opens new ones."""
        if (connection := self._connections.pop(asyncio.get_running_loop(), None)) is not None:
            await _close(connection.client)


_open_clients: set[Any] = set()
"""Clients of the openai package that are not closed yet."""


async def _close(client: Any) -> None:
    await client.close()
    _open_clients.discard(client)


def _close_on_loop(loop: asyncio.AbstractEventLoop, client: Any) -> None:
    """Close the connections of an `OpenAIClient` that was garbage-collected, on their own loop."""
    with contextlib.suppress(RuntimeError):  # the loop is closed, and its connections with it
        loop.call_soon_threadsafe(lambda: loop.create_task(_close(client)))


@atexit.register
def _close_all() -> None:
    """Close open connections when Python exits: otherwise they would print warnings."""
    for client in list(_open_clients):
        with contextlib.suppress(Exception):
            # At most one second: a server that does not respond must not delay the exit of Python.
            background.submit(_close(client)).result(1.0)


def _unpickled(fields: dict[str, Any]) -> OpenAIClient:
    return OpenAIClient(**fields)


@cache
def provider_client(provider: str) -> OpenAIClient:
    """The client of a provider, one for all judges, so that they share connections and the concurrency limit.

    Raises:
        WorkbenchError: The provider is not in `PROVIDERS`.
    """
    if provider not in PROVIDERS:
        raise WorkbenchError(
            "unknown provider", found=repr(provider)[:80], expected=", ".join(PROVIDERS),
            hint=did_you_mean(provider, PROVIDERS),
        )  # fmt: skip
    address, variable = PROVIDERS[provider]
    return OpenAIClient(base_url=address, key_variable=variable)


def is_reasoning_model(model: str) -> bool:
    """Whether it is one of OpenAI's reasoning models, which accept only temperature 1."""
    name = model.lower().rpartition("/")[2]
    return name.startswith(("o1", "o3", "o4")) or "gpt-5" in name


def chat_settings(settings: Mapping[str, Any], own: Mapping[str, Any]) -> dict[str, Any]:
    """A judge's settings under the names of chat completions, overridden by the client's settings for that model."""
    request = merge_settings(settings, own)
    # The name in OpenAI's graders has an s, the one in its chat completions has none.
    limit = request.pop("max_completions_tokens", None)
    if limit is not None:
        request["max_completion_tokens"] = limit
    if is_reasoning_model(str(request.get("model"))) and "max_tokens" in request:
        request["max_completion_tokens"] = request.pop("max_tokens")
    return request


def _check(condition: bool, message: str, found: object) -> None:
    if not condition:
        raise FormatError(message, found=repr(found)[:80])


def _check_address(address: str) -> None:
    parts = urlsplit(address)
    if parts.username or parts.password:
        raise FormatError(
            "base_url may not contain a name or password", hint="put the key into key_variable's variable"
        )
    for path in APIS.values():
        if parts.path.rstrip("/").endswith(path):
            raise FormatError(f"base_url ends before {path}", found=address[:80])
    if parts.query or parts.fragment:
        raise FormatError(
            "base_url may not have a query: error messages would show it",
            hint="put a key into key_variable's variable",
        )
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise FormatError("base_url must be an http or https address", found=address[:80])


def _sendable(messages: Messages) -> Messages:
    """The messages with "?" for lone surrogates, which UTF-8 cannot encode."""
    return [
        {
            name: value.encode("utf-8", "replace").decode() if isinstance(value, str) else value
            for name, value in message.items()
        }
        if not isinstance(message.get("content"), list)
        else {**message, "content": _sendable(message["content"])}
        for message in messages
    ]
