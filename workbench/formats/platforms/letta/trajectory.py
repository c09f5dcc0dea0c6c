"""Letta's trajectories as threads: an agent's actions, turn by turn, as typed messages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from workbench.core.errors import SamplesError
from workbench.core.thread import StringThread

__all__ = ["letta_thread"]


def letta_thread(
    trajectory: Sequence[Sequence[Mapping[str, Any]]],
    *,
    input: str | Sequence[str] = "",  # noqa: A002 (the field's name)
    agent_state: Mapping[str, Any] | None = None,
    metadata: Mapping[str, Any] | None = None,
) -> StringThread:
    """A thread from a trajectory, such as one of a results file.

    Args:
        trajectory: Turns, each a list of messages with a `type` or `message_type`: `assistant_message`
            (`content`; parts are joined by a space), `tool_call_message` (`tool_call` or `tool_calls`),
            `tool_return_message` (`tool_call_id`, `tool_return`). Others are ignored.
        input: The user's messages: one text, or one per turn; "" for a turn without one.
        agent_state: For the `memory_block` extractor.
        metadata: The row's other values.

    Raises:
        SamplesError: A turn or message of another type.

    Example:
        >>> said = {"type": "assistant_message", "content": "4"}
        >>> letta_thread([[said]], input="2+2?").get_turns()
        [Turn(role='user', content='2+2?'), Turn(role='assistant', content='4')]
    """
    user_texts = [input] if isinstance(input, str) else list(input)
    messages: list[dict[str, Any]] = []
    for at, turn in enumerate(trajectory):
        if isinstance(turn, Mapping | str) or not isinstance(turn, Sequence):
            raise SamplesError(
                "a turn must be a list of messages", where=f"turn {at}", found=type(turn).__name__
            )
        # A turn begins with a user message, even an empty one: that is how turns are separated later.
        messages.append({"role": "user", "content": user_texts[at] if at < len(user_texts) else ""})
        messages += [
            chat_message
            for number, message in enumerate(turn)
            for chat_message in _read(message, f"turn {at}, message {number}")
        ]
    all_metadata = {
        **(metadata or {}),
        **({"agent_state": dict(agent_state)} if agent_state is not None else {}),
    }
    return StringThread.from_messages(messages, all_metadata)


def _read(message: Any, where: str) -> list[dict[str, Any]]:
    if not isinstance(message, Mapping):
        raise SamplesError("a message must be an object", where=where, found=type(message).__name__)
    kind = message.get("message_type", message.get("type"))
    if kind == "assistant_message":
        return [{"role": "assistant", "content": _text(message.get("content"))}]
    if kind == "tool_call_message":
        tool_calls = message.get("tool_calls") or [message.get("tool_call")]
        calls = [_call(call) for call in tool_calls if isinstance(call, Mapping)]
        return [{"role": "assistant", "content": None, "tool_calls": calls}]
    if kind == "tool_return_message":
        returned = _text(message.get("tool_return"))
        return [{"role": "tool", "content": returned, "tool_call_id": message.get("tool_call_id")}]
    return []


def _call(call: Mapping[str, Any]) -> dict[str, Any]:
    function = {"name": call.get("name"), "arguments": call.get("arguments", "{}")}
    return {"id": call.get("tool_call_id", call.get("id")), "type": "function", "function": function}


def _text(content: Any) -> str:
    """Content as Letta flattens it: parts joined by a space."""
    if isinstance(content, list | tuple):
        parts = (part.get("text") if isinstance(part, Mapping) else part for part in content)
        return " ".join(part for part in parts if isinstance(part, str))
    return "" if content is None else str(content)
