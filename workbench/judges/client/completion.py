"""A server's answer as a `Reply`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from workbench.judges.client.faults import Asked, FailedError, Fault, refusal
from workbench.judges.protocol import JudgeServerError, NoServerError, Reply, Usage
from workbench.judges.redaction import hide_in

__all__ = ["reply_of"]


def reply_of(answer: Any, asked: Asked, seconds: float) -> Reply:
    """The first choice of an answer.

    Args:
        answer: The body, as JSON.
        asked: Who was asked.
        seconds: How long it took.

    Raises:
        FailedError: Something that is no completion, such as a page in HTML or an error with status 200.
    """
    choices = answer.get("choices") if isinstance(answer, Mapping) else None
    choice = choices[0] if isinstance(choices, list) and choices else None
    message = choice.get("message") if isinstance(choice, Mapping) else None
    if not isinstance(choice, Mapping) or not isinstance(message, Mapping):
        usage = _usage(answer) if isinstance(answer, Mapping) else None  # it may be charged all the same
        raise FailedError(replace(_no_completion(answer, asked), usage=usage))
    told = hide_in({name: value for name, value in message.items() if value is not None}, [asked.key])
    took = {"finish_reason": choice.get("finish_reason"), "seconds": seconds}
    content = told.get("content")
    refused = told.get("refusal") or _parts(content, "refusal")
    return Reply(_text(content), _usage(answer), {**told, "refusal": refused, **took})


def _text(content: Any) -> str:
    """What was said: text, or the text parts of a list, joined. Thinking, images and unknown parts say nothing."""
    if isinstance(content, str):
        return content
    return _parts(content, "text") or _parts(content, "output_text", "text")


def _parts(content: Any, kind: str, key: str = "") -> str:
    """The texts of all parts of one type, joined; "" where there is no list of parts."""
    parts = [content] if isinstance(content, Mapping) else content
    if not isinstance(parts, list):
        return ""
    chosen = [part for part in parts if isinstance(part, Mapping) and part.get("type") == kind]
    return "".join(said for part in chosen if isinstance(said := part.get(key or kind), str))


def _no_completion(answer: Any, asked: Asked) -> Fault:
    error = answer.get("error") if isinstance(answer, Mapping) else None
    told = error if isinstance(error, Mapping) else {}
    code = told.get("code")
    if isinstance(code, int) and 400 <= code < 600:  # some gateways say so with status 200
        return refusal(code, "", asked.clean(str(told.get("message") or "")), {}, asked)
    whole = isinstance(answer, Mapping)
    what = "without a choice" if whole else "with something that is no completion"
    hint = "" if told else "check base_url, which usually ends with /v1"
    found = asked.clean(str(told.get("message") or answer)[:200])
    # What sends pages or bare text with status 200 is no judge's server at all.
    kind = JudgeServerError if whole else NoServerError
    return Fault(kind(f"the judge's server answered {what}", where=asked.where, found=found, hint=hint))


def _usage(answer: Mapping[str, Any]) -> Usage | None:
    told = answer.get("usage")
    if not isinstance(told, Mapping):
        return None
    return Usage(told.get("prompt_tokens") or 0, told.get("completion_tokens") or 0, told.get("cost")).sound()
