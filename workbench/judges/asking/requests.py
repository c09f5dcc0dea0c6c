"""What is really sent for a request: which model, with which reply limit, and how large it is."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from workbench.judges.asking.estimates import PendingQuestion
from workbench.judges.asking.prices import price_of
from workbench.judges.asking.settings import ANSWER_LIMITS
from workbench.judges.protocol import ChatClient, Messages

__all__ = ["merge_settings", "pending_question", "sent_model", "sent_settings"]

_TEMPLATE_TOKENS = 100
"""Tokens that a server's chat template may put around a request: its system prompt, turn markers. Workbench default; what
exceeds it is learned from the replies."""


def merge_settings(settings: Mapping[str, Any], client_settings: Mapping[str, Any]) -> dict[str, Any]:
    """A judge's settings, overridden by the client's settings for that model, with `extra_body` as plain settings.

    A reply limit set by the client replaces the judge's, whichever of the limit's names each uses.
    """
    extra_body = client_settings.get("extra_body") or {}
    plain = {
        name: value for name, value in client_settings.items() if name != "extra_body" and value is not None
    }
    overrides = {**plain, **extra_body}
    has_limit = any(name in overrides for name in ANSWER_LIMITS)
    judge_settings = {
        name: value
        for name, value in settings.items()
        if value is not None and not (has_limit and name in ANSWER_LIMITS)
    }
    return {**judge_settings, **overrides}


def sent_settings(client: ChatClient, settings: Mapping[str, Any]) -> dict[str, Any]:
    """The settings as the client sends them."""
    models = getattr(client, "models", None)  # may be anything on a user's client
    own = models.get(str(settings.get("model")), {}) if isinstance(models, Mapping) else {}
    return merge_settings(settings, own if isinstance(own, Mapping) else {})


def sent_model(client: ChatClient, model: str) -> str:
    """The model that is called, and so has to be paid, if a judge names this one."""
    return str(sent_settings(client, {"model": model.strip()}).get("model") or "")


def pending_question(
    client: ChatClient, messages: Messages, settings: Mapping[str, Any], *, with_size: bool
) -> PendingQuestion:
    """What is known about a request before it is sent.

    Args:
        client: The client that sends it.
        messages: The request.
        settings: The judge's.
        with_size: Whether its size in bytes is needed, which takes longer to compute.
    """
    sent = sent_settings(client, settings)
    tools, model = sent.get("tools"), str(sent.get("model") or "")
    characters = sum(
        len(message.get("content") or "") if set(message) <= {"role", "content"} else len(str(message))
        for message in messages
    )
    characters += len(str(tools)) if tools else 0
    size = _max_prompt_bytes(messages, sent) if with_size else 0
    return PendingQuestion(characters, _answer_limit(sent), price_of(model), size, model)


def _answer_limit(sent: Mapping[str, Any]) -> int | None:
    """Maximum tokens of all replies to a request together; None for no limit."""
    limits = [int(sent[name]) for name in ANSWER_LIMITS if sent.get(name)]
    answers = sent.get("n")
    return max(limits) * (answers if isinstance(answers, int) and answers > 1 else 1) if limits else None


def _max_prompt_bytes(messages: Messages, sent: Mapping[str, Any]) -> int:
    """Bytes of what the server passes to its model: at least as many as its byte-level tokens."""
    prompt_parts = [messages, sent.get("tools"), sent.get("response_format")]
    text = json.dumps(prompt_parts, ensure_ascii=False, default=str)
    return len(text.encode("utf-8", "surrogatepass")) + _TEMPLATE_TOKENS
