"""Parses a server's response into a `Reply`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from workbench.judges.client.faults import RequestFailedError, RequestFault, RequestTarget, refusal_fault
from workbench.judges.protocol import JudgeServerError, NoServerError, Reply, Usage
from workbench.judges.redaction import hide_secrets_in_reply

__all__ = ["read_completion"]


def read_completion(answer: Any, target: RequestTarget, seconds: float) -> Reply:
    """The first choice of a chat completion.

    Args:
        answer: The body, as JSON.
        target: The server and model.
        seconds: How long it took.

    Raises:
        RequestFailedError: The body is not a completion, for example an HTML page, or an error with status 200.
    """
    choices = answer.get("choices") if isinstance(answer, Mapping) else None
    choice = choices[0] if isinstance(choices, list) and choices else None
    message = choice.get("message") if isinstance(choice, Mapping) else None
    if not isinstance(choice, Mapping) or not isinstance(message, Mapping):
        usage = _usage(answer) if isinstance(answer, Mapping) else None  # it may be charged nevertheless
        raise RequestFailedError(replace(_no_completion(answer, target), usage=usage))
    fields = hide_secrets_in_reply(
        {name: value for name, value in message.items() if value is not None}, target.secrets
    )
    content = fields.get("content")
    refusal = fields.get("refusal") or _joined_parts(content, "refusal")
    outcome = {"refusal": refusal, "finish_reason": choice.get("finish_reason"), "seconds": seconds}
    return Reply(_text(content), _usage(answer), {**fields, **outcome})


def _text(content: Any) -> str:
    """A message's text: the content itself, or its text parts joined. Thinking, images and unknown parts are left out."""
    if isinstance(content, str):
        return content
    return _joined_parts(content, "text") or _joined_parts(content, "output_text", "text")


def _joined_parts(content: Any, kind: str, key: str = "") -> str:
    """The texts of all parts of one type, joined; "" if there is no list of parts."""
    parts = [content] if isinstance(content, Mapping) else content
    if not isinstance(parts, list):
        return ""
    chosen = [part for part in parts if isinstance(part, Mapping) and part.get("type") == kind]
    return "".join(text for part in chosen if isinstance(text := part.get(key or kind), str))


def _no_completion(answer: Any, target: RequestTarget) -> RequestFault:
    error = answer.get("error") if isinstance(answer, Mapping) else None
    details = error if isinstance(error, Mapping) else {}
    code = details.get("code")
    if isinstance(code, int) and 400 <= code < 600:  # some gateways report errors with status 200
        return refusal_fault(code, "", target.clean(str(details.get("message") or "")), {}, target)
    is_object = isinstance(answer, Mapping)
    problem = "without a choice" if is_object else "with something that is not a completion"
    hint = "" if details else "check base_url, which usually ends with /v1"
    # Redacted before it is truncated: a truncated key would not be recognised.
    found = target.clean(str(details.get("message") or answer))[:200]
    # A server that sends pages or bare text with status 200 is not a model server.
    error_type = JudgeServerError if is_object else NoServerError
    return RequestFault(
        error_type(f"the judge's server replied {problem}", where=target.address, found=found, hint=hint)
    )


def _usage(answer: Mapping[str, Any]) -> Usage | None:
    usage = answer.get("usage")
    if not isinstance(usage, Mapping):
        return None
    prompt_tokens, completion_tokens = usage.get("prompt_tokens") or 0, usage.get("completion_tokens") or 0
    return Usage(prompt_tokens, completion_tokens, usage.get("cost")).plausible()
