"""What an API wraps round a completion: the message inside, or why there is none.

OpenAI's batch output has one object a request, `{"custom_id", "response": {"status_code", "body": {...}}}`; the body is
a chat completion (`choices`) or a response (`output`). Sources: OpenAI's API reference, "Batch", "Chat Completions" and
"Responses".
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from workbench.samples.plain import is_missing

__all__ = ["EnvelopeError", "batch_roles", "failed_request", "message_in", "unpacked"]

_BATCH_COLUMNS = frozenset({"custom_id", "response"})


class EnvelopeError(ValueError):
    """An envelope without a completion; the message says what it holds instead."""


def batch_roles(names: Sequence[str]) -> dict[str, str]:
    """Roles of OpenAI's batch output: a row is called by the name its author gave the request."""
    return {"id": "custom_id"} if set(names) >= _BATCH_COLUMNS else {}


def message_in(value: Mapping[str, Any]) -> list[Any] | None:
    """The messages inside an object; None where it is no envelope at all, but data of somebody's own.

    Args:
        value: A cell that is an object, such as batch output's `response`, its `body`, or a chat completion.

    Raises:
        EnvelopeError: An envelope of a request that failed, or one that holds no message.
    """
    if "role" in value:
        return [value]
    if not _is_envelope(value):
        return None
    status = value.get("status_code")
    body = value.get("body") if isinstance(value.get("body"), Mapping) else value
    assert isinstance(body, Mapping)
    if isinstance(status, int | float) and status != 200:
        raise EnvelopeError(f"a request that failed with status {status:g}{_reason(body)}")
    messages = _of_choices(body.get("choices")) or _of_output(body.get("output"))
    if not messages:
        raise EnvelopeError(
            f"an answer without a message (keys {', '.join(map(str, list(body)[:10]))}){_reason(body)}"
        )
    return messages


def unpacked(cell: Any) -> Any:
    """A cell of batch output that CSV holds as JSON text, as what it says; any other as it is."""
    if not isinstance(cell, str) or not cell.lstrip().startswith(("{", "null")):
        return cell
    try:
        return json.loads(cell)
    except (ValueError, RecursionError):
        return cell


def failed_request(response: Any, error: Any) -> str:
    """Why a request of a batch has no response; "" where it has one, or nothing is said."""
    if not is_missing(response) or not isinstance(error, Mapping):
        return ""
    return f"a request without a response{_reason({'error': error})}"


def _is_envelope(value: Mapping[str, Any]) -> bool:
    """Whether an API wrote it: a list of `choices` alone may be a question with choices."""
    batch = {"body", "status_code"} <= set(value)
    completion = value.get("object") == "chat.completion" or bool(_of_choices(value.get("choices")))
    response = value.get("object") == "response" and isinstance(value.get("output"), list)
    return batch or completion or response


def _of_choices(choices: Any) -> list[Any]:
    choice = choices[0] if isinstance(choices, list) and choices else None
    message = choice.get("message") if isinstance(choice, Mapping) else None
    return [message] if isinstance(message, Mapping) and "role" in message else []


def _of_output(output: Any) -> list[Any]:
    """The messages of a response, with its function calls as calls of the last one."""
    items = [item for item in output if isinstance(item, Mapping)] if isinstance(output, list) else []
    messages = [{"role": item["role"], "content": item.get("content")} for item in items if "role" in item]
    calls = [_call(item) for item in items if item.get("type") == "function_call"]
    if calls:
        last_message = messages.pop() if messages else {"role": "assistant", "content": ""}
        messages.append({**last_message, "tool_calls": calls})
    return messages


def _call(item: Mapping[str, Any]) -> dict[str, Any]:
    function = {"name": item.get("name"), "arguments": item.get("arguments")}
    return {"id": item.get("call_id"), "type": "function", "function": function}


def _reason(body: Mapping[str, Any]) -> str:
    error = body.get("error")
    message = error.get("message") if isinstance(error, Mapping) else error
    return f": {str(message)[:200]}" if message else ""
