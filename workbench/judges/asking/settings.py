"""What a judge's file may set of a request, with bounds on each: one list, for loading and for what is sent.

A file is somebody else's: it must not choose another model than the one that is priced, ask for a hundred answers in
the place of one, or send what no judge needs. What you set in Python on a client of your own
(`OpenAIClient(models=...)`) is yours and not held to this list.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from workbench.errors import FormatError
from workbench.graders.base import is_number

__all__ = [
    "ANSWER_LIMITS",
    "MOST_TOKENS",
    "SAMPLING",
    "WORKING",
    "check_request",
    "check_setting",
    "sampling",
]

MOST_TOKENS = 131_072
"""Tokens an answer may take at most: the longest that the models of 2026 give."""
_SEED = 2**63 - 1

ANSWER_LIMITS = ("max_tokens", "max_completion_tokens", "max_completions_tokens")
"""Names of the limit of an answer: the older one, the one of reasoning models, and the one of OpenAI's graders."""


@dataclass(frozen=True)
class Setting:
    """What a setting may be.

    Attributes:
        low: Least value of a number.
        high: Greatest value.
        whole: Whether it is a whole number.
        words: What it may be where it is a word.
    """

    low: float = 0.0
    high: float = 0.0
    whole: bool = False
    words: tuple[str, ...] = ()

    def allows(self, value: object) -> bool:
        """Whether a value is one of these."""
        if self.words:
            return isinstance(value, str) and value in self.words
        if not is_number(value) or (self.whole and not isinstance(value, int)):
            return False
        return self.low <= value <= self.high  # type: ignore[operator]

    def __str__(self) -> str:
        if self.words:
            return ", ".join(self.words)
        return f"a {'whole ' if self.whole else ''}number, {self.low:,g} to {self.high:,g}"


SAMPLING: dict[str, Setting] = {
    "temperature": Setting(0, 2),
    "top_p": Setting(0, 1),
    "frequency_penalty": Setting(-2, 2),
    "presence_penalty": Setting(-2, 2),
    "seed": Setting(-_SEED, _SEED, whole=True),
    "reasoning_effort": Setting(words=("none", "minimal", "low", "medium", "high", "xhigh", "max")),
    **dict.fromkeys(ANSWER_LIMITS, Setting(1, MOST_TOKENS, whole=True)),
}
"""How an answer is sampled. Source: OpenAI (chat completions; `sampling_params` of its graders)."""

WORKING: dict[str, Setting] = {
    "timeout": Setting(0.001, 3_600),
    "max_retries": Setting(0, 20, whole=True),
    "max_steps": Setting(1, 200, whole=True),
}
"""How long and how often a judge asks. Seconds, tries after the first, answers of an agent."""

_OWN = frozenset({"model", "response_format", "tools", "timeout", "max_retries"})
"""What a judge itself says of its request."""

_BREAKS_ACCOUNTING = frozenset(
    {
        *("stream", "stream_options", "best_of", "models", "route", "provider", "plugins", "service_tier"),
        *("web_search_options", "audio", "modalities", "base_url", "api_key", "headers", "query"),
        *("extra_body", "extra_headers", "extra_query"),
    }
)
"""What would ask another model or server, or for answers that are paid otherwise than by their tokens."""


def check_setting(name: str, value: object, *, where: str = "") -> None:
    """Refuse a value outside its bounds.

    Raises:
        FormatError: With the bounds.
    """
    bounds = SAMPLING.get(name) or WORKING[name]
    if not bounds.allows(value):
        raise FormatError(
            f"{name} is out of its bounds", where=where, found=repr(value)[:80], expected=str(bounds)
        )


def sampling(params: Any) -> dict[str, Any]:
    """A file's sampling parameters, each known and within its bounds; None is as if it were not there.

    Raises:
        FormatError: No dict, another name than those of `SAMPLING`, a value out of bounds, or two limits of an answer.
    """
    if not isinstance(params, Mapping):
        raise FormatError("sampling_params must be a dict", found=repr(params)[:80])
    for name, value in params.items():
        if name not in SAMPLING:
            raise FormatError(
                f"sampling_params may not set {str(name)[:80]!r}", expected=", ".join(SAMPLING),
                hint="what your own server needs belongs to your client: OpenAIClient(models={model: {...}})",
            )  # fmt: skip
        if value is not None:
            check_setting(name, value, where="sampling_params")
    if len(limits := [name for name in ANSWER_LIMITS if params.get(name) is not None]) > 1:
        raise FormatError("sampling_params sets the answer's limit twice", found=", ".join(limits))
    return dict(params)


def check_request(settings: Mapping[str, Any]) -> None:
    """Refuse what would break accounting or redirect the request, at the last place before the wire.

    Other names pass: a file cannot set them, so they are a subclass's own.

    Raises:
        FormatError: Naming it.
    """
    for name, value in settings.items():
        if value is None or name in _OWN:
            continue
        if name in _BREAKS_ACCOUNTING or (name == "n" and value != 1):
            raise FormatError(
                f"a judge may not send {str(name)[:80]!r}", expected="nothing that changes who is asked or what is paid",
                hint="settings of your own belong to your client: OpenAIClient(models={model: {...}})",
            )  # fmt: skip
        if name in SAMPLING:
            check_setting(name, value, where="the judge's request")
