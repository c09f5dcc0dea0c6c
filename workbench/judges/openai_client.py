"""A client of any server that speaks OpenAI's chat protocol."""

from __future__ import annotations

import asyncio
import os
import re
from dataclasses import dataclass, field
from typing import Any
from weakref import WeakKeyDictionary

from workbench.errors import WorkbenchError
from workbench.judges.client import JudgeServerError, Messages, Reply, Usage

__all__ = ["PROVIDERS", "OpenAIClient", "provider_client", "thinks"]

PROVIDERS: dict[str, tuple[str | None, str]] = {
    "openai": (None, "OPENAI_API_KEY"),
    "anthropic": ("https://api.anthropic.com/v1/", "ANTHROPIC_API_KEY"),
    "google": ("https://generativelanguage.googleapis.com/v1beta/openai/", "GEMINI_API_KEY"),
}
"""Where a provider is asked, and the environment variable that holds its key."""

_SECRET = re.compile(r"\b(?:(?:sk|pk)[-_]|Bearer )[\w*.-]{6,}")


@dataclass(frozen=True)
class OpenAIClient:
    """Asks a model through the `openai` package.

    The key is read from the environment when it is needed and kept nowhere here: not in the repr, a spec, an
    error or a pickle.

    Attributes:
        base_url: The server; None for OpenAI, or what `OPENAI_BASE_URL` says.
        key_variable: Environment variable that holds the key.

    Raises:
        WorkbenchError: From `check_ready` and `complete`: the variable is not set.
        JudgeServerError: From `complete`: no answer.
    """

    base_url: str | None = None
    key_variable: str = "OPENAI_API_KEY"
    _clients: WeakKeyDictionary[Any, Any] = field(
        default_factory=WeakKeyDictionary, init=False, repr=False, compare=False
    )

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle without the connections."""
        return (OpenAIClient, (self.base_url, self.key_variable))

    def check_ready(self) -> None:
        """Raise if there is no key, before a run begins."""
        self._key()

    def _key(self) -> str:
        if key := os.environ.get(self.key_variable, "").strip():
            return key
        raise WorkbenchError(
            "a judge needs a key for its model",
            expected=f"the environment variable {self.key_variable}",
            hint=f"set {self.key_variable} before the kernel starts, or give the judge a client= of your own; "
            "a server that needs no key takes any value",
        )

    async def complete(self, messages: Messages, **settings: Any) -> Reply:
        """Answer. See `ChatClient`."""
        from openai import OpenAIError

        request = {name: value for name, value in settings.items() if value is not None}
        options = {name: request.pop(name) for name in ("timeout", "max_retries") if name in request}
        if thinks(str(request.get("model"))) and "max_tokens" in request:
            request["max_completion_tokens"] = request.pop("max_tokens")
        client = self._client()
        try:
            answer = await client.with_options(**options).chat.completions.create(
                messages=_sendable(messages), **request
            )
        except (OpenAIError, ValueError, TypeError) as error:
            raise JudgeServerError("the judge's model did not answer", found=self._clean(error)) from None
        return _reply(answer)

    def _client(self) -> Any:
        from openai import AsyncOpenAI

        # Connections belong to the loop they were made on.
        loop = asyncio.get_running_loop()
        if loop not in self._clients:
            self._clients[loop] = AsyncOpenAI(api_key=self._key(), base_url=self.base_url)
        return self._clients[loop]

    def _clean(self, error: Exception) -> str:
        """An error's text without anything like a key."""
        text = f"{type(error).__name__}: {error}".replace(self._key(), "***")
        return _SECRET.sub("***", text)[:500]


def provider_client(provider: str) -> OpenAIClient:
    """The client of a provider by its name.

    Raises:
        WorkbenchError: A provider that is not known.
    """
    if provider not in PROVIDERS:
        raise WorkbenchError("unknown provider", found=repr(provider)[:80], expected=", ".join(PROVIDERS))
    return OpenAIClient(*PROVIDERS[provider])


def thinks(model: str) -> bool:
    """Whether it is one of OpenAI's reasoning models, which take no temperature but 1."""
    name = model.lower().rpartition("/")[2]
    return name.startswith(("o1", "o3", "o4")) or "gpt-5" in name


def _sendable(messages: Messages) -> Messages:
    """Lone surrogates, which no JSON on the wire can hold, become question marks."""
    return [
        {
            name: value.encode("utf-8", "replace").decode() if isinstance(value, str) else value
            for name, value in one.items()
        }
        for one in messages
    ]


def _reply(answer: Any) -> Reply:
    if not getattr(answer, "choices", None):
        raise JudgeServerError("the judge's model answered without a choice", found=str(answer)[:200])
    choice = answer.choices[0]
    message = choice.message.model_dump(exclude_none=True)
    return Reply(
        str(message.get("content") or ""), _usage(answer), {"finish_reason": choice.finish_reason, **message}
    )


def _usage(answer: Any) -> Usage | None:
    told = getattr(answer, "usage", None)
    if told is None:
        return None
    cost = getattr(told, "cost", None)
    paid = float(cost) if isinstance(cost, int | float) and not isinstance(cost, bool) else None
    return Usage(told.prompt_tokens or 0, told.completion_tokens or 0, paid)
