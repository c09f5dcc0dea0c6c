"""A client of any server that speaks OpenAI's chat protocol."""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import json
import os
import weakref
from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field
from functools import cache
from typing import Any, ClassVar
from urllib.parse import urlsplit
from weakref import WeakKeyDictionary

from workbench import background
from workbench.errors import FormatError, WorkbenchError
from workbench.judges.asking.requests import merged
from workbench.judges.asking.settings import check_request
from workbench.judges.client.faults import Asked
from workbench.judges.client.pacing import Pace
from workbench.judges.client.question import Connection, Question
from workbench.judges.client.transport import new_client
from workbench.judges.protocol import JudgeKeyError, Messages, NoModelError, Reply

__all__ = ["PROVIDERS", "OpenAIClient", "provider_client", "thinks"]

PROVIDERS: dict[str, tuple[str | None, str]] = {
    "openai": (None, "OPENAI_API_KEY"),
    "anthropic": ("https://api.anthropic.com/v1/", "ANTHROPIC_API_KEY"),
    "google": ("https://generativelanguage.googleapis.com/v1beta/openai/", "GEMINI_API_KEY"),
}
"""Where a provider is asked, and the environment variable that holds its key."""

_OPENAI = "https://api.openai.com/v1"
_LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})


@dataclass(frozen=True)
class OpenAIClient:
    """Asks a model through the `openai` package, on aiohttp where that is installed.

    The key is read from the environment at every question and kept nowhere here: not in the repr, a spec, an error
    or a pickle. Questions under way at once grow while the server is healthy and halve when it is full (429, 503).
    Those refusals are waited out, for as long as `Retry-After` says; other passing faults are tried again
    `max_retries` times, after `Retry-After` where the server sends it. A server that answered in a run and then
    refuses connections, or drops them and answers nobody, is taken to restart and waited for as one that is full.
    What a model cannot do (JSON schema, JSON object, temperature) is found out by asking, remembered for ten
    minutes, and told in the report's notes.

    Attributes:
        base_url: The server; None for OpenAI, or what `OPENAI_BASE_URL` says.
        key_variable: Environment variable that holds the key; "" to send none. Servers on this machine need none.
        models: More settings by model's name, sent with every question to it, such as
            `{"qwen3-8b": {"top_p": 0.8, "extra_body": {"chat_template_kwargs": {"enable_thinking": False}}}}`.
            They go before the judge's own.
        concurrency: Questions under way at once, at most.
        timeout: Seconds one try may take, from the first byte to the last.
        max_retries: Tries after the first, where a fault may pass.
        patience: Seconds a question may wait in all for a server that is full, or that went away in the run. Dropped
            connections while nobody is answered are waited for as long in all of the run.

    Raises:
        FormatError: A field that cannot be.
        JudgeKeyError: From `check_ready` and `complete`: the variable is not set.
        JudgeServerError: From `complete`: no answer. Its subclasses say why.
    """

    base_url: str | None = None
    key_variable: str = "OPENAI_API_KEY"
    _: KW_ONLY
    models: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    concurrency: int = 64
    timeout: float = 120.0
    max_retries: int = 5
    patience: float = 300.0
    needs_model: ClassVar[bool] = True
    _connections: WeakKeyDictionary[Any, Connection] = field(
        default_factory=WeakKeyDictionary, init=False, repr=False, compare=False
    )

    def __post_init__(self) -> None:
        object.__setattr__(self, "models", {name: dict(own) for name, own in self.models.items()})
        _check_address(self.address)
        for name in ("timeout", "patience"):
            _check(getattr(self, name) > 0, f"{name} must be above 0 seconds", getattr(self, name))
        _check(self.concurrency >= 1, "concurrency must be 1 or more", self.concurrency)
        _check(self.max_retries >= 0, "max_retries must be 0 or more", self.max_retries)

    def __hash__(self) -> int:
        return hash((self.base_url, self.key_variable))

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle without the connections."""
        fields = ("base_url", "key_variable", "models", "concurrency", "timeout", "max_retries", "patience")
        return (_unpickled, ({name: getattr(self, name) for name in fields},))

    @property
    def address(self) -> str:
        """Where the server is."""
        return self.base_url or os.environ.get("OPENAI_BASE_URL", "").strip() or _OPENAI

    def content(self, model: str) -> str:
        """What an answer depends on beside the question: server and the model's own settings."""
        return json.dumps([self.address.rstrip("/"), self.models.get(model, {})], sort_keys=True, default=str)

    def check_ready(self) -> None:
        """Raise if there is no key, before a run begins."""
        self._key()

    def _key(self) -> str:
        key = os.environ.get(self.key_variable, "").strip() if self.key_variable else ""
        if key or not self.key_variable or urlsplit(self.address).hostname in _LOOPBACK:
            return key
        raise JudgeKeyError(
            "a judge needs a key for its model",
            where=self.address,
            expected=f"the environment variable {self.key_variable}",
            hint=f"set it before the kernel starts, or in a cell: os.environ[{self.key_variable!r}] = "
            "getpass.getpass(); or ask a server of your own: client=wb.judges.OpenAIClient(base_url=...)",
        )

    async def complete(self, messages: Messages, **settings: Any) -> Reply:
        """Answer. See `ChatClient`."""
        request = self._request(messages, settings)
        limits = {name: request.pop(name, None) for name in ("timeout", "max_retries")}
        timeout = self.timeout if limits["timeout"] is None else limits["timeout"]
        tries = self.max_retries if limits["max_retries"] is None else limits["max_retries"]
        asked = Asked(self.address, str(request.get("model") or ""), self._key(), self.key_variable)
        if not asked.model:
            raise NoModelError.at(self.address)
        return await Question(self._connection(asked.key), request, asked, timeout).ask(tries, self.patience)

    def _request(self, messages: Messages, settings: Mapping[str, Any]) -> dict[str, Any]:
        check_request(settings)
        request = merged(settings, self.models.get(str(settings.get("model")), {}))
        graders = request.pop(
            "max_completions_tokens", None
        )  # OpenAI's graders call it so, its completions do not
        if graders is not None:
            request["max_completion_tokens"] = graders
        if thinks(str(request.get("model"))) and "max_tokens" in request:
            request["max_completion_tokens"] = request.pop("max_tokens")
        return {"messages": _sendable(messages), **request}

    def _connection(self, key: str) -> Connection:
        # Connections belong to the loop they were made on.
        loop = asyncio.get_running_loop()
        for ended in [one for one in self._connections if one.is_closed()]:
            _open.discard(self._connections.pop(ended).client)
        found = self._connections.get(loop)
        if found is None or found.address != self.address:  # OPENAI_BASE_URL may change
            found = Connection(self.address, new_client(self.address), Pace(self.concurrency))
            self._connections[loop] = found
            _open.add(found.client)
            weakref.finalize(self, _leave, loop, found.client).atexit = False
        found.client.api_key = key or "none"  # the package takes no empty one
        return found

    async def close(self) -> None:
        """Close this loop's connections; the next question opens new ones."""
        if (connection := self._connections.pop(asyncio.get_running_loop(), None)) is not None:
            await _close(connection.client)


_open: set[Any] = set()
"""The package's clients that were not closed yet."""


async def _close(client: Any) -> None:
    await client.close()
    _open.discard(client)


def _leave(loop: asyncio.AbstractEventLoop, client: Any) -> None:
    """Close the connections of a client that nobody holds any more."""
    with contextlib.suppress(RuntimeError):  # the loop is closed, and its connections with it
        loop.call_soon_threadsafe(lambda: loop.create_task(_close(client)))


@atexit.register
def _close_all() -> None:
    """Connections that are left open at the end complain on the terminal."""
    for client in list(_open):
        with contextlib.suppress(Exception):
            background.submit(_close(client)).result(1.0)


def _unpickled(fields: dict[str, Any]) -> OpenAIClient:
    return OpenAIClient(**fields)


@cache
def provider_client(provider: str) -> OpenAIClient:
    """The client of a provider by its name; the same for all judges, so that they share connections and pace.

    Raises:
        WorkbenchError: A provider that is not known.
    """
    if provider not in PROVIDERS:
        raise WorkbenchError("unknown provider", found=repr(provider)[:80], expected=", ".join(PROVIDERS))
    address, variable = PROVIDERS[provider]
    return OpenAIClient(base_url=address, key_variable=variable)


def thinks(model: str) -> bool:
    """Whether it is one of OpenAI's reasoning models, which take no temperature but 1."""
    name = model.lower().rpartition("/")[2]
    return name.startswith(("o1", "o3", "o4")) or "gpt-5" in name


def _check(right: bool, what: str, found: object) -> None:
    if not right:
        raise FormatError(what, found=repr(found)[:80])


def _check_address(address: str) -> None:
    parts = urlsplit(address)
    if parts.username or parts.password:
        raise FormatError(
            "base_url may hold no name or password", hint="put the key into key_variable's variable"
        )
    if parts.path.rstrip("/").endswith("/chat/completions"):
        raise FormatError("base_url ends before /chat/completions", found=address[:80])
    if parts.query or parts.fragment:
        raise FormatError(
            "base_url may have no query: it would stand in errors",
            hint="put a key into key_variable's variable",
        )
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise FormatError("base_url must be an http or https address", found=address[:80])


def _sendable(messages: Messages) -> Messages:
    """Lone surrogates, which no JSON on the wire can hold, become question marks."""
    return [
        {
            name: value.encode("utf-8", "replace").decode() if isinstance(value, str) else value
            for name, value in one.items()
        }
        for one in messages
    ]
