"""The settings of a request that a judge's file may set, with the bounds of each: checked on loading and on sending.

A file may be untrusted: it must not choose another model than the one that is priced, request a hundred replies instead
of one, or send what no judge needs. Settings that the user makes in Python on a client (`OpenAIClient(models=...)`) are not
restricted to this list.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from workbench.core.errors import FormatError
from workbench.graders.base import is_number

__all__ = [
    "ANSWER_LIMITS",
    "DELIVERY",
    "MAX_TOKENS",
    "SAMPLING",
    "check_request",
    "check_sampling",
    "check_setting",
]

MAX_TOKENS = 131_072
"""Maximum tokens of a reply: the largest limit of the models of 2026."""
_MAX_SEED = 2**63 - 1
"""The largest 64-bit integer, which is the type that servers parse a seed into."""

ANSWER_LIMITS = ("max_tokens", "max_completion_tokens", "max_completions_tokens")
"""Names of the reply limit in tokens: the older one, that of reasoning models, and that of OpenAI's graders."""


@dataclass(frozen=True)
class Setting:
    """The values that a setting may have.

    Attributes:
        low: Minimum of a number.
        high: Maximum of a number.
        integer: Whether the number must be an integer.
        choices: The texts allowed, for a setting that is a text.
    """

    low: float = 0.0
    high: float = 0.0
    integer: bool = False
    choices: tuple[str, ...] = ()

    def allows(self, value: object) -> bool:
        """Whether a value is allowed."""
        if self.choices:
            return isinstance(value, str) and value in self.choices
        if not is_number(value) or (self.integer and not isinstance(value, int)):
            return False
        return self.low <= value <= self.high  # type: ignore[operator]

    def __str__(self) -> str:
        if self.choices:
            return ", ".join(self.choices)
        return f"a {'whole ' if self.integer else ''}number, {self.low:,g} to {self.high:,g}"


SAMPLING: dict[str, Setting] = {
    "temperature": Setting(0, 2),
    "top_p": Setting(0, 1),
    "frequency_penalty": Setting(-2, 2),
    "presence_penalty": Setting(-2, 2),
    "seed": Setting(-_MAX_SEED, _MAX_SEED, integer=True),
    "reasoning_effort": Setting(choices=("none", "minimal", "low", "medium", "high", "xhigh", "max")),
    **dict.fromkeys(ANSWER_LIMITS, Setting(1, MAX_TOKENS, integer=True)),
}
"""How a reply is sampled. Source: OpenAI (chat completions; `sampling_params` of its graders)."""

DELIVERY: dict[str, Setting] = {
    "timeout": Setting(0.001, 3_600),
    "max_retries": Setting(0, 20, integer=True),
    "max_steps": Setting(1, 200, integer=True),
}
"""Time limit and number of requests of a judge: seconds, tries after the first, replies of an agent."""

_SET_BY_JUDGE = frozenset({"model", "response_format", "tools", "timeout", "max_retries"})
"""Settings taken from a judge's fields, which are checked there."""

_BREAKS_ACCOUNTING = frozenset(
    {
        *("stream", "stream_options", "best_of", "models", "route", "provider", "plugins", "service_tier"),
        *("web_search_options", "audio", "modalities", "base_url", "api_key", "headers", "query"),
        *("extra_body", "extra_headers", "extra_query"),
    }
)
"""Settings that would call another model or server, or request replies that are not paid by their tokens."""


def check_setting(name: str, value: object, *, where: str = "") -> None:
    """Reject a value outside its bounds.

    Raises:
        FormatError: It names the bounds.
    """
    bounds = SAMPLING.get(name) or DELIVERY[name]
    if not bounds.allows(value):
        raise FormatError(
            f"{name} is out of its bounds", where=where, found=repr(value)[:80], expected=str(bounds)
        )


def check_sampling(params: Any) -> dict[str, Any]:
    """A file's sampling parameters, checked: each is known and within its bounds. A value of None counts as not set.

    Raises:
        FormatError: Not a dict, a name that is not in `SAMPLING`, a value out of bounds, or two names of the reply limit.
    """
    if not isinstance(params, Mapping):
        raise FormatError("sampling_params must be a dict", found=repr(params)[:80])
    for name, value in params.items():
        if name not in SAMPLING:
            raise FormatError(
                f"sampling_params may not set {str(name)[:80]!r}", expected=", ".join(SAMPLING),
                hint="settings for your server belong to your client: OpenAIClient(models={model: {...}})",
            )  # fmt: skip
        if value is not None:
            check_setting(name, value, where="sampling_params")
    if len(limits := [name for name in ANSWER_LIMITS if params.get(name) is not None]) > 1:
        raise FormatError("sampling_params sets the reply limit twice", found=", ".join(limits))
    return dict(params)


def check_request(settings: Mapping[str, Any]) -> None:
    """Reject settings that would break accounting or redirect the request, just before it is sent.

    Other names are accepted: a file cannot set them, so a subclass of a judge did.

    Raises:
        FormatError: It names the setting.
    """
    for name, value in settings.items():
        if value is None or name in _SET_BY_JUDGE:
            continue
        if name in _BREAKS_ACCOUNTING or (name == "n" and value != 1):
            raise FormatError(
                f"a judge may not send {str(name)[:80]!r}", expected="nothing that changes the model, the server or the price",
                hint="set it on your client instead: OpenAIClient(models={model: {...}})",
            )  # fmt: skip
        if name in SAMPLING:
            check_setting(name, value, where="the judge's request")
