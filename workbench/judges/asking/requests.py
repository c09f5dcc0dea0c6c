"""What really goes out for a question: which model, under which limit, and how large it is."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from workbench.judges.asking.estimates import Asking
from workbench.judges.asking.prices import price_of
from workbench.judges.asking.settings import ANSWER_LIMITS
from workbench.judges.protocol import ChatClient, Messages

__all__ = ["as_sent", "asking_of", "merged", "model_of"]

_TEMPLATE = 100
"""Tokens that a server's own template may put around a question: a system prompt of its own, marks of turns."""


def merged(settings: Mapping[str, Any], own: Mapping[str, Any]) -> dict[str, Any]:
    """A judge's settings, and over them a client's own for that model, `extra_body` among them as plain settings."""
    extra = own.get("extra_body") or {}
    plain = {name: value for name, value in own.items() if name != "extra_body" and value is not None}
    over = {**plain, **extra}
    limited = any(name in over for name in ANSWER_LIMITS)
    kept = {
        name: value
        for name, value in settings.items()
        if value is not None and not (limited and name in ANSWER_LIMITS)
    }
    return {**kept, **over}


def as_sent(client: ChatClient, settings: Mapping[str, Any]) -> dict[str, Any]:
    """The settings as the client sends them."""
    models = getattr(client, "models", None)  # a client of somebody's own may call anything so
    own = models.get(str(settings.get("model")), {}) if isinstance(models, Mapping) else {}
    return merged(settings, own if isinstance(own, Mapping) else {})


def model_of(client: ChatClient, model: str) -> str:
    """The model that is asked, and so has to be paid, where a judge names this one."""
    return str(as_sent(client, {"model": model.strip()}).get("model") or "")


def asking_of(
    client: ChatClient, messages: Messages, settings: Mapping[str, Any], *, measured: bool
) -> Asking:
    """What is known of a question before it is asked.

    Args:
        client: Who is asked.
        messages: The question.
        settings: The judge's.
        measured: Whether its size in bytes is needed.
    """
    sent = as_sent(client, settings)
    tools, model = sent.get("tools"), str(sent.get("model") or "")
    letters = sum(
        len(message.get("content") or "") if set(message) <= {"role", "content"} else len(str(message))
        for message in messages
    )
    letters += len(str(tools)) if tools else 0
    size = _size(messages, sent) if measured else 0
    return Asking(letters, _limit(sent), price_of(model), size, model)


def _limit(sent: Mapping[str, Any]) -> int | None:
    """Tokens all answers to a question may take together; None for no limit."""
    limits = [int(sent[name]) for name in ANSWER_LIMITS if sent.get(name)]
    several = sent.get("n")
    return max(limits) * (several if isinstance(several, int) and several > 1 else 1) if limits else None


def _size(messages: Messages, sent: Mapping[str, Any]) -> int:
    """Bytes of what a server reads into its model, at least as many as byte-level tokens of it."""
    read = [messages, sent.get("tools"), sent.get("response_format")]
    text = json.dumps(read, ensure_ascii=False, default=str)
    return len(text.encode("utf-8", "surrogatepass")) + _TEMPLATE
