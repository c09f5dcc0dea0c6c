"""OpenAI's Responses API: chat requests in its form, and its responses as chat completions.

Judges know chat completions only. Source: OpenAI's API reference (create a response; the response object).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from workbench.core.errors import FormatError
from workbench.judges.protocol import ANSWER_LIMITS, Messages

APIS = {"chat": "/chat/completions", "responses": "/responses"}
"""Path of each form of requests, below the server's URL."""
_SAME = ("model", "temperature", "top_p", "store", "metadata", "parallel_tool_calls", "top_logprobs", "service_tier", "user")  # fmt: skip
_LACKING = ("seed", "frequency_penalty", "presence_penalty", "stop", "logit_bias")
"""Settings of chat completions that the Responses API does not have."""
_FINISH_REASONS = {"max_output_tokens": "length", "content_filter": "content_filter"}


def capabilities_key(address: str, api: str) -> str:
    """The name under which capabilities are remembered: a server may support less in one form of requests than in the other."""
    return address if api == "chat" else address + APIS[api]


def response_request(request: Mapping[str, Any]) -> dict[str, Any]:
    """A chat request as a request of the Responses API. The server does not store it, unless `store` is set.

    Raises:
        FormatError: A setting that the Responses API does not have.
    """
    for name in _LACKING:
        if request.get(name) is not None:
            raise FormatError(
                f"the Responses API has no {name}", found=f"{name}={request[name]!r}"[:80],
                hint='leave it out, or use api="chat" on the client',
            )  # fmt: skip
    sent: dict[str, Any] = {
        "input": [item for message in request["messages"] for item in _items(message)],
        "store": False,
        **{name: request[name] for name in _SAME if request.get(name) is not None},
    }
    limits = [request[name] for name in ANSWER_LIMITS if request.get(name) is not None]
    if limits:
        sent["max_output_tokens"] = limits[0]
    if (wanted := request.get("response_format")) is not None:
        sent["text"] = {"format": _text_format(wanted)}
    if request.get("reasoning_effort") is not None:
        sent["reasoning"] = {"effort": request["reasoning_effort"]}
    if request.get("tools"):
        sent["tools"] = [{"type": "function", **tool["function"]} for tool in request["tools"]]
    if (choice := request.get("tool_choice")) is not None:
        is_function = isinstance(choice, Mapping) and isinstance(choice.get("function"), Mapping)
        sent["tool_choice"] = {"type": "function", **choice["function"]} if is_function else choice
    if request.get("logprobs"):
        sent["include"] = ["message.output_text.logprobs"]
    known = {*_SAME, *_LACKING, *ANSWER_LIMITS, "messages", "response_format", "reasoning_effort", "tools", "tool_choice", "logprobs"}  # fmt: skip
    return {**sent, **{name: value for name, value in request.items() if name not in known}}


def _text_format(wanted: Mapping[str, Any]) -> dict[str, Any]:
    schema = wanted.get("json_schema")
    return {"type": wanted["type"], **schema} if isinstance(schema, Mapping) else dict(wanted)


def _items(message: Mapping[str, Any]) -> Messages:
    """The items of a chat message: itself, and one for each tool call; a tool's result is a separate item."""
    role, content = message["role"], message.get("content")
    if role == "tool":
        call = message.get("tool_call_id")
        return [{"type": "function_call_output", "call_id": call, "output": content or ""}]
    calls = [
        {"type": "function_call", "call_id": call.get("id"), **_called(call)}
        for call in message.get("tool_calls") or ()
    ]
    own = [] if calls and not content else [{"role": role, "content": _content(role, content)}]
    return [*own, *calls]


def _called(call: Mapping[str, Any]) -> dict[str, Any]:
    function = call.get("function") or {}
    return {"name": function.get("name"), "arguments": function.get("arguments") or "{}"}


def _content(role: str, content: Any) -> Any:
    if not isinstance(content, list):
        return content or ""
    kind = "output_text" if role == "assistant" else "input_text"
    parts = []
    for part in content:
        image = part.get("image_url")
        if part.get("type") == "image_url" and isinstance(image, Mapping):
            detail = {"detail": image["detail"]} if "detail" in image else {}
            parts.append({"type": "input_image", "image_url": image.get("url"), **detail})
        else:
            parts.append({"type": kind, "text": part["text"]} if part.get("type") == "text" else part)
    return parts


def chat_completion(response: Any) -> Any:
    """A response as a chat completion; anything else unchanged, so that it is reported as what it is."""
    output = response.get("output") if isinstance(response, Mapping) else None
    if not isinstance(output, list) or response.get("status") not in {"completed", "incomplete", None}:
        return response
    items = [item for item in output if isinstance(item, Mapping)]
    parts = [part for item in items if item.get("type") == "message" for part in _parts(item)]
    texts, refusals = (
        "".join(str(part.get(key) or "") for part in parts if part.get("type") == kind)
        for kind, key in (("output_text", "text"), ("refusal", "refusal"))
    )
    calls = [_call(item) for item in items if item.get("type") == "function_call"]
    message = {
        "role": "assistant",
        "content": texts,
        "refusal": refusals or None,
        "tool_calls": calls or None,
    }
    choice = {"message": message, "finish_reason": _finish_reason(response, bool(calls))}
    if (tokens := _logprobs(parts)) is not None:
        choice["logprobs"] = {"content": tokens}
    return {"choices": [choice], "usage": _usage(response.get("usage"))}


def _parts(item: Mapping[str, Any]) -> Iterable[Mapping[str, Any]]:
    content = item.get("content")
    return [part for part in content if isinstance(part, Mapping)] if isinstance(content, list) else []


def _call(item: Mapping[str, Any]) -> dict[str, Any]:
    function = {"name": item.get("name"), "arguments": item.get("arguments")}
    return {"id": item.get("call_id"), "type": "function", "function": function}


def _finish_reason(response: Mapping[str, Any], has_calls: bool) -> str:
    details = response.get("incomplete_details")
    reason = details.get("reason") if isinstance(details, Mapping) else None
    if response.get("status") == "incomplete":
        return _FINISH_REASONS.get(str(reason), "length")
    return "tool_calls" if has_calls else "stop"


def _logprobs(parts: Iterable[Mapping[str, Any]]) -> list[Any] | None:
    """The probabilities of all tokens of the text; None if a part has none."""
    found = [part.get("logprobs") for part in parts if part.get("type") == "output_text" and part.get("text")]
    if not found or not all(isinstance(tokens, list) and tokens for tokens in found):
        return None
    return [token for tokens in found for token in tokens or ()]


def _usage(usage: Any) -> dict[str, Any] | None:
    if not isinstance(usage, Mapping):
        return None
    return {
        "prompt_tokens": usage.get("input_tokens"),
        "completion_tokens": usage.get("output_tokens"),
        "prompt_tokens_details": usage.get("input_tokens_details"),
        "cost": usage.get("cost"),
    }
