"""The variables that each platform's prompts get from a thread."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

from workbench.core.thread import StringThread
from workbench.data.samples import Sample
from workbench.data.templates.errors import TemplateError
from workbench.data.templates.values import JsonList

__all__ = ["PLATFORMS", "context_text", "thread_variables"]

Turns = list[dict[str, Any]]


def thread_variables(
    sample: Sample | StringThread, platform: str = "adaptive", *, completion: str | None = None, **custom: Any
) -> dict[str, Any]:
    """The built-in variables of a platform's prompts.

    Args:
        sample: The row, or its thread alone.
        platform: adaptive, vllora or openai.
        completion: The judged text, if it is not the thread's last turn (an extractor's).
        custom: Further variables, at top level; for Adaptive criteria, examples, output_schema.

    Returns:
        Names to plain data. vLLora's lists are written as JSON in an output, are lists in sections, and are "" if
        they are empty.

    Raises:
        TemplateError: Another platform.
    """
    if platform not in PLATFORMS:
        raise TemplateError(
            "no such platform's variables", found=repr(platform), expected=", ".join(PLATFORMS)
        )
    if isinstance(sample, StringThread):
        sample = Sample(id="0", thread=sample, reference=None, group="0")
    return {**PLATFORMS[platform](sample, completion), **custom}


def context_text(turns: Turns) -> str:
    """Adaptive's context text: a line with the role, the content, a blank line."""
    return "\n\n".join(f"[{turn['role']}]\n{turn['content']}" for turn in turns)


def _adaptive(sample: Sample, completion: str | None) -> dict[str, Any]:
    thread = sample.thread
    turns = [{"role": turn.role, "content": turn.content} for turn in thread.get_turns()]
    context = turns[: len(thread.messages())]
    last_user = max((at for at, turn in enumerate(context) if turn["role"] == "user"), default=None)
    before = [turn for at, turn in enumerate(context) if at != last_user]
    return {
        "completion": (thread.completion() or "") if completion is None else completion,
        "last_user_turn_content": "" if last_user is None else context[last_user]["content"],
        "context_str": context_text(context),
        "context_str_without_last_user": context_text(before),
        "turns": turns,
        "context_turns": context,
        "context_turns_without_last_user": before,
        "metadata": thread.metadata if isinstance(thread.metadata, Mapping) else {},
    }


def _vllora(sample: Sample, completion: str | None) -> dict[str, Any]:
    thread = sample.thread
    messages = chat_messages(thread)[: len(thread.messages())]
    texts = {role: [m["content"] for m in messages if m["role"] == role] for role in ("user", "system")}
    return {
        "messages": JsonList(messages),
        "response": (thread.completion() or "") if completion is None else completion,
        "lastUserMessage": texts["user"][-1] if texts["user"] else "",
        "systemPrompt": texts["system"][0] if texts["system"] else "",
        "tools": JsonList(thread.tools),
        "toolCalls": JsonList(last_calls(thread)),
    }


def _openai(sample: Sample, completion: str | None) -> dict[str, Any]:
    thread = sample.thread
    text = (thread.completion() or "") if completion is None else completion
    calls = _plain_calls(thread.tool_calls())
    message = {"role": "assistant", "content": text, **({"tool_calls": calls} if calls else {})}
    answer = {"output_text": text, "output_tools": calls, "choices": [{"index": 0, "message": message}]}
    # The namespace has output_json only if the text is JSON, so that its use elsewhere fails.
    with suppress(ValueError, RecursionError):
        answer["output_json"] = json.loads(text, parse_constant=_no_constant)
    return {"item": _item(sample), "sample": answer}


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


def _item(sample: Sample) -> dict[str, Any]:
    """The row's columns, and its reference if no column has that name."""
    metadata = sample.thread.metadata
    item = dict(metadata) if isinstance(metadata, Mapping) else {}
    return item if sample.reference is None else {"reference": sample.reference, **item}


def chat_messages(thread: StringThread) -> Turns:
    """All turns as OpenAI chat messages, with their tool calls and the ids that tool turns refer to."""
    messages: Turns = []
    for at, turn in enumerate(thread.get_turns()):
        message: dict[str, Any] = {"role": turn.role, "content": turn.content}
        if calls := thread.turn_calls(at):
            message["tool_calls"] = _plain_calls(calls)
        if (answered := thread.turn_answers(at)) is not None:
            message["tool_call_id"] = answered
        messages.append(message)
    return messages


def last_calls(thread: StringThread) -> list[dict[str, Any]]:
    """The tool calls since the last user turn: those of the response."""
    roles = [turn.role for turn in thread.get_turns()]
    start = max((at for at, role in enumerate(roles) if role == "user"), default=-1)
    return _plain_calls([call for at in range(start + 1, len(roles)) for call in thread.turn_calls(at)])


def _plain_calls(calls: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{key: value for key, value in call.items() if key != "toolUse"} for call in calls]


PLATFORMS: dict[str, Callable[[Sample, str | None], dict[str, Any]]] = {
    "adaptive": _adaptive,
    "openai": _openai,
    "vllora": _vllora,
}
"""The variables that each platform's prompts can use."""
