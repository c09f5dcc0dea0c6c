"""Convert one cell to what its role needs (messages, a prompt, tools, ...), or say why it cannot be."""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import repeat
from typing import Any

from workbench.samples.envelopes import EnvelopeError, message_in
from workbench.samples.plain import NotPlainError, is_missing, plain, text
from workbench.thread import StringThread

__all__ = [
    "CellError",
    "completion_of",
    "joined_prompts",
    "mapping_of",
    "messages_of",
    "prompt_of",
    "tools_of",
]

_CONTENT_TYPES = {
    "text",
    "thinking",
    "redacted_thinking",
    "tool_use",
    "server_tool_use",
    "web_search_tool_result",
}


class CellError(ValueError):
    """A cell that does not hold what its role needs.

    Args:
        found: What is there.
        expected: What its role needs.
    """

    def __init__(self, found: str, expected: str) -> None:
        super().__init__(f"{found}, expected {expected}")
        self.found, self.expected = found, expected


def joined_prompts(instructions: Sequence[Any], inputs: Sequence[Any] | None) -> list[Any]:
    """Alpaca's instructions with their inputs, where there are any, after a blank line: the prompts."""
    return list(map(_joined, instructions, inputs if inputs is not None else repeat(None)))


def _joined(instruction: Any, question: Any) -> Any:
    parts = [part for part in (instruction, question) if not is_missing(part)]
    nonblank = [part for part in parts if not isinstance(part, str) or part.strip()]
    if len(nonblank) < 2:
        return next(iter(nonblank or parts), None)
    try:
        return "\n\n".join(str(text(part)) for part in nonblank)
    except NotPlainError:
        return nonblank[1]  # its own conversion says what is wrong with it


def messages_of(value: Any) -> list[Any] | None:
    """The chat messages of a cell, a list or its JSON text; None for a missing or blank one.

    Raises:
        CellError: Anything else.
    """
    expected = "a list of chat messages, each with role and content, or its JSON text"
    chat = _unpacked(value, expected)
    return None if chat is None else _checked_chat(chat, expected)


def prompt_of(value: Any) -> list[Any] | None:
    """A prompt as messages: a list of them as it is, anything else as one user turn; None for a missing cell.

    Raises:
        CellError: Messages that cannot be read.
    """
    if isinstance(value, str) or is_missing(value):
        return [{"role": "user", "content": str.__str__(value)}] if isinstance(value, str) else None
    content = plain(value)
    if _is_chat(content):
        return _checked_chat(content, "text or a list of chat messages")
    return [{"role": "user", "content": text(content)}]


def completion_of(value: Any, column: str = "") -> list[Any] | None:
    """A completion as messages: what is no message as one assistant turn; None for a missing cell.

    Args:
        value: The cell.
        column: Its column's name: an object in a column `response` is an API's, and must hold a message.

    Raises:
        CellError: Messages that cannot be read, or an API's answer without one.
    """
    if isinstance(value, str) or is_missing(value):
        return [{"role": "assistant", "content": str.__str__(value)}] if isinstance(value, str) else None
    content = plain(value)
    chat = _unwrapped(content, column) if isinstance(content, dict) else content
    if _is_content(chat):
        chat = [{"role": "assistant", "content": chat}]
    if _is_chat(chat):
        return _checked_chat(chat, "text or a list of chat messages")
    return [{"role": "assistant", "content": text(content)}]


def _unwrapped(content: dict[str, Any], column: str) -> list[Any] | None:
    """The messages in an object; None for data to be written as JSON, which a column called `response` never holds."""
    expected = "text, a chat message, or an API's answer with one"
    try:
        messages = message_in(content)
    except EnvelopeError as error:
        raise CellError(str(error), expected) from None
    if messages is None and column.casefold() == "response":
        raise CellError(f"an object that is no message, {_short(content)}", expected)
    return messages


def tools_of(value: Any) -> list[Any] | None:
    """Tool definitions of a cell, a list of dicts or its JSON text; None for a missing or blank one.

    Raises:
        CellError: Anything else.
    """
    expected = "a list of tool definitions (dicts), or its JSON text"
    tools = _unpacked(value, expected)
    if tools is None:
        return None
    if not isinstance(tools, list) or not all(isinstance(tool, dict) for tool in tools):
        raise CellError(_short(tools), expected)
    return tools


def mapping_of(value: Any) -> dict[str, Any] | None:
    """The dict of a cell, or of its JSON text; None for a missing or blank one.

    Raises:
        CellError: Anything else.
    """
    expected = "a dict, or the JSON text of one"
    unpacked = _unpacked(value, expected)
    if unpacked is not None and not isinstance(unpacked, dict):
        raise CellError(_short(unpacked), expected)
    return unpacked


def _unpacked(value: Any, expected: str) -> Any:
    """Plain data out of a cell that may hold it as JSON text; a blank cell is a missing one."""
    value = plain(value)
    if isinstance(value, bytes):
        value = text(value)
    if not isinstance(value, str):
        return value
    try:
        return plain(json.loads(value)) if value.strip() else None
    except (ValueError, RecursionError) as error:
        raise CellError(f"{_short(value)}, which is not JSON ({error})", expected) from None


def _checked_chat(chat: Any, expected: str) -> list[Any]:
    if not isinstance(chat, list):
        raise CellError(_short(chat), expected)
    try:
        StringThread.from_messages(chat)
    except (TypeError, ValueError) as error:
        raise CellError(str(error), expected) from None
    return chat


def _is_chat(value: Any) -> bool:
    """A list of dicts that each name a role: chat messages, as conversational training sets hold them."""
    return (
        isinstance(value, list)
        and bool(value)
        and all(isinstance(message, dict) and "role" in message for message in value)
    )


def _is_content(value: Any) -> bool:
    """A list of content parts, as Anthropic's API answers: with a text or a tool call, and nothing of another kind."""
    if not isinstance(value, list) or not all(
        isinstance(part, dict) and "role" not in part for part in value
    ):
        return False
    types = {str(part.get("type")) for part in value}
    return bool(types & {"text", "tool_use"}) and types <= _CONTENT_TYPES


def _short(value: Any, limit: int = 80) -> str:
    description = repr(value[: limit + 1] if isinstance(value, str | list) else value)
    cut = description if len(description) <= limit else description[: limit - 1] + "…"
    return f"{cut} ({type(value).__name__})"
